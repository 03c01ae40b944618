// Ends a session within milliseconds after all of its processes have ended, without polling.
//
// The kernel reports the end of a process through a pidfd. The pidfd is opened first, and then the
// start time of the process is compared. Therefore, a new process with the pid of an earlier one is
// not mistaken for the earlier one.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <rocklock/lock.hpp>

#include "base/mutex.hpp"
#include "service/dispatcher.hpp"

namespace rocklock {

// Threads:  thread-safe.
// Lifetime: must live until the executor has stopped running handlers.
class ProcessWatch final : public SessionWatch {
public:
    // `close` is called, on any thread, for a session when the last of its processes has ended.
    ProcessWatch(boost::asio::any_io_executor executor, std::function<void(const SessionId&)> close)
        : executor_(std::move(executor)), close_(std::move(close)) {}

    void watch(const SessionId& session, const ClientHost& host,
               const std::vector<ProcessId>& processes) override ROCKLOCK_EXCLUDES(mutex_);

    // Returns the sessions that are bound to processes, except those that were forgotten.
    std::set<SessionId> sessions() ROCKLOCK_EXCLUDES(mutex_);

    // Stops watching the processes of sessions that have ended for another reason, for example with
    // their lease.
    void forget(const std::set<SessionId>& ended) ROCKLOCK_EXCLUDES(mutex_);

    // Closes all descriptors. After this call, no process is watched.
    void stop() ROCKLOCK_EXCLUDES(mutex_);

private:
    struct Earlier {
        bool operator()(const ProcessId& left, const ProcessId& right) const {
            return left.pid != right.pid ? left.pid < right.pid
                                         : left.start_time < right.start_time;
        }
    };
    using Descriptor = boost::asio::posix::stream_descriptor;
    struct Watched {
        // Null if the process had already ended.
        std::shared_ptr<Descriptor> pidfd;
        std::set<SessionId> sessions;
    };

    bool open(const ProcessId& process) ROCKLOCK_REQUIRES(mutex_);
    void await_end(const ProcessId& process, const std::shared_ptr<Descriptor>& pidfd);
    void gone(const ProcessId& process) ROCKLOCK_EXCLUDES(mutex_);

    const boost::asio::any_io_executor executor_;
    const std::function<void(const SessionId&)> close_;
    Mutex mutex_;
    bool stopped_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    std::map<ProcessId, Watched, Earlier> processes_ ROCKLOCK_GUARDED_BY(mutex_);
    std::map<SessionId, std::set<ProcessId, Earlier>> sessions_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock
