// Gives back grants whose responses were lost, unless their clients have shown that they know them.
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "lock/table/core.hpp"

namespace rocklock {
namespace {

// Stored with the end of a session that was opened for a grant whose response was lost.
constexpr std::string_view response_lost = "its connection ended before the response";

}  // namespace

// Releases a grant whose response was lost, unless the client knows the grant nevertheless.
void LockTable::Core::give_back(const UndeliveredGrant& undelivered) {
    Grant* const found = grants.find(undelivered.grant);
    if (found == nullptr) return;
    Grant& grant = *found;
    if (grant.session->id != undelivered.session || !lock_model::live(grant, now.boot)) return;
    if (undelivered.own_session) {
        if (grant.confirmed) return;
        return end_session(*grant.session,
                           {Outcome::released, {}, std::string(response_lost), now.wall});
    }
    // An earlier response has delivered the grant; the lost one only reported a greater count.
    if (grant.count() > 0) {
        --grant.extra()->count;
        return write_grant(grant);
    }
    if (!grant.confirmed) end_grant(grant, {Outcome::released, {}, {}, now.wall});
}

void LockTable::note_proof(const SessionId& id, const std::optional<Token>& token) {
    lock_model::Session* const session = core_->sessions.find(id);
    if (session == nullptr) return;
    if (session->only_grant.set) {
        lock_model::Grant* const own = core_->grants.find(session->only_grant.id);
        if (own != nullptr) own->confirmed = true;
    }
    if (!token) return;
    const auto named = core_->believed_grant({id, token, {}}, session);
    if (auto* const* grant = std::get_if<lock_model::Grant*>(&named)) (*grant)->confirmed = true;
}

}  // namespace rocklock
