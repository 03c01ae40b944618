#include "daemon/api/process_watch.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>

#include <boost/system/error_code.hpp>

#include "service/process_id.hpp"

namespace rocklock {

void ProcessWatch::watch(const SessionId& session, const ClientHost& host,
                         const std::vector<ProcessId>& processes) {
    if (host != ClientHost{}) return;
    std::vector<ProcessId> already_gone;
    {
        MutexLock lock(mutex_);
        if (stopped_) return;
        for (const auto& process : processes) {
            sessions_[session].insert(process);
            processes_[process].sessions.insert(session);
            if (!open(process)) already_gone.push_back(process);
        }
    }
    for (const auto& process : already_gone) gone(process);
}

// Returns false if the process has ended. If there are no descriptors left to watch it, returns
// true; its sessions then end with their leases.
bool ProcessWatch::open(const ProcessId& process) {
    auto& watched = processes_[process];
    if (watched.pidfd) return true;
    const int fd = static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0));
    if (fd < 0) return errno != ESRCH && errno != EINVAL;
    auto pidfd = std::make_shared<Descriptor>(executor_);
    boost::system::error_code refused;
    pidfd->assign(fd, refused);
    if (refused) {
        ::close(fd);
        return true;
    }
    watched.pidfd = std::move(pidfd);
    if (!is_running(process)) return false;
    await_end(process, watched.pidfd);
    return true;
}

// A wait can complete because of a late event of a closed descriptor if the pidfd has reused its
// number. Therefore the pidfd itself is polled.
void ProcessWatch::await_end(const ProcessId& process, const std::shared_ptr<Descriptor>& pidfd) {
    // The handler holds no strong reference, so that forget() closes the descriptor.
    const std::weak_ptr<Descriptor> waits = pidfd;
    pidfd->async_wait(Descriptor::wait_read, [this, process, waits](const auto& error) {
        const auto watched = waits.lock();
        if (error || !watched) return;
        pollfd ended{watched->native_handle(), POLLIN, 0};
        if (::poll(&ended, 1, 0) == 0) return await_end(process, watched);
        gone(process);
    });
}

void ProcessWatch::gone(const ProcessId& process) {
    std::vector<SessionId> ended_sessions;
    {
        MutexLock lock(mutex_);
        const auto found = processes_.find(process);
        if (found == processes_.end()) return;
        for (const auto& session : found->second.sessions) {
            const auto left = sessions_.find(session);
            if (left == sessions_.end()) continue;
            left->second.erase(process);
            if (!left->second.empty()) continue;
            sessions_.erase(left);
            ended_sessions.push_back(session);
        }
        processes_.erase(found);
    }
    for (const auto& session : ended_sessions) close_(session);
}

std::set<SessionId> ProcessWatch::sessions() {
    MutexLock lock(mutex_);
    std::set<SessionId> watched;
    for (const auto& [session, processes] : sessions_) watched.insert(session);
    return watched;
}

void ProcessWatch::forget(const std::set<SessionId>& ended) {
    MutexLock lock(mutex_);
    for (const SessionId& id : ended) {
        const auto session = sessions_.find(id);
        if (session == sessions_.end()) continue;
        for (const auto& process : session->second) {
            const auto found = processes_.find(process);
            if (found == processes_.end()) continue;
            found->second.sessions.erase(id);
            if (found->second.sessions.empty()) processes_.erase(found);
        }
        sessions_.erase(session);
    }
}

void ProcessWatch::stop() {
    MutexLock lock(mutex_);
    stopped_ = true;
    processes_.clear();
    sessions_.clear();
}

}  // namespace rocklock
