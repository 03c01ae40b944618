// The members of everything the protocol carries, each named once.
//
// A codec walks over them to write or to read: `required` members are always there, `optional` ones
// are left out where they say nothing (empty, zero, false), and keep their default where they are
// absent.
//
//     codec.required("Resource", lock.resource);
//     codec.optional("Subtree", lock.subtree);
//
// What differs between both directions asks `Codec::reading`.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>

#include <rocklock/lock.hpp>

#include "wire/call.hpp"

namespace rocklock {

// T is a Type, const for a codec that writes.
template <typename T, typename Type>
concept A = std::same_as<std::remove_const_t<T>, Type>;

// Whether an optional member is left out.
template <typename T>
bool says_nothing(const T& value) {
    return value == T{};
}
template <typename T>
bool says_nothing(const std::optional<T>& value) {
    return !value;
}
template <typename T>
bool says_nothing(const std::vector<T>& value) {
    return value.empty();
}

// ---- Values ----

template <typename Codec, A<Holder> T>
void describe(Codec& codec, T& holder) {
    codec.required("Resource", holder.resource);
    codec.required("Mode", holder.mode);
    codec.optional("Subtree", holder.subtree);
    codec.optional("Permits", holder.permits);
    codec.required("Grant", holder.grant);
    codec.required("Token", holder.token);
    codec.required("Principal", holder.principal);
    codec.required("Session", holder.session);
    codec.required("Uid", holder.uid);
    codec.required("Pid", holder.pid);
    codec.required("AcquiredAt", holder.acquired_at);
    codec.required("RemainingMs", holder.remaining);
    codec.required("Deadline", holder.deadline);
    codec.required("Note", holder.note);
    codec.required("Metadata", holder.metadata);
    codec.optional("Cause", holder.cause);
    codec.optional("You", holder.you);
}

template <typename Codec, A<Waiter> T>
void describe(Codec& codec, T& waiter) {
    codec.required("Resource", waiter.resource);
    codec.required("Mode", waiter.mode);
    codec.optional("Permits", waiter.permits);
    codec.required("Principal", waiter.principal);
    codec.optional("Session", waiter.session);
    codec.required("Since", waiter.since);
    codec.required("Position", waiter.position);
}

template <typename Codec, A<CycleStep> T>
void describe(Codec& codec, T& step) {
    codec.required("Principal", step.principal);
    codec.required("Session", step.session);
    codec.required("Resource", step.resource);
}

template <typename Codec, A<Ending> T>
void describe(Codec& codec, T& ending) {
    codec.required("Outcome", ending.outcome);
    codec.optional("By", ending.by);
    codec.optional("Reason", ending.reason);
    codec.required("At", ending.at);
}

template <typename Codec, A<Wanted> T>
void describe(Codec& codec, T& wanted) {
    codec.required("Grant", wanted.grant);
    codec.required("Resource", wanted.resource);
    codec.required("By", wanted.by);
    codec.required("Mode", wanted.mode);
    codec.required("Since", wanted.since);
    codec.optional("AnswerBy", wanted.answer_by);
}

template <typename Codec, A<LostGrant> T>
void describe(Codec& codec, T& lost) {
    codec.required("Grant", lost.grant);
    describe(codec, lost.ending);
}

template <typename Codec, A<Dependant> T>
void describe(Codec& codec, T& dependant) {
    codec.required("Resource", dependant.resource);
    codec.required("Mode", dependant.mode);
}

template <typename Codec, A<LockClass> T>
void describe(Codec& codec, T& lock_class) {
    codec.required("Pattern", lock_class.pattern);
    codec.usual("Policy", lock_class.policy);
    codec.usual("LeaseMs", lock_class.lease);
    codec.optional("MaxLeaseMs", lock_class.max_lease);
    codec.optional("MaxHoldMs", lock_class.max_hold);
    codec.optional("MinHoldMs", lock_class.min_hold);
    codec.optional("LockDelayMs", lock_class.lock_delay);
    codec.usual("Steal", lock_class.steal);
    codec.optional("StealAfterMs", lock_class.steal_after);
    codec.optional("Dependants", lock_class.dependants);
    codec.usual("QueueLimit", lock_class.queue_limit);
    codec.optional("Permits", lock_class.permits);
    codec.optional("Drafts", lock_class.drafts);
}

template <typename Codec, A<TableBinding> T>
void describe(Codec& codec, T& binding) {
    codec.required("TableName", binding.table);
    codec.required("Resource", binding.resource);
    codec.optional("Strict", binding.strict);
}

template <typename Codec, A<Draft> T>
void describe(Codec& codec, T& draft) {
    codec.required("Id", draft.id);
    codec.required("Principal", draft.principal);
    codec.required("At", draft.at);
    codec.required("Token", draft.token);
    codec.required("Resource", draft.resource);
    codec.required("TableName", draft.write.table);
    codec.optional("Version", draft.write.expected_version);
    codec.required("Write", draft.write);
}

template <typename Codec, A<LockRequest> T>
void describe(Codec& codec, T& lock) {
    codec.required("Resource", lock.resource);
    codec.optional("Mode", lock.mode);
    codec.optional("To", lock.to);
    codec.optional("Subtree", lock.subtree);
    codec.optional("Permits", lock.permits);
    codec.optional("Modes", lock.modes);
    if constexpr (Codec::reading) {
        if (lock.mode && lock.to) codec.refuse("give Mode or To, not both");
        if (codec.has("Modes")) {
            if (lock.mode || lock.to) codec.refuse("give Modes, or Mode, or To: one of them");
            if (lock.modes.empty()) codec.refuse("Modes names no mode: name one at least");
        }
    }
}

template <typename Codec, A<GrantedLock> T>
void describe(Codec& codec, T& lock) {
    codec.required("Resource", lock.resource);
    codec.required("Mode", lock.mode);
    codec.optional("Subtree", lock.subtree);
    codec.optional("Permits", lock.permits);
    codec.optional("Cause", lock.cause);
}

template <typename Codec, A<ProcessId> T>
void describe(Codec& codec, T& process) {
    codec.required("Pid", process.pid);
    codec.required("StartTime", process.start_time);
}

template <typename Codec, A<SessionView> T>
void describe(Codec& codec, T& session) {
    codec.required("Session", session.id);
    codec.required("Principal", session.principal);
    codec.required("Bound", session.bound);
    codec.optional("Processes", session.processes);
    codec.required("Uid", session.uid);
    codec.required("Pid", session.pid);
    codec.required("OpenedAt", session.opened_at);
    codec.required("LeaseMs", session.lease);
    codec.required("RemainingMs", session.remaining);
    codec.required("Deadline", session.deadline);
    codec.required("Note", session.note);
    codec.required("Metadata", session.metadata);
    codec.required("Grants", session.grants);
}

template <typename Codec, A<LockEvent> T>
void describe(Codec& codec, T& event) {
    codec.required("Sequence", event.sequence);
    codec.required("Type", event.type);
    codec.required("Resource", event.resource);
    codec.required("Grant", event.grant);
    codec.required("Token", event.token);
    codec.required("Principal", event.principal);
    codec.required("Mode", event.mode);
    codec.optional("Permits", event.permits);
    codec.required("At", event.at);
    codec.optional("By", event.by);
    codec.optional("Reason", event.reason);
}

template <typename Codec, A<HistoryRow> T>
void describe(Codec& codec, T& row) {
    describe(codec, row.holder);
    codec.flat_optional("Outcome", row.ended);
}

// ---- Calls ----

template <typename Codec, A<Call> C, A<OpenSession> T>
void describe_call(Codec& codec, C& call, T& body) {
    codec.required("Principal", body.principal);
    codec.optional("LeaseMs", body.lease);
    codec.usual("Bound", body.bound);
    codec.optional("Pid", call.pid);
    codec.optional("Note", body.note);
    codec.optional("Metadata", body.metadata);
    codec.optional("RequestId", body.request_id);
}

template <typename Codec, A<Call> C, typename T>
void describe_proof(Codec& codec, C& call, T& session) {
    codec.required("Session", session);
    codec.required("Secret", call.secret);
}

template <typename Codec, A<Call> C, A<RenewSession> T>
void describe_call(Codec& codec, C& call, T& body) {
    describe_proof(codec, call, body.session);
    codec.optional("LeaseMs", body.lease);
    codec.optional("Note", body.note);
    codec.optional("Metadata", body.metadata);
    codec.optional("Active", body.active);
    codec.optional("Rebind", call.rebind);
}

template <typename Codec, A<Call> C, A<AnswerWanted> T>
void describe_call(Codec& codec, C& call, T& body) {
    describe_proof(codec, call, body.session);
    codec.required("Grant", body.grant);
    codec.required("Allow", body.allow);
}

template <typename Codec, A<Call> C, A<JoinProcess> T>
void describe_call(Codec& codec, C& call, T& body) {
    describe_proof(codec, call, body.session);
    codec.optional("Pid", call.pid);
}

template <typename Codec, A<Call> C, A<CloseSession> T>
void describe_call(Codec& codec, C& call, T& body) {
    describe_proof(codec, call, body.session);
}

// The members of a session that is made for one grant.
template <typename Codec, A<Call> C, A<OpenSession> T>
void describe_opens(Codec& codec, C& call, T& opens) {
    codec.optional("Principal", opens.principal);
    codec.optional("LeaseMs", opens.lease);
    codec.usual("Bound", opens.bound);
    codec.optional("Pid", call.pid);
}

// For whom: a session that there is, or one of its own.
template <typename Codec, A<Call> C, A<Acquire> T>
void describe_session(Codec& codec, C& call, T& body) {
    codec.optional("Session", body.session);
    codec.optional("Secret", call.secret);
    if constexpr (Codec::reading) {
        OpenSession opens;
        const bool given = codec.has("Principal") || codec.has("LeaseMs") || codec.has("Bound") ||
                           codec.has("Pid");
        describe_opens(codec, call, opens);
        if (body.session) {
            if (given)
                codec.refuse("give Session and Secret, or Principal for a session of its own");
            if (!call.secret) codec.refuse("Secret is missing: it proves that Session is yours");
        } else {
            if (call.secret) codec.refuse("Session is missing beside Secret");
            if (!codec.has("Principal"))
                codec.refuse("Session and Secret, or Principal, are missing");
            body.opens = std::move(opens);
        }
    } else if (body.opens) {
        describe_opens(codec, call, *body.opens);
    }
}

template <typename Codec, A<Acquire> T>
void describe_terms(Codec& codec, T& body) {
    codec.patience("PatienceMs", body.patience);
    codec.usual("Held", body.held);
    codec.optional("Note", body.note);
    codec.optional("Metadata", body.metadata);
    codec.optional("MaxHoldMs", body.max_hold);
    codec.optional("RequestId", body.request_id);
}

template <typename Codec, A<Call> C, A<Acquire> T>
void describe_call(Codec& codec, C& call, T& body) {
    describe_session(codec, call, body);
    codec.required("Locks", body.locks);
    describe_terms(codec, body);
}

template <typename Codec, A<Call> C, A<Convert> T>
void describe_call(Codec& codec, C& call, T& body) {
    describe_proof(codec, call, body.session);
    codec.required("Grant", body.grant);
    codec.optional("Mode", body.mode);
    codec.optional("Locks", body.locks);
    codec.patience("PatienceMs", body.patience);
    codec.optional("RequestId", body.request_id);
    if constexpr (Codec::reading) {
        if (body.mode.has_value() == !body.locks.empty()) {
            codec.refuse("give Mode, for the whole grant, or Locks, for some of it");
        }
    }
}

template <typename Codec, A<Call> C, A<Release> T>
void describe_call(Codec& codec, C& call, T& body) {
    describe_proof(codec, call, body.session);
    codec.required("Grant", body.grant);
}

template <typename Codec, A<Call> C, A<Transfer> T>
void describe_call(Codec& codec, C& call, T& body) {
    describe_proof(codec, call, body.session);
    codec.required("Grant", body.grant);
    codec.required("To", body.to);
}

template <typename Codec, A<Call> C, A<Steal> T>
void describe_call(Codec& codec, C& call, T& body) {
    describe_proof(codec, call, body.session);
    codec.required("Grant", body.grant);
    codec.required("Reason", body.reason);
    codec.optional("Force", body.force);
}

template <typename Codec, A<Call> C, A<Reacquire> T>
void describe_call(Codec& codec, C& call, T& body) {
    describe_proof(codec, call, body.session);
    codec.required("Grant", body.grant);
}

template <typename Codec, A<Call> C, A<Break> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.required("Grant", body.grant);
    codec.required("Reason", body.reason);
}

template <typename Codec, A<Call> C, A<EndSession> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.required("Session", body.session);
    codec.required("Reason", body.reason);
}

template <typename Codec, A<Call> C, A<EndSessions> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.required("Principal", body.principal);
    codec.required("Reason", body.reason);
}

template <typename Codec, A<Call> C, A<PutClass> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    describe(codec, body.lock_class);
}

template <typename Codec, A<Call> C, A<DeleteClass> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.required("Pattern", body.pattern);
}

template <typename Codec, A<Call> C, A<BindTable> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    describe(codec, body.binding);
}

template <typename Codec, A<Call> C, A<UnbindTable> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.required("TableName", body.table);
}

// Whose drafts.
template <typename Codec, A<Call> C, typename Session, typename Principal>
void describe_owner(Codec& codec, C& call, Session& session, Principal& principal) {
    codec.optional("Session", session);
    codec.optional("Secret", call.secret);
    codec.optional("Principal", principal);
    if constexpr (Codec::reading) {
        const bool proven = session.has_value() && call.secret.has_value();
        const bool told = session.has_value() || call.secret.has_value();
        if (proven != told || told == codec.has("Principal")) {
            codec.refuse("give Session and Secret, or, to administer, Principal");
        }
    }
}

template <typename Codec, A<Call> C, A<ListDrafts> T>
void describe_call(Codec& codec, C& call, T& body) {
    describe_owner(codec, call, body.session, body.request.principal);
    codec.usual("Limit", body.request.limit);
    codec.optional("Next", body.request.next);
}

template <typename Codec, A<Call> C, typename T>
requires(A<T, TakeDraft> || A<T, DiscardDraft>) void describe_call(Codec& codec, C& call, T& body) {
    describe_owner(codec, call, body.session, body.principal);
    codec.required("Id", body.draft);
}

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
    codec.usual("Limit", body.limit);
    codec.optional("Next", body.next);
}

template <typename Codec, A<Call> C, A<ListSessions> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.optional("Principal", body.principal);
    codec.usual("Limit", body.limit);
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
    codec.usual("Limit", body.limit);
    codec.patience("PatienceMs", body.patience);
}

template <typename Codec, A<Call> C, A<HistoryRequest> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.required("Resource", body.resource);
    codec.usual("Limit", body.limit);
    codec.optional("Next", body.next);
}

template <typename Codec, A<Call> C, A<ShowSession> T>
void describe_call(Codec& codec, C& call, T& body) {
    describe_proof(codec, call, body.session);
}

template <typename Codec, A<Call> C, A<ListAudit> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.optional("After", body.after);
    codec.usual("Limit", body.limit);
}

template <typename Codec, A<Call> C, A<ListOutliers> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.usual("Limit", body.limit);
}

template <typename Codec, A<Call> C, typename T>
requires(A<T, ListClasses> || A<T, ListBindings> || A<T, ShowStatistics> || A<T, ListWaits> ||
         A<T, ListDeadlocks> ||
         A<T, Ping>) void describe_call(Codec& /*codec*/, C& /*call*/, T& /*body*/) {}

// ---- Replies ----

// How long, and until when: relative, on the wall, and on the boot clock of this machine. The last
// is exact however late the reply is read.
template <typename Codec, typename T>
void describe_deadline(Codec& codec, T& reply) {
    codec.required("RemainingMs", reply.remaining);
    codec.required("Deadline", reply.deadline_wall);
    codec.required("DeadlineBootMs", reply.deadline);
}

template <typename Codec, A<SessionInfo> T>
void describe(Codec& codec, T& session) {
    codec.optional("Session", session.id);
    codec.optional("Secret", session.secret);
    codec.required("LeaseMs", session.lease);
    describe_deadline(codec, session);
    codec.optional("Wanted", session.wanted);
    codec.optional("Lost", session.lost);
}

template <typename Codec, A<ClosedSession> T>
void describe(Codec& codec, T& closed) {
    codec.required("Released", closed.released);
}

template <typename Codec, A<Grant> T>
void describe(Codec& codec, T& grant) {
    codec.required("Grant", grant.id);
    codec.required("Token", grant.token);
    codec.required("Locks", grant.locks);
    codec.required("Waited", grant.waited);
    codec.optional("Count", grant.count);
    describe_deadline(codec, grant);
    codec.optional("CapBootMs", grant.cap);
    // How it has ended since, in the answer to a repeated request.
    codec.flat_optional("Outcome", grant.ended);
    codec.optional("Session", grant.session);
    if constexpr (Codec::reading) {
        SessionInfo own;
        codec.optional("Secret", own.secret);
        codec.optional("LeaseMs", own.lease);
        if (codec.has("Secret")) {
            own.id = grant.session;
            own.remaining = grant.remaining;
            own.deadline = grant.deadline;
            own.deadline_wall = grant.deadline_wall;
            grant.own_session = std::move(own);
        }
    } else if (grant.own_session) {
        codec.required("Secret", grant.own_session->secret);
        codec.required("LeaseMs", grant.own_session->lease);
    }
}

template <typename Codec, A<Released> T>
void describe(Codec& codec, T& released) {
    codec.required("Outcome", released.outcome);
    codec.optional("Count", released.count);
    codec.optional("By", released.by);
    codec.optional("Reason", released.reason);
    codec.optional("At", released.at);
}

template <typename Codec, A<ClassList> T>
void describe(Codec& codec, T& list) {
    codec.required("Classes", list.classes);
}

template <typename Codec, A<BindingList> T>
void describe(Codec& codec, T& list) {
    codec.required("Bindings", list.bindings);
}

template <typename Codec, A<DraftPage> T>
void describe(Codec& codec, T& page) {
    codec.required("Drafts", page.drafts);
    codec.optional("Next", page.next);
}

template <typename Codec, A<DiscardedDraft> T>
void describe(Codec& codec, T& discarded) {
    codec.required("Id", discarded.draft);
}

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

// With its bounds, which another version may have others of: then it is read as empty.
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
    // A daemon of before does not say these.
    codec.usual("ReadLocksGranted", counts.locks_granted[0]);
    codec.usual("WriteLocksGranted", counts.locks_granted[1]);
    codec.usual("ExclusiveLocksGranted", counts.locks_granted[2]);
    codec.usual("PermitsGranted", counts.permits_granted);
    codec.usual("QueueFull", counts.queue_full);
    codec.usual("StealsRefused", counts.steals_refused);
    codec.usual("Conversions", counts.conversions);
    codec.usual("SessionsOpened", counts.sessions_opened);
    codec.usual("SessionsExpired", counts.sessions_expired);
    codec.usual("Renewals", counts.renewals);
    codec.usual("EventsKept", counts.events);
    codec.usual("EventsDropped", counts.events_dropped);
    codec.usual("WaitTimes", counts.wait);
    codec.usual("HoldTimes", counts.hold);
    codec.usual("RenewMargins", counts.renew_margin);
    codec.usual("AcquireTimes", counts.acquire);
    codec.usual("Users", counts.users);
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

template <typename Codec, A<Pong> T>
void describe(Codec& codec, T& pong) {
    codec.required("Version", pong.version);
    codec.required("Pid", pong.pid);
    codec.required("Store", pong.store);
    codec.required("Durability", pong.durability);
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

// The facts of an error; its name and message are the codec's.
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
}

}  // namespace rocklock
