// The functions describe() for the types of values that occur in calls and replies. Include
// lock_members.hpp, which explains and includes them.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include <rocklock/lock.hpp>

#include "wire/call.hpp"

namespace rocklock {

template <typename T, typename Type>
concept A = std::same_as<std::remove_const_t<T>, Type>;

// Returns whether the value of an optional member is empty or has its default. A writer omits such
// a member.
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

// A lease in a request. Instead of the value `no_expiry`, the member NoExpiry is sent.
template <typename Codec, typename Lease>
void describe_lease(Codec& codec, Lease& lease) {
    bool never_expires = lease == no_expiry;
    if (Codec::reading || !never_expires) codec.optional("LeaseMs", lease);
    codec.optional("NoExpiry", never_expires);
    if constexpr (Codec::reading) {
        if (never_expires && lease) codec.refuse("give LeaseMs or NoExpiry, not both");
        if (never_expires) lease = no_expiry;
    }
}

// The member NoExpiry of a reply: true if the session or the grant never expires, otherwise absent.
// NoExpiry is redundant, because such a session or grant can also be recognized by its remaining
// time and its deadline.
template <typename Codec, typename Remaining>
void describe_no_expiry(Codec& codec, const Remaining& remaining) {
    bool never_expires = remaining == no_expiry;
    codec.optional("NoExpiry", never_expires);
}

// The uid of a user, without the number of the node in its upper 32 bits, which is internal.
template <typename Codec, typename User>
void describe_uid(Codec& codec, User& user) {
    if constexpr (Codec::reading) {
        codec.required("Uid", user);
    } else {
        codec.required("Uid", uid_of(user));
    }
}

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
    describe_uid(codec, holder.uid);
    codec.required("Pid", holder.pid);
    codec.required("AcquiredAt", holder.acquired_at);
    codec.required("RemainingMs", holder.remaining);
    codec.required("Deadline", holder.deadline);
    describe_no_expiry(codec, holder.remaining);
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
    codec.optional("Priority", waiter.priority);
    codec.optional("Any", waiter.any);
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

// Written into the object of the error.
template <typename Codec, A<ManagerNode> T>
void describe(Codec& codec, T& manager) {
    codec.required("ManagerNode", manager.name);
    codec.optional("ManagerAddress", manager.address);
}

template <typename Codec, A<Wanted> T>
void describe(Codec& codec, T& wanted) {
    codec.required("Grant", wanted.grant);
    codec.required("Resource", wanted.resource);
    codec.required("By", wanted.by);
    codec.required("Mode", wanted.mode);
    codec.required("Since", wanted.since);
    codec.optional("AnswerBy", wanted.answer_by);
    codec.optional("Reason", wanted.reason);
    codec.optional("Number", wanted.number);
}

template <typename Codec, A<LostGrant> T>
void describe(Codec& codec, T& lost) {
    codec.required("Grant", lost.grant);
    describe(codec, lost.ending);
    codec.optional("Number", lost.number);
}

template <typename Codec, A<TakeOverAnswer> T>
void describe(Codec& codec, T& answer) {
    codec.required("Grant", answer.grant);
    codec.optional("Resource", answer.resource);
    codec.required("By", answer.by);
    codec.required("Allowed", answer.allowed);
    codec.optional("AskAgain", answer.ask_again);
    codec.optional("Number", answer.number);
}

template <typename Codec, A<Dependant> T>
void describe(Codec& codec, T& dependant) {
    codec.required("Resource", dependant.resource);
    codec.required("Mode", dependant.mode);
}

template <typename Codec, A<LockClass> T>
void describe(Codec& codec, T& lock_class) {
    codec.required("Pattern", lock_class.pattern);
    codec.defaulted("Policy", lock_class.policy);
    codec.defaulted("LeaseMs", lock_class.lease);
    codec.optional("MaxLeaseMs", lock_class.max_lease);
    codec.optional("MaxHoldMs", lock_class.max_hold);
    codec.optional("MinHoldMs", lock_class.min_hold);
    codec.optional("LockDelayMs", lock_class.lock_delay);
    codec.defaulted("Steal", lock_class.steal);
    codec.optional("StealAfterMs", lock_class.steal_after);
    codec.optional("Dependants", lock_class.dependants);
    codec.defaulted("QueueLimit", lock_class.queue_limit);
    codec.optional("Permits", lock_class.permits);
    codec.optional("MaxPriority", lock_class.max_priority);
    codec.optional("Drafts", lock_class.drafts);
    codec.optional("NoExpiry", lock_class.no_expiry);
    codec.optional("StealBy", lock_class.steal_by);
    codec.optional("BreakBy", lock_class.break_by);
    codec.optional("BindBy", lock_class.bind_by);
    codec.optional("Draining", lock_class.draining);
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
            if (lock.mode || lock.to) codec.refuse("give exactly one of Modes, Mode and To");
            if (lock.modes.empty()) codec.refuse("Modes is empty: give at least one mode");
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

// The uid and, for a user of another host or of a cluster, the name of the node.
template <typename Codec, typename T>
void describe_user(Codec& codec, T& session) {
    describe_uid(codec, session.uid);
    codec.optional("Node", session.host.node);
}

template <typename Codec, A<SessionView> T>
void describe(Codec& codec, T& session) {
    codec.required("Session", session.id);
    codec.required("Principal", session.principal);
    codec.required("Bound", session.bound);
    codec.optional("Processes", session.processes);
    describe_user(codec, session);
    codec.required("Pid", session.pid);
    codec.required("OpenedAt", session.opened_at);
    codec.required("LeaseMs", session.lease);
    codec.required("RemainingMs", session.remaining);
    codec.required("Deadline", session.deadline);
    describe_no_expiry(codec, session.remaining);
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

}  // namespace rocklock
