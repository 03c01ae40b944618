#include "lock/manager/event_log.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "lock/model/row_bytes.hpp"

namespace rocklock {

namespace {

constexpr std::size_t events_a_step = 2048;

}  // namespace

// 0 is the position of a watcher that has received no events, so it must not be a valid position in
// the log.
void EventLog::start(std::uint64_t first) {
    forgotten_ = std::max<std::uint64_t>(first, 2) - 1;
    published_ = forgotten_;
}

LockEvent EventLog::show(const EventRecord& record) {
    std::string_view left = record.texts;
    const auto cut = [&left](std::size_t size) {
        const std::string_view text = left.substr(0, size);
        left.remove_prefix(size);
        return std::string(text);
    };
    LockEvent event;
    event.sequence = record.sequence;
    event.type = record.type;
    event.grant = record.grant;
    event.token = record.token;
    event.at = record.at;
    event.mode = record.mode;
    event.permits = record.permits;
    event.resource = cut(record.resource);
    event.principal = cut(record.principal);
    event.by = cut(record.by);
    event.reason = left;
    return event;
}

void EventLog::add(std::vector<EventRecord>& events, const manager::CommitDependency& dependency) {
    if (events.empty()) return;
    for (EventRecord& event : events) {
        ROCKLOCK_ASSERT(event.sequence > forgotten_);
        ROCKLOCK_ASSERT(events_.empty() || event.sequence > events_.back().sequence);
        if (events_.size() == max_) {
            forgotten_ = events_.front().sequence;
            events_.pop_front();
            ++dropped_;
        }
        events_.push_back(std::move(event));
        ROCKLOCK_ASSERT(events_.size() <= max_);
    }
    unpublished_.push_back({dependency, events.back().sequence});
    while (unpublished_.front().last <= forgotten_) unpublished_.pop_front();
}

bool EventLog::publish(const Storage& storage) {
    const std::uint64_t before = published_;
    // In order: the end of a grant is never published before its beginning.
    while (!unpublished_.empty() && unpublished_.front().dependency.done(storage) &&
           !storage.failure()) {
        ROCKLOCK_ASSERT(unpublished_.front().last > published_);
        published_ = unpublished_.front().last;
        unpublished_.pop_front();
    }
    return published_ > before;
}

Result<EventPage> EventLog::page(const WatchRequest& request) const {
    if (auto error = check_on()) return *std::move(error);
    if (request.limit == 0 || request.limit > 10'000) {
        return Error(ErrorCode::invalid_argument, "limit is out of range: give 1 to 10,000");
    }
    EventPage page;
    std::size_t bytes = 0;
    // An event that was dropped before it was published counts as missed only after it would have
    // been published.
    const std::uint64_t oldest = std::min(forgotten_, published_);
    if (request.after == from_now) {
        page.after = published_;
        return page;
    }
    // A position above `published_` comes from another run or another store.
    page.gap = request.after != 0 && (request.after < oldest || request.after > published_);
    page.after = page.gap ? oldest : std::max(request.after, oldest);
    for (auto next = first_after(page.after); next != events_.end() && next->sequence <= published_;
         ++next) {
        if (page.events.size() == request.limit || bytes >= max_page_bytes) return page;
        page.after = next->sequence;
        if (!next->name().starts_with(request.prefix)) continue;
        page.events.push_back(show(*next));
        bytes += lock_model::row_bytes(page.events.back());
    }
    return page;
}

std::deque<EventLog::EventRecord>::const_iterator EventLog::first_after(
    std::uint64_t sequence) const {
    return std::upper_bound(
        events_.begin(), events_.end(), sequence,
        [](std::uint64_t after, const EventRecord& event) { return after < event.sequence; });
}

std::optional<Error> EventLog::check_on() const {
    if (on()) return std::nullopt;
    return Error(ErrorCode::invalid_argument,
                 "this lock manager keeps no events: open the store with events_kept");
}

std::optional<InRange<LockEvent>> EventLog::search(EventSearch& search) const {
    if (!search.last_) search.last_ = published_;
    auto next = first_after(search.after_);
    for (std::size_t seen = 0; next != events_.end() && next->sequence <= *search.last_; ++next) {
        if (++seen > events_a_step) return std::nullopt;
        search.after_ = next->sequence;
        if (search.resource_ && next->name() != *search.resource_) continue;
        search.first_.offer(search.key_(next->name(), next->sequence),
                            {std::string(next->name()), next->sequence});
    }
    const auto positions = search.first_.take();
    InRange<LockEvent> found;
    for (const LockPosition& position : positions) {
        if (auto event = find(position.grant)) found.things.push_back(*std::move(event));
    }
    if (!positions.empty() && positions.size() == search.max_) found.more = positions.back();
    return found;
}

std::optional<LockEvent> EventLog::find(std::uint64_t sequence) const {
    if (sequence == 0 || sequence > published_) return std::nullopt;
    const auto at = first_after(sequence - 1);
    if (at == events_.end() || at->sequence != sequence) return std::nullopt;
    return show(*at);
}

}  // namespace rocklock
