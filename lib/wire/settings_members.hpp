// The functions describe() and describe_call() for calls and replies about classes, bindings and
// drafts. Include lock_members.hpp, which explains and includes them.
#pragma once

#include <cstdint>
#include <optional>

#include <rocklock/lock.hpp>

#include "wire/grant_members.hpp"

namespace rocklock {

// ---- Calls ----

template <typename Codec, A<Call> C, A<PutClass> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    describe(codec, body.lock_class);
}

template <typename Codec, A<Call> C, A<DeleteClass> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.required("Pattern", body.pattern);
}

template <typename Codec, A<Call> C, A<DrainClass> T>
void describe_call(Codec& codec, C& /*call*/, T& body) {
    codec.required("Pattern", body.pattern);
    codec.optional("Reason", body.reason);
}

template <typename Codec, A<Call> C, A<ResumeClass> T>
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

// Describes the owner of drafts. An owner sends a session and its secret, and an administrator
// sends a principal. A reader refuses a call with both, with neither, or with only one of the
// session and the secret.
template <typename Codec, A<Call> C, typename Session, typename Principal>
void describe_owner(Codec& codec, C& call, Session& session, Principal& principal) {
    codec.optional("Session", session);
    codec.optional("Secret", call.secret);
    codec.optional("Principal", principal);
    if constexpr (Codec::reading) {
        const bool proven = session.has_value() && call.secret.has_value();
        const bool proof_given = session.has_value() || call.secret.has_value();
        if (proven != proof_given || proof_given == codec.has("Principal")) {
            codec.refuse("give either Session and Secret, or, as an administrator, Principal");
        }
    }
}

template <typename Codec, A<Call> C, A<ListDrafts> T>
void describe_call(Codec& codec, C& call, T& body) {
    describe_owner(codec, call, body.session, body.request.principal);
    codec.defaulted("Limit", body.request.limit);
    codec.optional("Next", body.request.next);
}

template <typename Codec, A<Call> C, typename T>
requires(A<T, TakeDraft> || A<T, DiscardDraft>) void describe_call(Codec& codec, C& call, T& body) {
    describe_owner(codec, call, body.session, body.principal);
    codec.required("Id", body.draft);
}

// ---- Replies ----

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

}  // namespace rocklock
