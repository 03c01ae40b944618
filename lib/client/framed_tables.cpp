// The calls of the client for tables: bindings, drafts, and the grants that saves release.
#include <algorithm>
#include <utility>
#include <vector>

#include "client/framed_service.hpp"

namespace rocklock {

Result<TableBinding> FramedService::bind_table(const TableBinding& binding) {
    return query(BindTable{binding});
}

Result<TableBinding> FramedService::unbind_table(const std::string& table) {
    return query(UnbindTable{table});
}

Result<std::vector<TableBinding>> FramedService::bindings() {
    auto list = query(ListBindings{});
    if (!list) return std::move(list).error();
    return std::move(list->bindings);
}

// Returns a session of the principal with a known secret, or none. The daemon shows the drafts of a
// principal to its sessions, and those of all principals to administrators.
Result<std::optional<SessionId>> FramedService::session_of(const std::string& principal) {
    const auto live = sessions(principal);
    if (!live) return Error(live.error());
    MutexLock lock(mutex_);
    for (const SessionView& session : *live) {
        const auto known = known_sessions_.find(session.id);
        if (known != known_sessions_.end() && !known->second.over) return std::optional(session.id);
    }
    return std::optional<SessionId>();
}

Result<DraftPage> FramedService::list_drafts(const DraftsRequest& request) {
    const auto session = session_of(request.principal);
    if (!session) return Error(session.error());
    ListDrafts list{*session, request};
    if (*session) list.request.principal.clear();
    return query(std::move(list));
}

Result<Draft> FramedService::take_draft(const std::string& principal, DraftId draft) {
    const auto session = session_of(principal);
    if (!session) return Error(session.error());
    return query(TakeDraft{*session, *session ? std::string() : principal, draft});
}

Result<void> FramedService::discard_draft(const std::string& principal, DraftId draft) {
    const auto session = session_of(principal);
    if (!session) return Error(session.error());
    const auto done = query(DiscardDraft{*session, *session ? std::string() : principal, draft});
    if (!done) return Error(done.error());
    return {};
}

std::optional<Secret> FramedService::secret_of(const SessionId& session) {
    MutexLock lock(mutex_);
    const auto known = known_sessions_.find(session);
    if (known == known_sessions_.end()) return std::nullopt;
    return known->second.secret;
}

std::vector<RemoteService::ExpectedRelease> FramedService::expect_release(const LockProof& proof) {
    std::vector<ExpectedRelease> expected;
    MutexLock lock(mutex_);
    const auto known = known_sessions_.find(proof.session);
    if (known == known_sessions_.end()) return expected;
    for (auto& [id, held] : known->second.grants) {
        if (proof.token && held.grant.token != *proof.token) continue;
        if (std::exchange(held.releasing, true)) continue;
        expected.push_back({id, held.grant.count > 0});
    }
    return expected;
}

void FramedService::end_expectation(const SessionId& session,
                                    const std::vector<ExpectedRelease>& expected) {
    MutexLock lock(mutex_);
    const auto known = known_sessions_.find(session);
    if (known == known_sessions_.end()) return;
    for (const ExpectedRelease& each : expected) {
        const auto held = known->second.grants.find(each.grant);
        if (held != known->second.grants.end()) held->second.releasing = false;
    }
}

void FramedService::need_daemon(Steady::time_point until) {
    MutexLock lock(mutex_);
    outage_.needed_until = std::max(outage_.needed_until, until);
    if (connected_) return;
    outage_.next_attempt = Steady::now();
    wake();
}

void FramedService::forget_grant(const SessionId& session, GrantId grant) {
    MutexLock lock(mutex_);
    const auto known = known_sessions_.find(session);
    if (known != known_sessions_.end()) known->second.grants.erase(grant);
}

}  // namespace rocklock
