// The values of a store on etcd in this process, from which all reads are answered.
//
// A copy contains exactly the values that etcd had at one revision, its position. The manager
// writes each of its commits to its copy. A standby applies the changes that etcd reports
// (follower.hpp), so that it can take over without reading all values.
//
// A copy is in memory or in a directory. It is not a store of its own: it can be deleted at any
// time, and is then loaded from etcd again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

#include "base/mutex.hpp"
#include "storage/etcd/client/client.hpp"
#include "storage/etcd/client/layout.hpp"

namespace rocklock::etcd {

// The state of etcd that a copy shows.
struct CopyPosition {
    std::uint64_t cluster_id = 0;
    // The prefix of the store in etcd.
    std::string prefix;
    // The values are those at this revision, and at all later ones until the next commit. 0 if the
    // copy is not loaded.
    Revision revision = 0;
    // The value of the key `commit` at that revision; nullopt if there is no store.
    std::optional<std::string> commit;

    friend bool operator==(const CopyPosition&, const CopyPosition&) = default;
};

// The values of a copy at one position.
struct CopySnapshot {
    CopyPosition position;
    std::unique_ptr<Snapshot> values;
};

// Threads:  one at a time, except for storage(), revision(), commit_number(), commit_epoch() and
//           snapshot(), which are thread-safe.
// Lifetime: the clock must outlive the object. reset() must not be called while snapshots exist.
class Copy {
public:
    // Opens a copy in `directory`/etcd-copy, or creates an empty one. A copy that is damaged or
    // incomplete is deleted. If `directory` is empty, the copy is in memory.
    //
    // Errors: those of open_rocksdb_storage(), except corrupt and newer_format; not_a_store
    //         if the directory contains a store that is not a copy
    static Result<std::shared_ptr<Copy>> open(const std::string& directory, Clock& clock);

    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;

    Storage& storage() { return *storage_; }
    const Storage& storage() const { return *storage_; }
    const CopyPosition& position() const { return position_; }
    // Returns the revision of the position.
    Revision revision() const { return revision_.load(); }
    // Return the number of the last commit that the copy contains, and the epoch of its manager. 0
    // if the copy is not loaded, or if there is no store.
    std::uint64_t commit_number() const { return commit_number_.load(); }
    Epoch commit_epoch() const { return commit_epoch_.load(); }

    // Returns the current values and their position. Must not be called while the copy is being
    // loaded.
    CopySnapshot snapshot() const;

    // Writes values, and the new position, in one step. Errors: those of Storage::commit()
    Result<void> write(std::vector<Write> writes, CopyPosition position);
    // As above, with another revision and commit of the same store.
    Result<void> write(std::vector<Write> writes, Revision revision,
                       std::optional<std::string> commit);
    // Writes some of the values of a copy that is being loaded. Errors: those of Storage::commit()
    Result<void> add(std::vector<Write> writes);
    // Deletes all values. Errors: as open()
    Result<void> reset();

private:
    Copy(std::string directory, Clock& clock) : directory_(std::move(directory)), clock_(clock) {}

    Result<void> open_storage();
    Result<void> open_existing();
    void set_position(CopyPosition position);

    // Empty for a copy in memory.
    const std::string directory_;
    Clock& clock_;
    std::unique_ptr<Storage> storage_;
    // Only the thread that writes changes the position. It holds the mutex while it writes values
    // and their position.
    mutable Mutex mutex_;
    CopyPosition position_;
    std::atomic<Revision> revision_{0};
    std::atomic<std::uint64_t> commit_number_{0};
    std::atomic<Epoch> commit_epoch_{0};
};

}  // namespace rocklock::etcd
