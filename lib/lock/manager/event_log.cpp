#include "lock/manager/event_log.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "lock/model/row_bytes.hpp"

namespace rocklock {

using lock_model::EncodedEvents;
using lock_model::EventView;

namespace {

constexpr std::size_t events_a_step = 2048;
// The size of a block. A larger event gets a block of its own, which is as large as the event.
constexpr std::size_t block_bytes = 16'384;

LockEvent show(const EventView& view) {
    const auto& [facts, texts, size] = view;
    LockEvent event;
    event.sequence = facts.sequence;
    event.type = facts.type;
    event.grant = facts.grant;
    event.token = facts.token;
    event.at = facts.at;
    event.mode = facts.mode;
    event.permits = facts.permits;
    event.resource = texts.resource;
    event.principal = texts.principal;
    event.by = texts.by;
    event.reason = texts.reason;
    return event;
}

}  // namespace

// 0 is the position of a watcher that has received no events, so it must not be a valid position in
// the log.
void EventLog::start(std::uint64_t first) {
    forgotten_ = std::max<std::uint64_t>(first, 2) - 1;
    published_ = forgotten_;
}

// Reads the events in their order. The log must not change while a reader is in use.
class EventLog::Reader {
public:
    Reader(const std::deque<Block>& blocks, std::size_t block, std::size_t position)
        : blocks_(blocks), block_(block), position_(position) {}

    // Returns the next event, or nullopt if there is none.
    std::optional<EventView> next() {
        if (block_ == blocks_.size()) return std::nullopt;
        const std::string_view events = blocks_[block_].events;
        const EventView event = EncodedEvents::front(events.substr(position_));
        position_ += event.size;
        if (position_ == events.size()) {
            ++block_;
            position_ = 0;
        }
        return event;
    }
    // Skips the events up to this sequence.
    void skip_through(std::uint64_t sequence) {
        while (true) {
            const Reader before = *this;
            const auto event = next();
            if (!event) return;
            if (event->facts.sequence <= sequence) continue;
            block_ = before.block_;
            position_ = before.position_;
            return;
        }
    }

private:
    const std::deque<Block>& blocks_;
    std::size_t block_;
    std::size_t position_;
};

void EventLog::add(const EncodedEvents& events, const manager::CommitDependency& dependency) {
    if (events.empty()) return;
    for (std::string_view left = events.bytes(); !left.empty();) {
        const EventView event = EncodedEvents::front(left);
        ROCKLOCK_ASSERT(event.facts.sequence > forgotten_);
        ROCKLOCK_ASSERT(blocks_.empty() || event.facts.sequence > blocks_.back().last);
        if (kept_ == max_) drop_oldest();
        append(event, left.substr(0, event.size));
        ROCKLOCK_ASSERT(kept_ <= max_);
        left.remove_prefix(event.size);
    }
    unpublished_.push_back({dependency, blocks_.back().last});
    while (unpublished_.front().last <= forgotten_) unpublished_.pop_front();
}

void EventLog::append(const EventView& event, std::string_view bytes) {
    if (blocks_.empty() || blocks_.back().events.size() + bytes.size() > block_bytes) {
        blocks_.emplace_back().events.swap(spare_);
        blocks_.back().events.reserve(block_bytes);
    }
    blocks_.back().events.append(bytes);
    blocks_.back().last = event.facts.sequence;
    ++kept_;
}

void EventLog::drop_oldest() {
    Block& oldest = blocks_.front();
    const EventView event = EncodedEvents::front(std::string_view(oldest.events).substr(begin_));
    forgotten_ = event.facts.sequence;
    ++dropped_;
    --kept_;
    begin_ += event.size;
    if (begin_ < oldest.events.size()) return;
    begin_ = 0;
    spare_.swap(oldest.events);
    spare_.clear();
    blocks_.pop_front();
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
    Reader events = read_after(page.after);
    for (auto next = events.next(); next && next->facts.sequence <= published_;
         next = events.next()) {
        if (page.events.size() == request.limit || bytes >= max_page_bytes) return page;
        page.after = next->facts.sequence;
        if (!next->texts.resource.starts_with(request.prefix)) continue;
        page.events.push_back(show(*next));
        bytes += lock_model::row_bytes(page.events.back());
    }
    return page;
}

EventLog::Reader EventLog::read_after(std::uint64_t sequence) const {
    const auto block =
        std::upper_bound(blocks_.begin(), blocks_.end(), sequence,
                         [](std::uint64_t after, const Block& each) { return after < each.last; });
    const auto index = static_cast<std::size_t>(block - blocks_.begin());
    Reader reader(blocks_, index, index == 0 ? begin_ : 0);
    reader.skip_through(sequence);
    return reader;
}

std::optional<Error> EventLog::check_on() const {
    if (on()) return std::nullopt;
    return Error(ErrorCode::invalid_argument,
                 "this lock manager keeps no events: open the store with events_kept");
}

std::optional<InRange<LockEvent>> EventLog::search(EventSearch& search) const {
    if (!search.last_) search.last_ = published_;
    Reader events = read_after(search.after_);
    std::size_t seen = 0;
    for (auto next = events.next(); next && next->facts.sequence <= *search.last_;
         next = events.next()) {
        if (++seen > events_a_step) return std::nullopt;
        const auto sequence = next->facts.sequence;
        const std::string_view resource = next->texts.resource;
        search.after_ = sequence;
        if (search.resource_ && resource != *search.resource_) continue;
        search.first_.offer(search.key_(resource, sequence), {std::string(resource), sequence});
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
    const auto event = read_after(sequence - 1).next();
    if (!event || event->facts.sequence != sequence) return std::nullopt;
    return show(*event);
}

}  // namespace rocklock
