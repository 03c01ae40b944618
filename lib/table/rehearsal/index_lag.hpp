// Simulates global indexes that lag behind their tables, as in DynamoDB, for rehearsals (fault
// injection).
//
// Index entries are written together with their items as usual, but readers of an index see an
// older snapshot of the store. These snapshots are taken immediately before writes: each contains
// the state that the previous write has created. No snapshot is taken if the latest kept snapshot
// is too recent. A reader gets the latest snapshot that is at least `lag` old.
//
//     writes          w1 w2      w3                 w4
//     snapshots kept        [w2]     [w3]              [w4]   each before the next write
//     reader                                    ^ lag ─────┤  gets [w3]
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>

#include <rocklock/clock.hpp>
#include <rocklock/storage/storage.hpp>

#include "base/mutex.hpp"

namespace rocklock::table {

// Threads:  thread-safe. Two concurrent writes may become visible together.
// Lifetime: borrows storage and clock. The returned snapshots must be destroyed before the storage.
class IndexLag {
public:
    IndexLag(const Storage& storage, Clock& clock, std::chrono::milliseconds lag);

    void before_write();
    void after_write();

    // Returns a snapshot of the state that the store had at the current time minus `lag`. The state
    // may be older by up to a sixteenth of `lag`.
    std::shared_ptr<const Snapshot> moment();

private:
    struct Moment {
        // The time at which the store began to have this state.
        BootTime since;
        std::shared_ptr<const Snapshot> snapshot;
    };

    void keep_moment(BootTime now) ROCKLOCK_REQUIRES(mutex_);

    const Storage& storage_;
    Clock& clock_;
    const std::chrono::nanoseconds lag_;
    // The minimum time between two moments.
    const std::chrono::nanoseconds step_;
    Mutex mutex_;
    // The oldest moment is first. It is at least `lag_` old, and all later moments are younger than
    // `lag_`.
    std::deque<Moment> moments_ ROCKLOCK_GUARDED_BY(mutex_);
    // The time of the last write. nullopt if the newest of `moments_` contains this write.
    std::optional<BootTime> written_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock::table
