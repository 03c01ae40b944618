// Observes each call and its reply: counts the calls, logs the actions of administrators, and
// reports a failure of the storage.
#pragma once

#include <atomic>
#include <functional>

#include "service/dispatcher.hpp"
#include "service/log_event.hpp"
#include "service/metrics.hpp"

namespace rocklock {

// Threads: thread-safe.
class CallRecorder final : public CallObserver {
public:
    // The functions can be called on any thread. `log` is called for each event that is to be
    // logged. `storage_failed` is called once if the storage has failed, after the caller of the
    // failed call has received its reply. `has_failed` must return whether the storage has failed.
    // It is called after the error no_space, which a store also returns while the disk is almost
    // full. If `has_failed` is empty, no_space always counts as a failure of the storage.
    CallRecorder(std::function<void(const LogEvent&)> log,
                 std::function<void(const Error&)> storage_failed,
                 std::function<bool()> has_failed = {});

    Started begin(const Call& call, const Caller& caller) override;
    void end(const Started& started, Result<Reply>&& reply, const Done& done) override;
    void end(const Started& started, const Error* error,
             std::chrono::steady_clock::time_point now) override;

    // Must be called when a request for tables has failed with an error that the request did not
    // cause. If the error means that the storage has failed, reports the failure.
    void judge(const Error& error);

    const CallCounters& counters() const { return counters_; }
    bool failed() const { return failed_; }

private:
    const std::function<void(const LogEvent&)> log_;
    const std::function<void(const Error&)> storage_failed_;
    const std::function<bool()> has_failed_;
    CallCounters counters_;
    std::atomic<bool> failed_{false};
};

}  // namespace rocklock
