// The records that were written to the log of the store, but not yet to RocksDB.
//
// The buffer has an active part, which receives new records, and at most one draining part, which a
// thread copies to RocksDB. The draining part does not change any more.
//
//     apply() ──► active part ──begin_drain()──► draining part ──end_drain()──► dropped
//                                                     └─ draining(): copied to RocksDB
//
// A key is searched for in the active part, then in the draining part, and then, by the owner, in
// RocksDB. RocksDB can contain an older value of a deleted key, so the parts contain a deletion as
// a record with an empty value. Other values are not empty: they begin with a version.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocklock/storage/storage.hpp>

#include "base/mutex.hpp"
#include "storage/merged_cursor.hpp"

namespace rocklock {

// Threads:    thread-safe, except apply(), begin_drain() and end_drain(): the owner must call these
//             under one mutex. Readers need not hold it.
// Lock order: the owner's mutex, then the mutex of the buffer.
// Lifetime:   the parts are shared. A View, or a snapshot of the draining part, keeps its parts in
//             memory and can be destroyed after the buffer.
// Fork:       in a forked child, the only permitted operations are the destruction of a View and of
//             the buffer, because a thread of the parent may have held the mutex at the fork.
class RecordBuffer {
public:
    // The result of a lookup.
    struct Lookup {
        // If false, the buffer has no record of the key, and RocksDB determines its value.
        bool known = false;
        // If `known` is true: the value, or nullopt if the key is deleted.
        std::optional<std::string> value;
    };
    // The state at one moment.
    class View;
    // A record to apply.
    struct Change {
        Family family{};
        std::string_view key;
        // Empty if the key is deleted.
        std::string_view value;
    };

    RecordBuffer();
    RecordBuffer(const RecordBuffer&) = delete;
    RecordBuffer& operator=(const RecordBuffer&) = delete;
    ~RecordBuffer();

    // Applies the changes, in order. Readers see all of them or none.
    void apply(std::span<const Change> changes);

    // Returns the newest state of the key. If it is not known, look it up in RocksDB afterwards. In
    // the opposite order, a record that is drained between the two lookups would be missed.
    Lookup get(Family family, std::string_view key) const;
    // As get(), but returns only the version of the value, and does not copy the value. Returns
    // nullopt if the buffer has no record of the key, and an empty inner optional if the key is
    // deleted.
    std::optional<std::optional<std::uint64_t>> version(Family family, std::string_view key) const;

    // Returns the memory of the records in the active part, in bytes. Each write of a record takes
    // memory, also if the key was written before. It is 0 only if the active part is empty.
    std::size_t bytes() const;
    // As bytes(), without the records that were replaced by later writes, and without the memory
    // for fast searches.
    std::size_t current_bytes() const;

    // Makes the active part the draining part, and starts a new active part. Returns false, and
    // does nothing, if a part is already draining or the active part is empty.
    bool begin_drain();
    // Returns a snapshot of the draining part, for the thread that copies it to RocksDB, or null if
    // no part is draining. A record with an empty value is a deletion.
    std::unique_ptr<Snapshot> draining() const;
    // Drops the draining part after it was copied to RocksDB. A part must be draining. The last
    // owner of the part frees its memory.
    void end_drain();

    // Returns a view of the current state. To combine it with a snapshot of RocksDB, create both
    // while the owner's mutex is held, so that no drain begins or ends between them.
    View view() const;

private:
    class Part;
    // `draining` is null if no part is draining.
    struct Parts {
        std::shared_ptr<Part> active;
        std::shared_ptr<const Part> draining;

        std::array<const Part*, 2> newest_first() const { return {active.get(), draining.get()}; }
    };

    std::shared_ptr<const Parts> current_parts() const ROCKLOCK_EXCLUDES(mutex_);
    void replace_parts(std::shared_ptr<const Parts> parts) ROCKLOCK_EXCLUDES(mutex_);

    // The number of writes that readers see. The sequence number of a write is its position.
    std::atomic<std::uint64_t> published_{0};
    // Held only to copy or replace the pointer, so that all functions see parts that belong
    // together. Not held during a lookup.
    mutable Mutex mutex_;
    std::shared_ptr<const Parts> parts_ ROCKLOCK_GUARDED_BY(mutex_);
};

// Later calls of apply(), begin_drain() and end_drain() do not change the view.
//
// Threads:  thread-safe.
// Lifetime: see RecordBuffer. The cursors must be destroyed before the view.
class RecordBuffer::View {
public:
    Lookup get(Family family, std::string_view key) const;

    // Returns the cursors of the parts over the keys in [first, last), from the newest part to the
    // oldest, for merge_cursors(). If `last` is empty, there is no upper limit.
    std::vector<std::unique_ptr<Snapshot::Cursor>> scan(Family family, std::string_view first,
                                                        std::string_view last,
                                                        ScanDirection direction) const;

private:
    friend class RecordBuffer;
    View(std::shared_ptr<const Parts> parts, std::uint64_t sequence)
        : parts_(std::move(parts)), sequence_(sequence) {}

    // Returns the value of the record, which is empty if the key is deleted, or nullopt if there is
    // no record. Valid while the view exists.
    std::optional<std::string_view> find_value(Family family, std::string_view key) const;

    const std::shared_ptr<const Parts> parts_;
    const std::uint64_t sequence_;
};

}  // namespace rocklock
