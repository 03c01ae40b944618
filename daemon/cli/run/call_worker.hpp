// Makes calls to a LockConnection on a separate thread, so that the caller can watch a command
// during a call.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "daemon/cli/lock_connection.hpp"

namespace rocklock {

// Makes one call at a time. The thread is started by the first call.
//
// Threads:  one thread must call all functions.
// Lifetime: borrows the connection, which must outlive this object. The destructor cancels a
//           running call and waits until it has ended.
class CallWorker {
public:
    explicit CallWorker(LockConnection& connection);
    CallWorker(const CallWorker&) = delete;
    CallWorker& operator=(const CallWorker&) = delete;
    ~CallWorker();

    // Starts a call. Must not be called while busy() returns true.
    void start(Call call, std::optional<std::chrono::steady_clock::time_point> deadline = {});
    // Returns true from start() until take() has returned the reply.
    bool busy() const { return busy_; }
    // Returns a descriptor that is readable if take() would return a reply.
    int fd() const { return event_; }
    std::optional<Result<Reply>> take();
    // Requests cancellation of the running call. take() still returns its reply, usually an error.
    void cancel() { stop_.request_stop(); }
    // Cancels a running call, discards its reply, and ends the thread, so that the process can
    // fork. The next start() starts the thread again.
    void rest();

private:
    void work();

    LockConnection& connection_;
    const int event_;
    bool busy_ = false;
    std::stop_source stop_;

    std::mutex mutex_;
    std::condition_variable wake_;
    bool ending_ = false;
    std::optional<Call> call_;
    CallLimits limits_;
    std::optional<Result<Reply>> reply_;
    // Declared last because the thread uses all members above. Not joinable between rest() and the
    // next start().
    std::thread thread_;
};

}  // namespace rocklock
