#include "daemon/api/process_watch.hpp"

#include <utility>

namespace rocklock {

void ProcessWatch::watch(const SessionId& session, const std::vector<ProcessId>& processes) {
    {
        const MutexLock lock(mutex_);
        for (const auto& process : processes) {
            sessions_[session].insert(process);
            processes_[process].insert(session);
        }
    }
    // May call ended().
    for (const auto& process : processes) ends_.watch(process);
}

void ProcessWatch::ended(const ProcessId& process) {
    std::vector<SessionId> ended_sessions;
    {
        const MutexLock lock(mutex_);
        const auto found = processes_.find(process);
        if (found == processes_.end()) return;
        for (const auto& session : found->second) {
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
    const MutexLock lock(mutex_);
    std::set<SessionId> watched;
    for (const auto& [session, processes] : sessions_) watched.insert(session);
    return watched;
}

void ProcessWatch::forget(const std::set<SessionId>& ended) {
    const MutexLock lock(mutex_);
    for (const SessionId& id : ended) {
        const auto session = sessions_.find(id);
        if (session == sessions_.end()) continue;
        for (const auto& process : session->second) {
            const auto found = processes_.find(process);
            if (found == processes_.end()) continue;
            found->second.erase(id);
            if (!found->second.empty()) continue;
            processes_.erase(found);
            ends_.forget(process);
        }
        sessions_.erase(session);
    }
}

void ProcessWatch::stop() {
    ends_.stop();
    const MutexLock lock(mutex_);
    processes_.clear();
    sessions_.clear();
}

}  // namespace rocklock
