// Finds the grant that permits a write to a bound item, and the holders that forbid a plain read.
#include <algorithm>

#include "lock/table/core.hpp"

namespace rocklock {

namespace {

using lock_model::Hold;

NoFence ended_so(const Ending& ending) { return {NoFence::Why::ended, ending, {}}; }

// A permit is never sufficient, because other sessions may hold permits of the same resource.
bool writes(const Hold& hold) { return hold.permits() == 0 && covers(hold.mode, Mode::write); }

bool covers_resource(const lock_model::Grant& grant, std::string_view resource) {
    for (const Hold& hold : grant.holds()) {
        if (!writes(hold)) continue;
        const auto name = hold.resource()->name();
        if (resource.empty() || name == resource) return true;
        if (hold.subtree && lies_below(resource, name)) return true;
    }
    return false;
}

// Returns whether a conversion to `read` would succeed now.
bool downgrades(const lock_model::Session& session, const lock_model::Grant& grant) {
    const auto holds = grant.holds();
    return std::none_of(holds.begin(), holds.end(),
                        [](const Hold& hold) { return hold.permits() > 0; }) &&
           std::none_of(session.waits.begin(), session.waits.end(),
                        [&](const lock_model::Wait* wait) { return wait->converts == &grant; });
}

}  // namespace

std::variant<Fence, NoFence> LockTable::fence(const FenceRequest& request, Instant now) {
    const Core::AsOf moment(*core_, now);
    lock_model::Session* const session = core_->sessions.find(request.session);
    lock_model::Grant* grant = nullptr;
    if (request.token) {
        auto believed = core_->believed_grant(request, session);
        if (const auto* none = std::get_if<NoFence>(&believed)) return *none;
        grant = std::get<lock_model::Grant*>(believed);
    } else {
        if (session == nullptr || session->unborn) return NoFence{NoFence::Why::unknown, {}, {}};
        if (!session->live(now.boot)) {
            return ended_so(
                session->ended
                    ? *session->ended
                    : Ending{Outcome::expired, {}, {}, core_->wall_of(session->deadline)});
        }
        grant = core_->writing_grant(*session, request.resource);
        if (grant == nullptr) return NoFence{};
    }
    grant->confirmed = true;
    if (!lock_model::live(*grant, now.boot)) {
        NoFence late = ended_so(core_->ending_of(*grant));
        if (covers_resource(*grant, request.resource)) {
            late.late = {std::string(grant->session->principal), grant->session->uid};
        }
        return late;
    }
    if (!covers_resource(*grant, request.resource)) return NoFence{};
    session->active = now.boot;
    return Fence{grant->id(), grant->version(), std::min(session->deadline, grant->cap()),
                 std::string(session->principal), downgrades(*session, *grant)};
}

std::variant<lock_model::Grant*, NoFence> LockTable::Core::believed_grant(
    const FenceRequest& request, const Session* session) {
    const std::uint64_t token = number(*request.token);
    if (Grant* const born = grants.find(token)) {
        Grant& grant = *born;
        if (grant.session != session) return NoFence{NoFence::Why::foreign, {}, {}};
        if (grant.token() == *request.token) return &grant;
        return ended_so({Outcome::converted, grant.session->principal, {}, now.wall});
    }
    // The token of a grant that was upgraded differs from its id.
    if (session == nullptr) return NoFence{NoFence::Why::unknown, {}, {}};
    for (Grant* grant = session->first; grant != nullptr; grant = grant->next) {
        if (grant->token() == *request.token) return grant;
    }
    return NoFence{NoFence::Why::unknown, {}, {}};
}

// Returns a live grant of the session that permits it to write the resource. Prefers the one
// closest to the resource. Returns null if there is none.
lock_model::Grant* LockTable::Core::writing_grant(const Session& session,
                                                  std::string_view name) const {
    std::optional<std::string_view> path = name;
    for (bool above = false; path; above = true, path = parent_path(*path)) {
        const Resource* at = find(*path);
        if (at == nullptr) continue;
        for (Hold* hold = at->newest_hold(); hold != nullptr; hold = hold->next()) {
            if (hold->grant()->session != &session || !lock_model::live(*hold, now.boot)) continue;
            if (writes(*hold) && (hold->subtree || !above)) return hold->grant();
        }
    }
    return nullptr;
}

std::vector<Holder> LockTable::holders_over(std::string_view name, Mode mode,
                                            const std::optional<SessionId>& but,
                                            Instant now) const {
    const Core::AsOf moment(*core_, now);
    std::vector<Holder> holders;
    std::optional<std::string_view> path = name;
    for (bool above = false; path; above = true, path = parent_path(*path)) {
        const lock_model::Resource* at = core_->find(*path);
        if (at == nullptr) continue;
        for (const Hold* hold = at->newest_hold(); hold != nullptr; hold = hold->next()) {
            if (hold->permits() > 0 || !covers(hold->mode, mode) || (above && !hold->subtree))
                continue;
            if (!lock_model::live(*hold, now.boot) || hold->grant()->session->id == but) continue;
            holders.push_back(core_->show_holder(*hold));
        }
    }
    return holders;
}

Policy LockTable::policy_of(std::string_view resource) const {
    return core_->classes.of(resource).policy;
}

bool LockTable::keeps_drafts(std::string_view resource) const {
    return core_->classes.of(resource).drafts;
}

const ExclusiveHolds& LockTable::exclusive_holds() const { return core_->hold_marks.exclusive; }

}  // namespace rocklock
