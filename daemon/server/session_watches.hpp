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
// Lifetime: borrows `local` and `remote`.
class SessionWatches final : public SessionWatch {
public:
    // `own_host` is that of the options of the dispatcher.
    SessionWatches(ProcessWatch& local, RemoteProcesses& remote, ClientHost own_host)
        : local_(local), remote_(remote), own_host_(std::move(own_host)) {}

    void watch(const SessionId& session, const ClientHost& host,
               const std::vector<ProcessId>& processes) override {
        // In a cluster, a session without a host was opened by a program that had the store open
        // itself, on an unknown host. It ends with its lease.
        if (host == ClientHost{} && host != own_host_) return;
        // The processes of an earlier boot do not exist any more, so their sessions end.
        if (host.node == own_host_.node) return local_.watch(session, processes);
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
    const ClientHost own_host_;
};

}  // namespace rocklock
