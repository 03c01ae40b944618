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
#include "lock/model/event_record.hpp"
#include "lock/model/lock_query.hpp"

namespace rocklock {

class EventLog {
public:
    using EventRecord = lock_model::EventRecord;

    // Keeps at most `max_events` events. If 0, the log is off.
    explicit EventLog(std::size_t max_events) : max_(max_events) {}

    bool on() const { return max_ > 0; }
    // Sets the first sequence of this run. A reader that asks for events with lower sequences gets
    // EventPage::gap.
    void start(std::uint64_t first);
    // Moves events into the log, in the order of their sequences. A sequence must not be used again
    // after a crash. It must therefore be in a durable reservation of numbers, or `dependency` must
    // require a sync.
    void add(std::vector<EventRecord>& events, const manager::CommitDependency& dependency);
    // Publishes the events whose commits are as durable as required. Returns true if there were
    // any.
    bool publish(const Storage& storage);
    // Returns whether the log has events that are not yet published.
    bool unpublished() const { return !unpublished_.empty(); }

    // Returns the first events after `request.after` that match. Errors: invalid_argument.
    Result<EventPage> page(const WatchRequest& request) const;

    // Returns an error if no events are kept.
    std::optional<Error> check_on() const;
    // Continues a search over the events that had been published when the search began, for about a
    // millisecond. Returns nullopt until the search is complete.
    std::optional<InRange<LockEvent>> search(EventSearch& search) const;
    // Returns the event if it is kept and published.
    std::optional<LockEvent> find(std::uint64_t sequence) const;

    std::uint64_t kept() const { return events_.size(); }
    std::uint64_t dropped() const { return dropped_; }

private:
    // Returns the first event after this sequence.
    std::deque<EventRecord>::const_iterator first_after(std::uint64_t sequence) const;
    static LockEvent show(const EventRecord& record);

    // The commits on which the unpublished events with sequences up to `last` depend.
    struct Unpublished {
        manager::CommitDependency dependency;
        std::uint64_t last = 0;
    };

    std::size_t max_;
    std::deque<EventRecord> events_;
    std::deque<Unpublished> unpublished_;
    // Events up to `forgotten_` are dropped; events up to `published_` can be read.
    std::uint64_t forgotten_ = 0;
    std::uint64_t published_ = 0;
    std::uint64_t dropped_ = 0;
};

}  // namespace rocklock
