// Makes calls in a thread of its own, so that whoever has a command to watch need not wait for
// them.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "daemon/cli/manager.hpp"

namespace rocklock {

// One call at a time. start(), busy() and take() belong to one thread.
// Lifetime: the manager must outlive it. The destructor withdraws a call that is under way.
class CallWorker {
public:
    explicit CallWorker(Manager& manager);
    CallWorker(const CallWorker&) = delete;
    CallWorker& operator=(const CallWorker&) = delete;
    ~CallWorker();

    // Not while busy().
    void start(Call call, std::optional<std::chrono::steady_clock::time_point> deadline = {});
    // From start() until take() has given the answer.
    bool busy() const { return busy_; }
    // Readable when there is an answer to take.
    int fd() const { return event_; }
    std::optional<Result<Reply>> take();
    // Asks the call under way to give up; its answer comes all the same, soon.
    void withdraw() { stop_.request_stop(); }

private:
    void work();

    Manager& manager_;
    const int event_;
    bool busy_ = false;
    std::stop_source stop_;

    std::mutex mutex_;
    std::condition_variable wake_;
    bool ending_ = false;
    std::optional<Call> call_;
    CallLimits limits_;
    std::optional<Result<Reply>> reply_;
    // Last: it uses all of the above.
    std::thread thread_;
};

}  // namespace rocklock
