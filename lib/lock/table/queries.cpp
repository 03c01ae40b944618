// Lookups of single objects, and searches over held locks in an order that the caller defines.
#include <algorithm>
#include <utility>

#include "lock/model/lock_query.hpp"
#include "lock/table/core.hpp"

namespace rocklock {

using lock_model::Hold;
using lock_model::Resource;
using lock_model::Session;

namespace {

// As `locks_a_step` in search.cpp: one or two milliseconds.
constexpr std::size_t holders_a_step = 2048;

}  // namespace

std::optional<Holder> LockTable::holder_at(const LockPosition& position) const {
    const lock_model::Grant* const grant = core_->grants.find(position.grant);
    if (grant == nullptr || !lock_model::live(*grant, core_->now.boot)) return std::nullopt;
    for (const Hold& hold : grant->holds()) {
        if (hold.resource()->name() == position.resource) return core_->show_holder(hold);
    }
    return std::nullopt;
}

LookupResult LockTable::lookup_one(const LockPosition& position) const {
    LookupResult result;
    if (auto holder = holder_at(position)) {
        const lock_model::Grant& grant = *core_->grants.find(position.grant);
        result.until = std::min(grant.session->deadline, grant.cap());
        result.found = *std::move(holder);
    }
    return result;
}

LookupResult LockTable::lookup_one(const SessionId& id) const {
    LookupResult result;
    const Session* const found = core_->sessions.find(id);
    if (found == nullptr) return result;
    const Session& session = *found;
    if (session.unborn || !session.live(core_->now.boot)) return result;
    result.until = session.deadline;
    result.found = core_->show_session(session);
    return result;
}

std::vector<LookupResult> LockTable::lookup(const std::vector<LookupKey>& keys, Instant now) const {
    const Core::AsOf moment(*core_, now);
    std::vector<LookupResult> all;
    std::optional<std::vector<LockClass>> known;
    for (const LookupKey& key : keys) {
        if (const auto* held = std::get_if<LockPosition>(&key)) {
            all.push_back(lookup_one(*held));
        } else if (const auto* session = std::get_if<SessionId>(&key)) {
            all.push_back(lookup_one(*session));
        } else {
            const std::string& pattern = std::get<ClassKey>(key).pattern;
            if (!known) known = core_->classes.all();
            const auto found = std::find_if(known->begin(), known->end(), [&](const auto& other) {
                return other.pattern == pattern;
            });
            all.emplace_back();
            if (found != known->end()) all.back().found = *found;
        }
    }
    return all;
}

// Returns the number of holds that were examined, at least 1.
std::size_t LockTable::offer_held(const Resource& resource, HeldSearch& search) const {
    for (const Hold* hold = resource.newest_hold(); hold != nullptr; hold = hold->next()) {
        if (!lock_model::live(*hold, core_->now.boot)) continue;
        const std::uint64_t grant = number(hold->grant()->id());
        search.first_.offer(search.key_(resource.name(), grant),
                            {std::string(resource.name()), grant});
    }
    return std::max(1U, resource.holds());
}

std::optional<InRange<Holder>> LockTable::search(HeldSearch& search, Instant now) const {
    const Core::AsOf moment(*core_, now);
    if (search.resource_) {
        const Resource* only = core_->find(*search.resource_);
        if (only != nullptr && search.part_ == 0) offer_held(*only, search);
        search.part_ = lock_model::ResourceIndex::parts;
    }
    for (std::size_t seen = 0; search.part_ < lock_model::ResourceIndex::parts; ++search.part_) {
        if (seen > holders_a_step) return std::nullopt;
        core_->resources.all_of_part(search.part_, [&](const Resource& resource) {
            seen += offer_held(resource, search);
            return true;
        });
    }
    if (!search.positions_) {
        search.positions_ = search.first_.take();
        const auto& positions = *search.positions_;
        if (!positions.empty() && positions.size() == search.max_)
            search.found_.more = positions.back();
    }
    for (std::size_t rows = 0; search.shown_ < search.positions_->size(); ++search.shown_, ++rows) {
        if (rows > holders_a_step) return std::nullopt;
        auto holder = holder_at((*search.positions_)[search.shown_]);
        if (holder) search.found_.things.push_back(*std::move(holder));
    }
    return std::move(search.found_);
}

}  // namespace rocklock
