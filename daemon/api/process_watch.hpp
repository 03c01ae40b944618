// Ends a session after all of its processes have ended.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include <rocklock/lock.hpp>

#include "base/mutex.hpp"
#include "daemon/api/process_ends.hpp"

namespace rocklock {

// Threads:  thread-safe.
// Lifetime: must live until the executor has stopped running handlers.
class ProcessWatch {
public:
    // `close` is called, on any thread, for a session when the last of its processes has ended.
    ProcessWatch(boost::asio::any_io_executor executor, std::function<void(const SessionId&)> close)
        : close_(std::move(close)),
          ends_(std::move(executor), [this](const ProcessId& process) { ended(process); }) {}

    // Binds the session to `processes`, in addition to those to which it is already bound.
    void watch(const SessionId& session, const std::vector<ProcessId>& processes)
        ROCKLOCK_EXCLUDES(mutex_);

    // Returns the sessions that are bound to processes, except those that were forgotten.
    std::set<SessionId> sessions() ROCKLOCK_EXCLUDES(mutex_);

    // Stops watching the processes of sessions that have ended for another reason, for example with
    // their lease.
    void forget(const std::set<SessionId>& ended) ROCKLOCK_EXCLUDES(mutex_);

    // Closes all descriptors. After this call, no process is watched.
    void stop() ROCKLOCK_EXCLUDES(mutex_);

private:
    void ended(const ProcessId& process) ROCKLOCK_EXCLUDES(mutex_);

    const std::function<void(const SessionId&)> close_;
    Mutex mutex_;
    std::map<ProcessId, std::set<SessionId>, EarlierProcess> processes_ ROCKLOCK_GUARDED_BY(mutex_);
    std::map<SessionId, std::set<ProcessId, EarlierProcess>> sessions_ ROCKLOCK_GUARDED_BY(mutex_);
    // Its mutex may be locked while `mutex_` is held.
    ProcessEnds ends_;
};

}  // namespace rocklock
