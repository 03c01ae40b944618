// The functions describe() and describe_call() for calls and replies about grants. Include
// lock_members.hpp, which explains and includes them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <rocklock/lock.hpp>

#include "wire/session_members.hpp"

namespace rocklock {

// ---- Calls ----

// The members of a session that is opened for one grant.
template <typename Codec, A<Call> C, A<OpenSession> T>
void describe_opens(Codec& codec, C& call, T& opens) {
    codec.optional("Principal", opens.principal);
    describe_lease(codec, opens.lease);
    codec.defaulted("Bound", opens.bound);
    codec.optional("Pid", call.pid);
}

// The session of the grant. It is an existing session, or a new session that is opened for this
// grant alone.
template <typename Codec, A<Call> C, A<Acquire> T>
void describe_session(Codec& codec, C& call, T& body) {
    codec.optional("Session", body.session);
    codec.optional("Secret", call.secret);
    if constexpr (Codec::reading) {
        const bool given = codec.has("Principal") || codec.has("LeaseMs") || codec.has("Bound") ||
                           codec.has("Pid");
        // The frequent case: there is no session to open.
        if (body.session && call.secret && !given && !codec.has("NoExpiry")) return;
        OpenSession opens;
        describe_opens(codec, call, opens);
        if (body.session) {
            if (given)
                codec.refuse(
                    "give either Session and Secret, or Principal to open a session for this "
                    "grant");
            if (!call.secret) codec.refuse("Secret is missing: it proves that Session is yours");
        } else {
            if (call.secret) codec.refuse("Session is missing, and Secret is given");
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
    codec.defaulted("Held", body.held);
    codec.optional("Note", body.note);
    codec.optional("Metadata", body.metadata);
    codec.optional("MaxHoldMs", body.max_hold);
    codec.optional("MinHoldMs", body.min_hold);
    codec.optional("RequestId", body.request_id);
    codec.optional("Priority", body.priority);
}

template <typename Codec, A<Call> C, A<Acquire> T>
void describe_call(Codec& codec, C& call, T& body) {
    describe_session(codec, call, body);
    codec.required("Locks", body.locks);
    codec.optional("Any", body.any);
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
            codec.refuse("give either Mode for the whole grant, or Locks for some of its locks");
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

// ---- Replies ----

template <typename Codec, A<Grant> T>
void describe(Codec& codec, T& grant) {
    codec.required("Grant", grant.id);
    codec.required("Token", grant.token);
    codec.required("Locks", grant.locks);
    codec.required("Waited", grant.waited);
    codec.optional("Count", grant.count);
    describe_deadline(codec, grant);
    if constexpr (requires { codec.boot_cap(grant); }) {
        codec.boot_cap(grant);
    } else {
        codec.optional("CapBootMs", grant.cap);
    }
    // Present in the response to a repeated request if the grant has ended.
    codec.flat_optional("Outcome", grant.ended);
    codec.optional("Session", grant.session);
    if constexpr (Codec::reading) {
        SessionInfo own;
        codec.optional("Secret", own.secret);
        codec.optional("LeaseMs", own.lease);
        codec.optional("Principal", own.principal);
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
        codec.optional("Principal", grant.own_session->principal);
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

}  // namespace rocklock
