// A bounded log of events, oldest first. Events are published in their order, each after its commit
// is as durable as required.
//
//     dropped │ published: can be read │ decided, but not durable enough
//             └ forgotten_             └ published_
//
// If the log is full, a new event replaces the oldest event, even if the oldest event is not yet
// published. A reader that has not read the replaced event gets EventPage::gap. A slow reader
// therefore never delays a decision.
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
#include "lock/model/encoded_events.hpp"
#include "lock/model/lock_query.hpp"

namespace rocklock {

class EventLog {
public:
    // Keeps at most `max_events` events. If 0, the log is off.
    explicit EventLog(std::size_t max_events) : max_(max_events) {}

    bool on() const { return max_ > 0; }
    // Sets the first sequence of this run. A reader that asks for events with lower sequences gets
    // EventPage::gap.
    void start(std::uint64_t first);
    // Adds events, in the order of their sequences. A sequence must not be used again after a
    // crash. It must therefore be in a durable reservation of numbers, or `dependency` must require
    // a sync.
    void add(const lock_model::EncodedEvents& events, const manager::CommitDependency& dependency);
    // Publishes the events whose commits are as durable as required. Returns true if there were
    // any.
    bool publish(const Storage& storage);
    // Returns the number of decisions with events that are not yet published.
    std::size_t unpublished() const { return unpublished_.size(); }

    // Returns the first events after `request.after` that match. Errors: invalid_argument.
    Result<EventPage> page(const WatchRequest& request) const;

    // Returns an error if no events are kept.
    std::optional<Error> check_on() const;
    // Continues a search over the events that had been published when the search began, for about a
    // millisecond. Returns nullopt until the search is complete.
    std::optional<InRange<LockEvent>> search(EventSearch& search) const;
    // Returns the event if it is kept and published.
    std::optional<LockEvent> find(std::uint64_t sequence) const;

    std::uint64_t kept() const { return kept_; }
    std::uint64_t dropped() const { return dropped_; }

private:
    // A part of the log. A new event is written to the end of the last block, and a block is used
    // again after its last event was dropped, so that adding an event allocates no memory.
    struct Block {
        std::string events;
        // The sequence of the last event.
        std::uint64_t last = 0;
    };
    // Reads the events in their order.
    class Reader;

    // Returns a reader of the events after this sequence.
    Reader read_after(std::uint64_t sequence) const;
    void append(const lock_model::EventView& event, std::string_view bytes);
    void drop_oldest();

    // The commits on which the unpublished events with sequences up to `last` depend.
    struct Unpublished {
        manager::CommitDependency dependency;
        std::uint64_t last = 0;
    };

    std::size_t max_;
    std::deque<Block> blocks_;
    // The position of the oldest event in the first block.
    std::size_t begin_ = 0;
    std::size_t kept_ = 0;
    // The memory of a block whose events were dropped.
    std::string spare_;
    std::deque<Unpublished> unpublished_;
    // Events up to `forgotten_` are dropped; events up to `published_` can be read.
    std::uint64_t forgotten_ = 0;
    std::uint64_t published_ = 0;
    std::uint64_t dropped_ = 0;
};

}  // namespace rocklock
