// Global indexes that lag behind their tables, as the service's do: for rehearsals.
//
// Entries are written with their items as ever; it is the readers who are shown an earlier moment
// of the store. So moments are kept: before a write begins, what was written before it is kept as
// of the last of those writes, if the latest moment kept is old enough. A reader gets the latest
// one that is `lag` old at least.
//
//     writes       w1 w2      w3                 w4
//     moments kept       [w2]     [w3]              [w4]    each behind that write, before the next
//     reader                                 ^ lag ─────┤   gets [w3]
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>

#include <rocklock/clock.hpp>
#include <rocklock/storage/storage.hpp>

#include "base/mutex.hpp"

namespace rocklock::table {

// Threads:  thread-safe. Two writes at one time may be shown as one.
// Lifetime: borrows storage and clock; moments that were given must end before the storage does.
class IndexLag {
public:
    IndexLag(const Storage& storage, Clock& clock, std::chrono::milliseconds lag);

    void before_write();
    void after_write();

    // As it was `lag` ago, or up to a sixteenth of that earlier.
    std::shared_ptr<const Snapshot> moment();

private:
    struct Moment {
        // From when on the store looked like that.
        BootTime since;
        std::shared_ptr<const Snapshot> snapshot;
    };

    void keep_moment(BootTime now) ROCKLOCK_REQUIRES(mutex_);

    const Storage& storage_;
    Clock& clock_;
    const std::chrono::nanoseconds lag_;
    // So far apart moments are, at least.
    const std::chrono::nanoseconds step_;
    Mutex mutex_;
    // The oldest first. The first one is as old as a reader may want it, and no later one is.
    std::deque<Moment> moments_ ROCKLOCK_GUARDED_BY(mutex_);
    // The last write behind the last moment.
    std::optional<BootTime> written_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock::table
