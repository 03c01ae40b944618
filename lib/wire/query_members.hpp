// The functions describe() and describe_call() for queries and their replies. Include
// lock_members.hpp, which explains and includes them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include <rocklock/lock.hpp>

#include "wire/settings_members.hpp"

namespace rocklock {

// ---- Calls ----

template <typename Codec, A<Call> C, A<ShowLock> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.required("Resource", body.resource);
}

template <typename Codec, A<Call> C, A<ListLocks> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.optional("Prefix", body.prefix);
    codec.optional("Principal", body.principal);
    codec.optional("Session", body.session);
    codec.optional("Class", body.class_pattern);
    codec.optional("Contended", body.contended);
    codec.optional("Asker", body.asker);
    codec.defaulted("Limit", body.limit);
    codec.optional("Next", body.next);
}

template <typename Codec, A<Call> C, A<ListSessions> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.optional("Principal", body.principal);
    codec.defaulted("Limit", body.limit);
    codec.optional("Next", body.next);
}

template <typename Codec, A<Call> C, A<Backup> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.required("Directory", body.directory);
}

template <typename Codec, A<Call> C, A<WatchRequest> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.optional("Prefix", body.prefix);
    codec.optional("After", body.after);
    codec.defaulted("Limit", body.limit);
    codec.patience("PatienceMs", body.patience);
}

template <typename Codec, A<Call> C, A<HistoryRequest> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.required("Resource", body.resource);
    codec.defaulted("Limit", body.limit);
    codec.optional("Next", body.next);
}

template <typename Codec, A<Call> C, A<ShowSession> T>
void describe_call(Codec& codec, C& call, T& body) {
    describe_proof(codec, call, body.session);
}

template <typename Codec, A<Call> C, A<ListAudit> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.optional("After", body.after);
    codec.defaulted("Limit", body.limit);
}

template <typename Codec, A<Call> C, A<TrimAudit> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.required("Through", body.through);
}

template <typename Codec, A<Call> C, A<ListOutliers> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.defaulted("Limit", body.limit);
}

template <typename Codec, A<Call> C, typename T>
requires(A<T, ListClasses> || A<T, ListBindings> || A<T, ShowStatistics> || A<T, ListWaits> ||
         A<T, ListDeadlocks> ||
         A<T, Ping>) void describe_call(Codec& /*codec*/, C& /*call*/, T& /*body*/) {}

// ---- Replies ----

template <typename Codec, A<PastHolder> T>
void describe(Codec& codec, T& past) {
    describe(codec, past.holder);
    describe(codec, past.ending);
}

template <typename Codec, A<LockView> T>
void describe(Codec& codec, T& view) {
    codec.required("Resource", view.resource);
    codec.required("Class", view.lock_class);
    codec.required("Holders", view.holders);
    codec.required("Waiters", view.waiters);
    codec.required("LastToken", view.last_token);
    codec.optional("LastHolder", view.last_holder);
    codec.optional("ClosedForMs", view.closed_for);
}

template <typename Codec, A<LockPage> T>
void describe(Codec& codec, T& page) {
    codec.required("Locks", page.locks);
    codec.optional("Next", page.next);
}

template <typename Codec, A<SessionPage> T>
void describe(Codec& codec, T& page) {
    codec.required("Sessions", page.sessions);
    codec.optional("Next", page.next);
}

template <typename Codec, A<EventPage> T>
void describe(Codec& codec, T& page) {
    codec.required("Events", page.events);
    codec.required("After", page.after);
    codec.optional("Gap", page.gap);
}

template <typename Codec, A<HistoryPage> T>
void describe(Codec& codec, T& page) {
    codec.required("Rows", page.rows);
    codec.optional("Next", page.next);
}

template <typename Codec, A<SessionDetail> T>
void describe(Codec& codec, T& detail) {
    codec.required("LeaseMs", detail.session.lease);
    describe_deadline(codec, detail.session);
    codec.required("Grants", detail.grants);
}

// The bounds of the histogram are sent, too. If the sender is another version with different
// bounds, the histogram is read as empty.
template <typename Codec, A<Histogram> T>
void describe(Codec& codec, T& histogram) {
    using Numbers = std::vector<std::uint64_t>;
    Numbers bounds;
    for (const auto bound : histogram.bounds()) {
        bounds.push_back(static_cast<std::uint64_t>(bound.count()));
    }
    Numbers counts(histogram.counts().begin(), histogram.counts().end());
    auto sum = histogram.sum();
    const Numbers ours = bounds;
    codec.required("BoundsUs", bounds);
    codec.required("Counts", counts);
    codec.required("SumUs", sum);
    if constexpr (Codec::reading) {
        std::array<std::uint64_t, std::tuple_size_v<Histogram::Bounds> + 1> read{};
        if (bounds != ours || counts.size() != read.size()) return;
        std::copy(counts.begin(), counts.end(), read.begin());
        histogram.set(read, sum);
    }
}

template <typename Codec, A<LockStatistics> T>
void describe(Codec& codec, T& counts) {
    codec.required("Sessions", counts.sessions);
    codec.required("Held", counts.held);
    codec.required("Waiting", counts.waiting);
    codec.required("Recovered", counts.recovered);
    codec.required("Granted", counts.granted);
    codec.required("Released", counts.released);
    codec.required("Expired", counts.expired);
    codec.required("Stolen", counts.stolen);
    codec.required("Broken", counts.broken);
    codec.required("Transferred", counts.transferred);
    codec.required("Waits", counts.waits);
    codec.required("Refused", counts.refused);
    codec.required("PatienceExpired", counts.patience_expired);
    codec.required("Cancelled", counts.cancelled);
    codec.required("Deadlocks", counts.deadlocks);
    codec.required("Replays", counts.replays);
    codec.required("SweepFinds", counts.sweep_finds);
    // Older daemons do not send these members.
    codec.defaulted("ReadLocksGranted", counts.locks_granted[0]);
    codec.defaulted("WriteLocksGranted", counts.locks_granted[1]);
    codec.defaulted("ExclusiveLocksGranted", counts.locks_granted[2]);
    codec.defaulted("PermitsGranted", counts.permits_granted);
    codec.defaulted("QueueFull", counts.queue_full);
    codec.defaulted("StealsRefused", counts.steals_refused);
    codec.defaulted("Conversions", counts.conversions);
    codec.defaulted("SessionsOpened", counts.sessions_opened);
    codec.defaulted("SessionsExpired", counts.sessions_expired);
    codec.defaulted("Renewals", counts.renewals);
    codec.defaulted("EventsKept", counts.events);
    codec.defaulted("EventsDropped", counts.events_dropped);
    codec.defaulted("ClassesDraining", counts.classes_draining);
    codec.defaulted("AuditRows", counts.audit_rows);
    codec.defaulted("OldestHoldMs", counts.oldest_hold);
    codec.defaulted("WaitTimes", counts.wait);
    codec.defaulted("HoldTimes", counts.hold);
    codec.defaulted("RenewMargins", counts.renew_margin);
    codec.defaulted("AcquireTimes", counts.acquire);
    codec.defaulted("Users", counts.users);
}

template <typename Codec, A<UserLockUsage> T>
void describe(Codec& codec, T& user) {
    codec.required("Uid", user.uid);
    codec.required("Sessions", user.sessions);
    codec.required("Grants", user.grants);
    codec.required("Waiters", user.waiters);
    codec.required("LockBytes", user.lock_bytes);
}

template <typename Codec, A<HotResource> T>
void describe(Codec& codec, T& hot) {
    codec.required("Resource", hot.resource);
    codec.required("Waits", hot.waits);
    codec.optional("Error", hot.error);
}

template <typename Codec, A<Outliers> T>
void describe(Codec& codec, T& outliers) {
    codec.required("LongestHeld", outliers.longest_held);
    codec.required("Hottest", outliers.hottest);
}

template <typename Codec, A<WaitEdge> T>
void describe(Codec& codec, T& edge) {
    codec.required("Resource", edge.resource);
    codec.required("Waiter", edge.waiter);
    codec.required("WaiterPrincipal", edge.waiter_principal);
    codec.required("Blocker", edge.blocker);
    codec.required("BlockerPrincipal", edge.blocker_principal);
    codec.required("BlockerHolds", edge.blocker_holds);
}

template <typename Codec, A<WaitList> T>
void describe(Codec& codec, T& list) {
    codec.required("Waits", list.waits);
}

template <typename Codec, A<Deadlock> T>
void describe(Codec& codec, T& deadlock) {
    codec.required("At", deadlock.at);
    codec.required("Cycle", deadlock.cycle);
}

template <typename Codec, A<DeadlockList> T>
void describe(Codec& codec, T& list) {
    codec.required("Deadlocks", list.deadlocks);
}

template <typename Codec, A<AuditRow> T>
void describe(Codec& codec, T& row) {
    codec.required("Sequence", row.sequence);
    codec.required("At", row.at);
    codec.required("Outcome", row.outcome);
    codec.required("By", row.by);
    codec.required("Reason", row.reason);
    codec.required("Resource", row.resource);
    codec.required("Grant", row.grant);
    codec.required("Token", row.token);
    codec.required("Principal", row.principal);
}

template <typename Codec, A<AuditPage> T>
void describe(Codec& codec, T& page) {
    codec.required("Rows", page.rows);
}

template <typename Codec, A<TrimmedAudit> T>
void describe(Codec& codec, T& trimmed) {
    codec.required("Rows", trimmed.rows);
}

template <typename Codec, A<Pong> T>
void describe(Codec& codec, T& pong) {
    codec.required("Version", pong.version);
    codec.required("Pid", pong.pid);
    codec.required("Store", pong.store);
    codec.required("Durability", pong.durability);
    codec.optional("UptimeMs", pong.uptime);
    codec.optional("BootClockMs", pong.boot_clock);
    codec.optional("BootId", pong.boot_id);
    codec.optional("LowSpace", pong.low_space);
    codec.optional("Node", pong.node);
    codec.optional("ManagerNode", pong.manager_node);
    codec.optional("SharedMemory", pong.shared_memory);
}

template <typename Codec, A<EndedSessions> T>
void describe(Codec& codec, T& ended) {
    codec.required("Sessions", ended.sessions);
}

template <typename Codec, A<BackedUp> T>
void describe(Codec& codec, T& backed_up) {
    codec.required("Directory", backed_up.directory);
    codec.required("Files", backed_up.files);
    codec.required("Bytes", backed_up.bytes);
}

// ---- Refusals ----

// The facts of an error. The callers write and read the name and the message of the error.
template <typename Codec, A<Error> T>
void describe_facts(Codec& codec, T& error) {
    codec.optional("Blockers", error.blockers);
    codec.optional("Waiters", error.waiters);
    codec.optional("Cycle", error.cycle);
    codec.flat_optional("Outcome", error.ended);
    codec.optional("Grant", error.grant);
    codec.optional("Policy", error.policy);
    codec.optional("RetryAfterMs", error.retry_after);
    codec.optional("Limit", error.limit);
    codec.optional("Drafts", error.drafts);
    codec.optional("StorePid", error.pid);
    codec.flat_optional("ManagerNode", error.manager);
}

}  // namespace rocklock
