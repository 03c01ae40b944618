// Sees each call and its reply: counts them, and tells the log what an administrator did, and that
// the storage has failed.
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
    // Both are called on any thread: `log` for each event, and `storage_failed` once, after the
    // caller was answered.
    CallRecorder(std::function<void(const LogEvent&)> log,
                 std::function<void(const Error&)> storage_failed);

    Dispatcher::Done observe(const Call& call, const Caller& caller,
                             Dispatcher::Done done) override;

    // A call for tables that ended with an error that is no fault of its own.
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
