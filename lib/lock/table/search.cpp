// Searches over the whole table, in steps of limited duration.
//
// A search first collects the positions of matching rows, one part of the table per iteration, and
// sorts them. It then makes a row for each position that still exists.
#include <algorithm>
#include <string_view>
#include <utility>

#include "lock/model/lock_search.hpp"
#include "lock/model/row_bytes.hpp"
#include "lock/table/core.hpp"

namespace rocklock {

using lock_model::Hold;
using lock_model::Resource;
using lock_model::Session;

namespace {

// A step either examines locks or makes rows. It ends when it has examined or made this number of
// them, but examines each part of the table as a whole. This takes one or two milliseconds.
constexpr std::size_t locks_a_step = 2048;
// The same for sessions. The number is smaller because making the row of a session takes longer.
constexpr std::size_t sessions_a_step = 512;

std::optional<LockPosition> parse_lock_position(std::string_view next) {
    const std::size_t colon = next.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon > 19) return std::nullopt;
    LockPosition position;
    for (const char digit : next.substr(0, colon)) {
        if (digit < '0' || digit > '9') return std::nullopt;
        position.grant = position.grant * 10 + static_cast<std::uint64_t>(digit - '0');
    }
    position.resource = next.substr(colon + 1);
    return position;
}

std::string text_of(const LockPosition& position) {
    return std::to_string(position.grant) + ":" + position.resource;
}

bool asked_for(const ListLocks& request, const Resource& at, const ClassTable& classes) {
    if (!at.held() || !at.name().starts_with(request.prefix)) return false;
    if (request.contended && at.queue() == nullptr) return false;
    return !request.class_pattern || classes.of(at.name()).pattern == *request.class_pattern;
}

bool asked_for(const ListLocks& request, const Hold& hold) {
    const Session& session = *hold.grant()->session;
    if (!request.principal.empty() && session.principal != request.principal) return false;
    return !request.session || session.id == *request.session;
}

}  // namespace

// ---- Locks ----

Result<LockSearch> LockSearch::begin(const ListLocks& request) {
    if (request.limit == 0 || request.limit > 10'000) {
        return Error(ErrorCode::invalid_argument, "limit is out of range: give 1 to 10,000");
    }
    std::optional<LockPosition> after;
    if (!request.next.empty()) {
        after = parse_lock_position(request.next);
        if (!after)
            return Error(ErrorCode::invalid_argument,
                         "next is not the value that an earlier page returned");
    }
    return LockSearch(request, std::move(after));
}

void LockSearch::offer(std::string_view resource, std::uint64_t grant) {
    const auto is_after = [&](const LockPosition& other) {
        return std::pair(std::string_view(other.resource), other.grant) <
               std::pair(resource, grant);
    };
    if (after_ && !is_after(*after_)) return;
    if (found_.size() > request_.limit) {
        if (is_after(found_.front())) return;
        std::pop_heap(found_.begin(), found_.end());
        found_.pop_back();
    }
    found_.push_back({std::string(resource), grant});
    std::push_heap(found_.begin(), found_.end());
}

void LockSearch::sort() {
    sorted_ = true;
    std::sort_heap(found_.begin(), found_.end());
    if (found_.size() <= request_.limit) return;
    found_.pop_back();
    page_.next = text_of(found_.back());
}

void LockSearch::show(Holder holder) {
    bytes_ += lock_model::row_bytes(holder);
    page_.locks.push_back(std::move(holder));
    if (bytes_ < max_page_bytes || shown_ + 1 == found_.size()) return;
    found_.resize(shown_ + 1);
    page_.next = text_of(found_.back());
}

// Searches one part of the table. Returns the number of locks that were examined, at least 1 for
// each resource.
std::size_t LockTable::search_part(std::size_t part, LockSearch& search) const {
    const ListLocks& request = search.request_;
    std::size_t seen = 0;
    core_->resources.all_of_part(part, [&](const lock_model::Resource& resource) {
        seen += std::max(1U, resource.holds());
        if (!asked_for(request, resource, core_->classes)) return true;
        for (const Hold* hold = resource.newest_hold(); hold != nullptr; hold = hold->next()) {
            if (!lock_model::live(*hold, core_->now.boot) || !asked_for(request, *hold)) continue;
            search.offer(resource.name(), number(hold->grant()->id()));
        }
        return true;
    });
    return seen;
}

// Adds a row for a position if its lock is still held.
void LockTable::show_found(const LockPosition& position, LockSearch& search) const {
    auto holder = holder_at(position);
    if (!holder) return;
    const std::string& asker = search.request_.asker;
    holder->you = !asker.empty() && holder->principal == asker;
    search.show(*std::move(holder));
}

std::optional<LockPage> LockTable::search(LockSearch& search, Instant now) const {
    const Core::AsOf moment(*core_, now);
    for (std::size_t seen = 0; search.part_ < lock_model::ResourceIndex::parts; ++search.part_) {
        if (seen > locks_a_step) return std::nullopt;
        seen += search_part(search.part_, search);
    }
    if (!search.sorted_) search.sort();
    for (std::size_t rows = 0; search.shown_ < search.found_.size(); ++search.shown_, ++rows) {
        if (rows > locks_a_step) return std::nullopt;
        show_found(search.found_[search.shown_], search);
    }
    return std::move(search.page_);
}

// ---- Sessions ----

std::optional<std::vector<SessionView>> LockTable::search(SessionSearch& search,
                                                          Instant now) const {
    const Core::AsOf moment(*core_, now);
    if (!search.found_) {
        auto& found = search.found_.emplace();
        for (const auto& [id, session] : core_->sessions) {
            if (session->unborn || !session->live(now.boot)) continue;
            if (!search.principal_.empty() && session->principal != search.principal_) continue;
            found.push_back({session->order, id});
        }
        std::sort(found.begin(), found.end(),
                  [](const auto& a, const auto& b) { return a.order < b.order; });
    }
    const auto& found = *search.found_;
    for (std::size_t rows = 0; search.shown_ < found.size(); ++search.shown_, ++rows) {
        if (rows > sessions_a_step) return std::nullopt;
        const auto* const session = core_->sessions.find(found[search.shown_].id);
        if (session == nullptr || !session->live(now.boot)) continue;
        search.views_.push_back(core_->show_session(*session));
    }
    return std::move(search.views_);
}

}  // namespace rocklock
