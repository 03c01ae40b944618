// Observes each call and its reply: counts them, logs the actions of administrators, and reports a
// failure of the storage.
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
    // Both functions can be called on any thread: `log` for each event, and `storage_failed` once,
    // after the caller has received its reply.
    CallRecorder(std::function<void(const LogEvent&)> log,
                 std::function<void(const Error&)> storage_failed);

    Dispatcher::Done observe(const Call& call, const Caller& caller,
                             Dispatcher::Done done) override;

    // Checks an error that the request did not cause, of a call for tables. If the error means that
    // the storage has failed, reports the failure.
    void judge(const Error& error);

    const CallCounters& counters() const { return counters_; }
    bool failed() const { return failed_; }

private:
    const std::function<void(const LogEvent&)> log_;
    const std::function<void(const Error&)> storage_failed_;
    CallCounters counters_;
    std::atomic<bool> failed_{false};
};

}  // namespace rocklock
