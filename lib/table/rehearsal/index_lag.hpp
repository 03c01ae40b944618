// Global indexes that lag behind their tables, as in DynamoDB: for rehearsals.
//
// Entries are written together with their items as usual, but readers see an older snapshot of the
// store. So snapshots are kept: before a write, a snapshot of the state after the last write is
// taken, unless the latest kept one is too recent. A reader gets the latest snapshot that is at
// least `lag` old.
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
// Lifetime: borrows storage and clock; the returned snapshots must end before the storage.
class IndexLag {
public:
    IndexLag(const Storage& storage, Clock& clock, std::chrono::milliseconds lag);

    void before_write();
    void after_write();

    // Returns the state of `lag` ago, or of up to a sixteenth of `lag` earlier.
    std::shared_ptr<const Snapshot> moment();

private:
    struct Moment {
        // The time from which on the store had this state.
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
    // The oldest first. The first one is at least `lag_` old, and all later ones are younger.
    std::deque<Moment> moments_ ROCKLOCK_GUARDED_BY(mutex_);
    // The time of the last write after the last moment.
    std::optional<BootTime> written_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock::table
