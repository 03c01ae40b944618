// Queries that return a view of one object or a list of all objects of a kind.
#include <algorithm>
#include <utility>

#include "lock/model/row_bytes.hpp"
#include "lock/table/core.hpp"

namespace rocklock {

using lock_model::Hold;
using lock_model::Resource;
using lock_model::Session;
using lock_model::Wait;
using lock_model::WaitLock;

LockView LockTable::show(std::string_view resource, Instant now) const {
    const Core::AsOf moment(*core_, now);
    LockView view;
    view.resource = resource;
    view.lock_class = core_->classes.of(resource);
    const GrantId last = last_grant(resource);
    view.last_token = Token{number(last)};
    const Resource* at = core_->find(resource);
    if (at == nullptr) return view;
    std::size_t bytes = 0;
    for (const Hold* hold = at->newest_hold(); hold != nullptr; hold = hold->next()) {
        if (!lock_model::live(*hold, now.boot)) continue;
        Holder& holder = view.holders.emplace_back(core_->show_holder(*hold));
        bytes += lock_model::row_bytes(holder);
        if (bytes <= max_page_bytes) continue;
        holder.note = {};
        holder.metadata = {};
    }
    // Oldest first.
    std::reverse(view.holders.begin(), view.holders.end());
    for (const Holder& holder : view.holders)
        view.last_token = std::max(view.last_token, holder.token);
    std::uint32_t position = 0;
    for (const WaitLock* lock = at->queue(); lock != nullptr; lock = lock->next) {
        if (lock->previous != nullptr && lock->previous->wait == lock->wait) continue;
        view.waiters.push_back(core_->name_waiter(*lock));
        view.waiters.back().position = ++position;
    }
    if (at->extra() && at->extra()->closed_until > now.boot) {
        view.closed_for =
            std::chrono::ceil<std::chrono::milliseconds>(at->extra()->closed_until - now.boot);
    }
    return view;
}

GrantId LockTable::last_grant(std::string_view resource) const {
    if (const Resource* at = core_->find(resource)) return at->last().grant();
    const lock_model::LastGrant* const last = core_->last_grants.find(fnv1a(resource));
    return last == nullptr ? GrantId{} : last->grant();
}

SessionView LockTable::Core::show_session(const Session& session) const {
    SessionView view;
    view.id = session.id;
    view.principal = session.principal;
    view.bound = session.binding.bound;
    view.processes = session.binding.processes;
    if (session.binding.host != nullptr) view.host = *session.binding.host;
    view.uid = session.uid;
    view.pid = session.binding.pid;
    view.opened_at = session.opening.at;
    view.lease = session.lease;
    view.remaining = lock_model::time_until(session.deadline, now.boot);
    view.deadline = wall_of(session.deadline);
    view.note = session.note;
    view.metadata = session.metadata;
    view.grants = session.grants;
    return view;
}

std::vector<Grant> LockTable::grants(const SessionId& id, Instant now) const {
    const Core::AsOf moment(*core_, now);
    std::vector<Grant> result;
    const lock_model::Session* const session = core_->sessions.find(id);
    if (session == nullptr) return result;
    for (const lock_model::Grant* grant = session->first; grant != nullptr; grant = grant->next) {
        if (lock_model::live(*grant, now.boot)) result.push_back(core_->view(*grant));
    }
    return result;
}

Result<SessionInfo> LockTable::session(const SessionId& id, Instant now) const {
    const Core::AsOf moment(*core_, now);
    const lock_model::Session* const found = core_->sessions.find(id);
    if (found == nullptr || found->unborn) {
        return Error(ErrorCode::session_not_found,
                     "there is no such session, or it ended long ago: open a new one");
    }
    const Session& session = *found;
    if (session.live(now.boot)) {
        SessionInfo known = core_->info(session);
        known.principal = session.principal;
        known.uid = session.uid;
        return known;
    }
    return core_->session_error(
        session.ended ? *session.ended
                      : Ending{Outcome::expired, {}, {}, core_->wall_of(session.deadline)});
}

bool LockTable::holds(const SessionId& id, std::string_view resource, Mode mode,
                      Instant now) const {
    const Core::AsOf moment(*core_, now);
    const lock_model::Session* const found = core_->sessions.find(id);
    if (found == nullptr) return false;
    const Session& session = *found;
    const auto covering = [&](const Resource& at, bool above) {
        for (const Hold* hold = at.newest_hold(); hold != nullptr; hold = hold->next()) {
            if (hold->grant()->session != &session || !lock_model::live(*hold, now.boot)) continue;
            // A permit is never sufficient, because other sessions may hold permits of the same
            // resource.
            if (hold->permits() > 0) continue;
            if (covers(hold->mode, mode) && (hold->subtree || !above)) return true;
        }
        return false;
    };
    std::optional<std::string_view> path = resource;
    for (bool above = false; path; above = true, path = parent_path(*path)) {
        const Resource* at = core_->find(*path);
        if (at != nullptr && covering(*at, above)) return true;
    }
    return false;
}

std::vector<LockClass> LockTable::classes() const { return core_->classes.all(); }

std::vector<WaitEdge> LockTable::wait_graph(Instant now, std::size_t limit) const {
    const Core::AsOf moment(*core_, now);
    std::vector<WaitEdge> edges;
    std::size_t bytes = 0;
    // The oldest waits come first, because only `limit` edges are returned.
    for (const Wait* wait = core_->waits.oldest(); wait != nullptr; wait = wait->younger) {
        for (const Core::Edge& edge : core_->blockers(*wait, nullptr, nullptr)) {
            if (edges.size() == limit || bytes >= max_page_bytes) return edges;
            edges.push_back({std::string(edge.at->name()), wait->session->id,
                             wait->session->principal, edge.to->id, edge.to->principal,
                             edge.holds});
            bytes += lock_model::row_bytes(edges.back());
        }
    }
    return edges;
}

const std::vector<Deadlock>& LockTable::recent_deadlocks() const {
    return core_->contention.deadlocks;
}

LockStatistics LockTable::statistics(Instant now) const {
    LockStatistics result = core_->counts;
    result.classes_draining = core_->classes.draining();
    result.sessions = core_->sessions.size();
    result.held = core_->grants.size();
    result.waiting = core_->waits.size();
    result.users = core_->usage.all();
    if (const lock_model::Grant* const oldest = core_->grants.oldest()) {
        result.oldest_hold =
            std::chrono::duration_cast<std::chrono::milliseconds>(now.boot - oldest->acquired());
    }
    return result;
}

// The grants of a session are in the order of their age. A heap with the oldest live grant of each
// session therefore yields the oldest grants of all, and the cost depends on the number of
// sessions, not on the number of grants.
Outliers LockTable::outliers(std::uint32_t limit, Instant now) const {
    const Core::AsOf moment(*core_, now);
    const auto live_from = [&](const lock_model::Grant* grant) {
        while (grant != nullptr && !lock_model::live(*grant, now.boot)) grant = grant->next;
        return grant;
    };
    const auto older = [](const lock_model::Grant* a, const lock_model::Grant* b) {
        return a->acquired() != b->acquired() ? a->acquired() < b->acquired() : a->id() < b->id();
    };
    const auto younger = [&](const lock_model::Grant* a, const lock_model::Grant* b) {
        return older(b, a);
    };
    std::vector<const lock_model::Grant*> firsts;
    for (const auto& [id, session] : core_->sessions) {
        const lock_model::Grant* first = live_from(session->first);
        if (first == nullptr) continue;
        if (firsts.size() == limit) {
            if (!older(first, firsts.front())) continue;
            std::pop_heap(firsts.begin(), firsts.end(), older);
            firsts.pop_back();
        }
        firsts.push_back(first);
        std::push_heap(firsts.begin(), firsts.end(), older);
    }
    std::make_heap(firsts.begin(), firsts.end(), younger);
    Outliers result;
    while (!firsts.empty() && result.longest_held.size() < limit) {
        std::pop_heap(firsts.begin(), firsts.end(), younger);
        const lock_model::Grant* oldest = firsts.back();
        firsts.pop_back();
        for (const Hold& hold : oldest->holds()) {
            if (result.longest_held.size() == limit) break;
            result.longest_held.push_back(core_->show_holder(hold));
        }
        if (const lock_model::Grant* next = live_from(oldest->next)) {
            firsts.push_back(next);
            std::push_heap(firsts.begin(), firsts.end(), younger);
        }
    }
    result.hottest = core_->contention.names.top(limit);
    return result;
}

std::vector<HistoryRow> LockTable::present(std::string_view resource, Instant now) const {
    const Core::AsOf moment(*core_, now);
    std::vector<HistoryRow> rows;
    const Resource* at = core_->find(resource);
    if (at == nullptr) return rows;
    for (const Hold* hold = at->newest_hold(); hold != nullptr; hold = hold->next()) {
        HistoryRow row{core_->show_holder(*hold), std::nullopt};
        if (!lock_model::live(*hold, now.boot)) {
            row.ended = core_->ending_of(*hold->grant());
            row.holder.remaining = {};
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace rocklock
