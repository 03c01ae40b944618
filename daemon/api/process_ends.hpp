// Reports the ends of processes within milliseconds, without polling.
//
// The kernel reports the end of a process through a pidfd. The pidfd is opened first, and then the
// start time of the process is compared. Therefore, a new process with the pid of an earlier one is
// not mistaken for the earlier one.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <rocklock/identity.hpp>

#include "base/mutex.hpp"

namespace rocklock {

struct EarlierProcess {
    bool operator()(const ProcessId& left, const ProcessId& right) const {
        return left.pid != right.pid ? left.pid < right.pid : left.start_time < right.start_time;
    }
};

// Threads:  thread-safe.
// Lifetime: must live until the executor has stopped running handlers.
class ProcessEnds {
public:
    // `ended` is called once for each watched process that has ended, by the executor or by
    // watch().
    ProcessEnds(boost::asio::any_io_executor executor, std::function<void(const ProcessId&)> ended)
        : executor_(std::move(executor)), ended_(std::move(ended)) {}

    // Watches a process. Has no effect if it is watched already.
    //
    // If there are no descriptors left, the end of the process is not reported.
    void watch(const ProcessId& process) ROCKLOCK_EXCLUDES(mutex_);
    // Stops watching a process.
    void forget(const ProcessId& process) ROCKLOCK_EXCLUDES(mutex_);
    // Closes all descriptors. After this call, no process is watched.
    void stop() ROCKLOCK_EXCLUDES(mutex_);

private:
    using Descriptor = boost::asio::posix::stream_descriptor;

    bool open(const ProcessId& process) ROCKLOCK_REQUIRES(mutex_);
    void await_end(const ProcessId& process, const std::shared_ptr<Descriptor>& pidfd);
    void end(const ProcessId& process) ROCKLOCK_EXCLUDES(mutex_);

    const boost::asio::any_io_executor executor_;
    const std::function<void(const ProcessId&)> ended_;
    Mutex mutex_;
    bool stopped_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    // The pidfd of each watched process. Null if it could not be opened.
    std::map<ProcessId, std::shared_ptr<Descriptor>, EarlierProcess> processes_
        ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock
