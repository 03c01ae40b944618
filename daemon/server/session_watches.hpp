// Ends sessions when their processes end, on this host and on the hosts of relays.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "daemon/api/process_watch.hpp"
#include "daemon/server/remote_processes.hpp"

namespace rocklock {

// Threads:  thread-safe.
// Lifetime: borrows both arguments.
class SessionWatches final : public SessionWatch {
public:
    SessionWatches(ProcessWatch& local, RemoteProcesses& remote) : local_(local), remote_(remote) {}

    void watch(const SessionId& session, const ClientHost& host,
               const std::vector<ProcessId>& processes) override {
        if (host == ClientHost{}) return local_.watch(session, processes);
        remote_.watch(session, host, processes);
    }
    void find(const ClientHost& host, std::uint32_t uid, std::int32_t pid, FindDone done) override {
        remote_.find(host, uid, pid, std::move(done));
    }
    std::set<SessionId> sessions() {
        auto sessions = local_.sessions();
        sessions.merge(remote_.sessions());
        return sessions;
    }
    void forget(const std::set<SessionId>& ended) {
        local_.forget(ended);
        remote_.forget(ended);
    }

private:
    ProcessWatch& local_;
    RemoteProcesses& remote_;
};

}  // namespace rocklock
