// The processes of other hosts to which sessions are bound. The relays of these hosts watch them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <rocklock/identity.hpp>
#include <rocklock/lock.hpp>

#include "base/mutex.hpp"
#include "daemon/api/process_ends.hpp"
#include "daemon/peer/framed_link.hpp"
#include "daemon/peer/link_frames.hpp"
#include "service/dispatcher.hpp"

namespace rocklock {

// While no relay of a host is connected, the manager does not learn which processes of the host
// have ended. The sessions that are bound to these processes then end with their leases, or when a
// relay connects again and reports the ends. If the relay reports another boot of the host, all
// processes of the previous boot have ended.
//
// Threads: thread-safe.
class RemoteProcesses {
public:
    // `close` is called, on any thread, for a session when the last of its processes has ended.
    explicit RemoteProcesses(std::function<void(const SessionId&)> close)
        : close_(std::move(close)) {}

    // Binds the session to processes of a host, in addition to those to which it is already bound.
    void watch(const SessionId& session, const ClientHost& host,
               const std::vector<ProcessId>& processes) ROCKLOCK_EXCLUDES(mutex_);
    // Returns the sessions that are bound to processes of other hosts.
    std::set<SessionId> sessions() ROCKLOCK_EXCLUDES(mutex_);
    // Stops watching the processes of sessions that have ended for another reason.
    void forget(const std::set<SessionId>& ended) ROCKLOCK_EXCLUDES(mutex_);

    using FindDone = SessionWatch::FindDone;
    // The maximum number of searches in progress on one host.
    static constexpr std::size_t max_queries = 1'000;
    // A relay must answer within this time.
    static constexpr std::chrono::seconds max_query_time{10};
    // See SessionWatch::find().
    void find(const ClientHost& host, std::uint32_t uid, std::int32_t pid, FindDone done)
        ROCKLOCK_EXCLUDES(mutex_);
    // Ends the searches that have lasted for max_query_time with `unreachable`. Must be called
    // regularly.
    void end_old_queries(std::chrono::steady_clock::time_point now) ROCKLOCK_EXCLUDES(mutex_);
    // Ends all searches, and all later ones, with `closing`.
    void stop() ROCKLOCK_EXCLUDES(mutex_);
    // A relay of the host has answered a query. Called on the thread of the link.
    void found(const ClientHost& host, const ProcessReport& report) ROCKLOCK_EXCLUDES(mutex_);

    // A link to a relay of the host was established or lost. Called on the thread of the link.
    void add_link(const ClientHost& host, const std::shared_ptr<FramedLink>& link)
        ROCKLOCK_EXCLUDES(mutex_);
    void remove_link(const ClientHost& host, const FramedLink* link) ROCKLOCK_EXCLUDES(mutex_);
    // A relay has reported the end of a process.
    void ended(const ClientHost& host, const ProcessId& process) ROCKLOCK_EXCLUDES(mutex_);

private:
    struct Host {
        std::map<ProcessId, std::set<SessionId>, EarlierProcess> processes;
        // The links to the relay of the host. The first one is asked to watch processes.
        std::vector<std::shared_ptr<FramedLink>> links;
    };

    // A query that the relay has not answered.
    struct Query {
        ClientHost host;
        const FramedLink* link = nullptr;
        FindDone done;
        std::chrono::steady_clock::time_point since{};
    };

    // Removes the queries for which `condition` returns true, and returns them. The caller must
    // call their functions `done` without the mutex.
    std::vector<Query> take_queries(const std::function<bool(const Query&)>& condition)
        ROCKLOCK_REQUIRES(mutex_);
    static void fail(const std::vector<Query>& queries, Error (*error)(const ClientHost&));
    // Sends the query. Returns an error if this is not possible.
    std::optional<Error> send_query(const ClientHost& host, ProcessQuery query, FindDone& done)
        ROCKLOCK_REQUIRES(mutex_);
    void remove_link_of(const ClientHost& host, const FramedLink* link) ROCKLOCK_REQUIRES(mutex_);
    void watch_all(const Host& host) ROCKLOCK_REQUIRES(mutex_);
    std::vector<SessionId> remove(Host& host, const ProcessId& process) ROCKLOCK_REQUIRES(mutex_);

    const std::function<void(const SessionId&)> close_;
    Mutex mutex_;
    std::map<ClientHost, Host> hosts_ ROCKLOCK_GUARDED_BY(mutex_);
    std::map<std::uint64_t, Query> queries_ ROCKLOCK_GUARDED_BY(mutex_);
    std::uint64_t last_query_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    bool stopped_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    // The number of processes of each session that have not ended.
    std::map<SessionId, std::size_t> counts_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock
