// The events that are kept, oldest first, and how far they have been told.
//
//     forgotten │ told, to be read by whoever asks │ decided, but not as durable as they must be
//               └ forgotten_                       └ published_
//
// Bounded: a new one drives out the oldest, told or not, and a reader that comes too late for it is
// told of the gap. So nobody who is slow to read holds up a decision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>
#include <rocklock/watch.hpp>

#include "lock/manager/commit_dependency.hpp"
#include "lock/model/lock_query.hpp"

namespace rocklock {

class EventLog {
public:
    // How many to keep at most; 0: none.
    explicit EventLog(std::size_t most) : max_(most) {}

    bool on() const { return max_ > 0; }
    // Begins below this sequence: what lies below it was never known here.
    void start(std::uint64_t first);
    // In order of their sequences. A crash does not give the same numbers out again: they lie
    // within what is durably reserved, or `dependency` is durable.
    void add(const std::vector<LockEvent>& events, const manager::CommitDependency& dependency);
    // Tells those that may be told by now. Whether there were any.
    bool publish(const Storage& storage);
    // What is still not told.
    bool unpublished() const { return !unpublished_.empty(); }

    // The first events after `request.after` that match. Errors: invalid_argument.
    Result<EventPage> page(const WatchRequest& request) const;

    // The fault where none are kept.
    std::optional<Error> check_on() const;
    // Goes on with a search through what was told as it began, for a millisecond or so; the answer
    // once it is complete.
    std::optional<InRange<LockEvent>> search(EventSearch& search) const;
    // If it is kept and told.
    std::optional<LockEvent> find(std::uint64_t sequence) const;

    std::uint64_t kept() const { return events_.size(); }
    std::uint64_t dropped() const { return dropped_; }

private:
    // An event as it is kept: its texts in one piece.
    struct Kept {
        std::uint64_t sequence = 0;
        GrantId grant{};
        Token token{};
        WallTime at;
        std::string texts;
        std::uint16_t resource = 0;
        std::uint16_t principal = 0;
        std::uint16_t by = 0;
        EventType type = EventType::granted;
        Mode mode = Mode::write;
        std::uint32_t permits = 0;

        std::string_view name() const { return std::string_view(texts).substr(0, resource); }
    };
    static Kept keep(const LockEvent& event);
    // The first behind this sequence.
    std::deque<Kept>::const_iterator first_after(std::uint64_t sequence) const;
    static LockEvent show(const Kept& kept);

    // All up to `last` rest on this.
    struct Unpublished {
        manager::CommitDependency dependency;
        std::uint64_t last = 0;
    };

    std::size_t max_;
    std::deque<Kept> events_;
    std::deque<Unpublished> unpublished_;
    // Sequences: up to the first nothing is kept, up to the second all may be told.
    std::uint64_t forgotten_ = 0;
    std::uint64_t published_ = 0;
    std::uint64_t dropped_ = 0;
};

}  // namespace rocklock
