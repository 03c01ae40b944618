// The functions describe() and describe_call() for calls and replies about sessions. Include
// lock_members.hpp, which explains and includes them.
#pragma once

#include <cstdint>
#include <optional>

#include <rocklock/lock.hpp>

#include "wire/value_members.hpp"

namespace rocklock {

// ---- Calls ----

template <typename Codec, A<Call> C, A<OpenSession> T>
void describe_call(Codec& codec, C& call, T& body) {
    codec.required("Principal", body.principal);
    describe_lease(codec, body.lease);
    codec.defaulted("Bound", body.bound);
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

template <typename Codec, A<Call> C, A<AwaitNotices> T>
void describe_call(Codec& codec, C& call, T& body) {
    describe_proof(codec, call, body.session);
    codec.optional("After", body.after);
    codec.patience("PatienceMs", body.patience);
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

template <typename Codec, A<Call> C, A<EndSession> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.required("Session", body.session);
    codec.required("Reason", body.reason);
}

template <typename Codec, A<Call> C, A<EndSessions> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.optional("Principal", body.principal);
    codec.optional("Uid", body.uid);
    codec.required("Reason", body.reason);
    if constexpr (Codec::reading) {
        if (codec.has("Principal") == codec.has("Uid")) codec.refuse("give Principal or Uid");
    }
}

// ---- Replies ----

// The remaining time, and the deadline on the wall clock and on the boot clock of this machine. The
// deadline on the boot clock is exact even if the reply is read late. In JSON, the id of the boot
// is also a member. A client that uses frames knows this id from the Ping with which its connection
// begins.
//
// A JSON reply to a client with another boot clock has no deadline on the boot clock; see
// ForeignReply.
template <typename Codec, typename T>
void describe_deadline(Codec& codec, T& reply) {
    codec.required("RemainingMs", reply.remaining);
    codec.required("Deadline", reply.deadline_wall);
    if constexpr (requires { codec.boot_deadline(reply); }) {
        codec.boot_deadline(reply);
    } else {
        codec.required("DeadlineBootMs", reply.deadline);
    }
    describe_no_expiry(codec, reply.remaining);
    if constexpr (requires { codec.boot_of_machine("BootId"); }) codec.boot_of_machine("BootId");
}

template <typename Codec, A<SessionInfo> T>
void describe(Codec& codec, T& session) {
    codec.optional("Session", session.id);
    codec.optional("Secret", session.secret);
    codec.optional("Principal", session.principal);
    codec.required("LeaseMs", session.lease);
    describe_deadline(codec, session);
    codec.optional("Wanted", session.wanted);
    codec.optional("Lost", session.lost);
    codec.optional("Answers", session.answers);
}

template <typename Codec, A<Notices> T>
void describe(Codec& codec, T& notices) {
    codec.optional("Wanted", notices.wanted);
    codec.optional("Lost", notices.lost);
    codec.optional("Answers", notices.answers);
    codec.required("After", notices.after);
}

template <typename Codec, A<ClosedSession> T>
void describe(Codec& codec, T& closed) {
    codec.required("Released", closed.released);
}

}  // namespace rocklock
