// Storage: the interface between Rocklock and the engine that stores its bytes.
//
// A Storage maps keys to values in several families, in the order of the keys. It offers snapshots
// for reading, and commits for writing. A commit applies a batch of writes either completely or not
// at all, and only if the preconditions of the batch hold (compare-and-swap). The interface does
// not interpret keys and values, except for the version of a value. Code that uses the interface
// must not assume that the store is on a local disk.
//
// A value begins with its version: 8 bytes, big-endian. The writer chooses the version and must
// change it with every write of the key. A precondition compares only the version. A store can
// therefore check a precondition with a cache of versions, without reading the value.
//
//     enqueue(batch) ──► queued ──► preconditions checked ──► written ──► synced
//                                      └─► precondition failed: the batch has no effect
//
// Commits are numbered in the order of enqueue(). If a commit survives a crash, all commits with
// smaller numbers survive too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/export.hpp>
#include <rocklock/histogram.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

// The column families:
//
//     meta     records of the store itself, definitions of tables, drafts
//     items    the items of tables
//     index    the entries of secondary indexes
//     locks    lock classes, sessions and grants, including ended ones
//     history  the audit log of forced changes
enum class Family : std::uint8_t { meta, items, index, locks, history };
inline constexpr int family_count = 5;

// The minimum durability that a commit has after Storage::wait() for it has returned.
enum class Durability : std::uint8_t {
    // If another thread is about to write the commit together with other commits, the commit may
    // still be unwritten. Otherwise wait() itself has written it. A crash before the write loses
    // the commit. The lock manager's thread calls wait() for a deferred commit only after a
    // millisecond, so that another thread can write the commit in the meantime.
    deferred,
    // The operating system has accepted the commit, which survives the end of the process.
    written,
    // The commit is synced to the disk and survives a power cut.
    durable,
};

struct Write {
    Family family{};
    std::string key;
    // The new value. If none, the key is deleted.
    std::optional<std::string> value;
};

// A condition of a batch. It must hold after all earlier commits have been applied.
struct Precondition {
    Family family{};
    std::string key;
    // The version that the value must have. If none, the key must be absent.
    std::optional<std::uint64_t> version;
};

struct Batch {
    std::vector<Precondition> preconditions;
    std::vector<Write> writes;
    // The batch fails if the boot clock has reached this time when the preconditions are checked.
    std::optional<BootTime> not_after;

    bool empty() const { return writes.empty() && preconditions.empty(); }
};

// The number of a commit. Comparable only with numbers of the same Storage object.
using CommitNumber = std::uint64_t;

// The result of a batch with preconditions or with `not_after`. Valid after wait() for the batch
// has succeeded. `refused` is none if the batch was applied. Otherwise it is precondition_failed,
// with a message that names the key or says that `not_after` was reached; or corrupt, if the value
// of a key in a precondition is damaged.
struct Verdict {
    std::optional<Error> refused;
};

// The result of a lookup that does not wait for a device.
struct CachedValue {
    // If false, the lookup did not determine the value; call Storage::get() then.
    bool is_known = false;
    // If `is_known` is true: the value, or none if the key is absent.
    std::optional<std::string> value;
};

// The reserve of disk space of a store; see RocksdbOptions::reserve_bytes.
struct SpaceReserveState {
    // The intended size of the reserve: RocksdbOptions::reserve_bytes, but at most an eighth of the
    // file system.
    std::uint64_t bytes = 0;
    // The space that the file of the reserve occupies now.
    std::uint64_t allocated_bytes = 0;
    // The free space of the file system at the last measurement, not counting the reserve.
    std::uint64_t free_bytes = 0;
    // Whether Storage::accepts_growth() is false.
    bool low = false;
};

// The size of a file system, and the space on it that is available to this process.
struct FileSystemSpace {
    std::uint64_t bytes = 0;
    std::uint64_t free_bytes = 0;
};

// The syncs of a store since it was opened, and the space that it uses. A size is absent if the
// store is not on a disk, or if the size cannot be determined.
struct StorageStatistics {
    // The durations of the syncs of the log. If the store writes and syncs in one operation, these
    // are the durations of the whole operations.
    Histogram syncs{histogram_bounds::calls};
    // The space that the files of the store occupy. The value may be up to ten seconds old.
    std::optional<std::uint64_t> bytes;
    // The size of the file system that contains the store, and the space on it that is available to
    // this process.
    std::optional<std::uint64_t> file_system_bytes;
    std::optional<std::uint64_t> free_bytes;
    // The reserve of disk space; absent if the store has none (RocksdbOptions::reserve_bytes).
    std::optional<SpaceReserveState> reserve;
};

// The state of the store at one moment. Threads: thread-safe. Lifetime: must be destroyed before
// its Storage.
class ROCKLOCK_API Snapshot {
public:
    Snapshot() = default;
    Snapshot(const Snapshot&) = delete;
    Snapshot& operator=(const Snapshot&) = delete;
    virtual ~Snapshot() = default;

    // Returns the value of the key, or none if the key is absent. Errors: io_error, corrupt;
    // store_in_use if the snapshot was taken in a child of the process that opened the store.
    virtual Result<std::optional<std::string>> get(Family family, std::string_view key) const = 0;

    // Iterates over keys in bytewise order, ascending or descending. Different threads can use a
    // cursor, but only one at a time. Must be destroyed before its Snapshot.
    class Cursor {
    public:
        Cursor() = default;
        Cursor(const Cursor&) = delete;
        Cursor& operator=(const Cursor&) = delete;
        virtual ~Cursor() = default;
        // Returns whether the cursor is at a key. Returns false at the end and after an error; call
        // status() to distinguish these two cases.
        virtual bool valid() const = 0;
        // The next three functions require valid(). The returned views are valid until the next
        // call of next().
        virtual std::string_view key() const = 0;
        virtual std::string_view value() const = 0;
        virtual void next() = 0;
        // Returns the error that has ended the iteration, if there is one. Errors: as
        // Snapshot::get().
        virtual Result<void> status() const = 0;
    };
    // Returns a cursor over the keys in [first, last), in ascending order. If `last` is empty,
    // there is no upper limit.
    virtual std::unique_ptr<Cursor> scan(Family family, std::string_view first,
                                         std::string_view last) const = 0;
    // As scan(), for a long scan whose records will not be read again soon. The storage engine may
    // read larger pieces, and may leave its cache unchanged. The default calls scan().
    virtual std::unique_ptr<Cursor> scan_once(Family family, std::string_view first,
                                              std::string_view last) const {
        return scan(family, first, last);
    }
    // As scan(), but in descending order.
    virtual std::unique_ptr<Cursor> scan_back(Family family, std::string_view first,
                                              std::string_view last) const = 0;
};

// Threads:    thread-safe.
// Durability: as requested for each commit; see Durability.
// Errors:     the store fails permanently if a write or a sync fails, if a read finds damage in
//             the families `meta` or `locks`, or if another process has taken over the store. Every
//             later commit then fails with that error (io_error, no_space, corrupt or
//             not_the_manager) until the store is opened again. Reads continue to work.
class ROCKLOCK_API Storage {
public:
    Storage() = default;
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;
    virtual ~Storage() = default;

    // Appends a batch to the queue, without I/O, and returns its number. The caller may therefore
    // hold a mutex during the call, so that its batches are queued in the order of its decisions.
    // No background thread writes the queue: a thread of the caller must call wait() for every
    // commit. A store in memory checks and applies the batch at once, so that its writes can be
    // read before wait().
    //
    // If `verdict` is not null, the object must exist until wait() for the returned number has
    // returned or done() has returned true. For a deferred commit, `verdict` must be null, because
    // the preconditions may be checked after wait() has returned.
    virtual CommitNumber enqueue(Batch batch, Durability durability,
                                 Verdict* verdict = nullptr) = 0;

    // Waits until the commit, and therefore every earlier one, is as durable as `durability`
    // requires. `durability` may differ from the value at enqueue(). The calling thread may also
    // have to write commits that other threads have queued.
    //
    // If `durability` is deferred, wait() does not wait for a sync. It writes the queue, unless
    // another thread will do so: one that is writing now, the caller of a queued commit that is not
    // deferred, or (on etcd) a thread of the store.
    //
    // Errors: io_error, no_space, corrupt, closing; store_in_use in a child of the process that
    //         opened the store; not_the_manager if another process has taken over the store. A
    //         refused batch is not an error; see its Verdict.
    virtual Result<void> wait(CommitNumber number, Durability durability) = 0;

    // Makes the commit, and therefore every earlier one, durable. wait() may block other writers
    // during the sync; sync_through() does not, if the store can sync and write at the same time.
    //
    // The errors are those of wait().
    virtual Result<void> sync_through(CommitNumber number) {
        return wait(number, Durability::durable);
    }

    // Returns true if the commit is as durable as `durability` requires, or if the store has failed
    // (see failure()). Always returns true for `deferred`, which requires nothing. Never blocks.
    virtual bool done(CommitNumber number, Durability durability) const = 0;

    // Returns the last commit that one write of the queue would contain now, which can be before
    // the end of the queue. If the size of a write is not limited, returns the greatest number.
    virtual CommitNumber one_write_through() const {
        return std::numeric_limits<CommitNumber>::max();
    }

    // Returns whether a commit must wait for a device before it is durable. False for a store in
    // memory.
    virtual bool syncs() const { return true; }

    // Returns whether another process can take over the store without the knowledge of this one, so
    // that what this process reads may be out of date. An answer that contains such data, and that
    // depends on no commit after the request, must wait for confirm().
    virtual bool must_confirm() const { return false; }
    // Confirms that no other process had taken over the store when confirm() was called: everything
    // that was read before the call was up to date. The confirmation is a durable commit of an
    // empty batch; one commit confirms all answers that wait for it. Returns immediately if
    // must_confirm() is false.
    //
    // Errors: as wait(); not_the_manager if another process has taken over the store. The store
    //         then fails permanently.
    Result<void> confirm();

    // Calls enqueue() and wait(). If the batch has preconditions or `not_after`, `deferred` is
    // treated as `written`. Errors: those of wait(), and the error in the Verdict.
    Result<void> commit(Batch batch, Durability durability = Durability::durable);

    // Returns the current state. It includes every written commit. A commit that is not deferred is
    // written when wait() for it has returned.
    virtual std::unique_ptr<Snapshot> snapshot() const = 0;
    // Returns the current value of one key, or none if the key is absent. Errors: as
    // Snapshot::get().
    virtual Result<std::optional<std::string>> get(Family family, std::string_view key) const = 0;
    // Returns the current value of one key without waiting for a device, for threads that must not
    // wait. If the value is not cached in memory, has more than `max_bytes` bytes, or cannot be
    // read, CachedValue::is_known is false; call get() then.
    virtual CachedValue get_cached(Family /*family*/, std::string_view /*key*/,
                                   std::size_t /*max_bytes*/) const {
        return {};
    }

    // Returns the error with which every later commit fails, or none. It is the error of the first
    // failed write or sync; corrupt after damage in the families `meta` or `locks`; closing after
    // close(); or store_in_use in a child of the process that opened the store.
    virtual std::optional<Error> failure() const = 0;

    // Returns true if the store failed in an earlier run or was made by copy_to(), and no
    // mark_sound() has succeeded since. After a failure, commits that were written but not synced
    // may be missing, even if the machine was not restarted.
    virtual bool suspect() const = 0;

    // Returns true if an older state of the store was restored with the tools of its engine since
    // it was last open, for example from a snapshot of etcd, and no mark_sound() has succeeded
    // since. The lock manager then behaves as for a copy (DatabaseOptions::restored).
    virtual bool restored() const { return false; }

    // Returns the number of bytes at the end of the log that were damaged or incomplete after the
    // last crash, and were therefore discarded when the store was opened. Usually, these bytes
    // belong to commits that were not synced. They can also belong to the commits of the last sync,
    // if the disk damaged synced data during a power cut. The log does not show that these commits
    // were synced, because the completion of a sync is recorded in the log only by a later commit.
    // Returns 0 for a store that is not on a disk.
    virtual std::uint64_t discarded_log_bytes() const { return 0; }

    // Returns the current statistics. Reads no data of the store.
    virtual StorageStatistics statistics() const { return {}; }

    // Returns false while so little space is free that the store will soon need its reserve
    // (RocksdbOptions::reserve_bytes). Commits still succeed, but the callers must refuse requests
    // that add data, with the error growth_refusal(). The remaining space is then sufficient for
    // releases, renewals and deletions. The call is as fast as reading a variable.
    virtual bool accepts_growth() const { return true; }
    // Returns the error no_space for a request that is refused because accepts_growth() is false.
    virtual Error growth_refusal() const;
    // Returns true while more has been written than the storage can process in the background, so
    // that commits may soon have to wait. Callers should postpone work that is not urgent, such as
    // a clean-up. The call is as fast as reading a variable.
    virtual bool congested() const { return false; }
    // Changes RocksdbOptions::reserve_bytes. Has no effect on a store that is not on a disk.
    virtual void set_reserve_bytes(std::uint64_t /*bytes*/) {}

    // Makes suspect() and restored() return false. The lock manager calls this function after it
    // has recovered its state and committed the result. If the call fails, the results do not
    // change. Errors: those of failure(); io_error, no_space, read_only.
    virtual Result<void> mark_sound() = 0;

    // Copies the state of the store at one moment into `directory`, which must not exist or must be
    // empty. The copy includes every commit that was written before the call. `marks` are writes
    // that are applied only to the copy, such as the record by which the lock manager recognizes a
    // copy. Commits are not blocked meanwhile. If copying is interrupted, `directory` contains no
    // store, and the call can be repeated with the same directory.
    //
    // Errors: invalid_argument (the directory, or a store that is not on a disk), store_in_use
    //         (another copy is being made in the directory), io_error, no_space, read_only. After
    //         these errors, the store itself can still be used.
    virtual Result<void> copy_to(const std::string& directory, const std::vector<Write>& marks);

    // Reads all table files of the store and verifies their checksums. Does not read the log;
    // opening the store with Purpose::check reads the log. Errors: corrupt, io_error; store_in_use
    // in a child of the process that opened the store.
    virtual Result<void> verify() const;

    // Writes and syncs all queued commits, and prepares the store so that the next open is fast.
    // Later commits fail with `closing`. Reads work until the object is destroyed. If the object is
    // destroyed without close(), the effect is that of a crash.
    virtual Result<void> close() = 0;
};

// Returns a store in memory: the reference implementation, for tests and for stores that need not
// outlive the process. `clock` is used for Batch::not_after; it must outlive the store.
ROCKLOCK_API std::unique_ptr<Storage> make_memory_storage(Clock& clock);

// The purpose for which a store is opened.
enum class Purpose : std::uint8_t {
    use,
    // Read-only: the store is not changed, and commits fail.
    read_only,
    // Read-only, possibly while another process has the store open. The latest writes of that
    // process may be missing, and reads may fail if it deletes files in the meantime.
    read_shared,
    // Read-only, and any damage is an error. An incomplete record at the end of the log, which a
    // crash may have left and which an open with `use` would discard, also counts as damage.
    check,
};

struct RocksdbOptions {
    Purpose purpose = Purpose::use;
    // Whether to create the directory and an empty store if there is none. Ignored unless `purpose`
    // is `use`.
    bool create_if_missing = true;
    // Determines the memory for records that are in the log but not yet in table files. Records of
    // locks are written to table files when the newest records of all locks take half of it, or all
    // records, with those that were replaced, take one and a half times as much. Records of the
    // other families are written when they take all of it, in total. While records of locks are
    // written, more of them can arrive, up to twice these limits; so they take at most six times
    // this size. The smaller the buffer, the less of the log must be replayed after a crash.
    std::size_t write_buffer_bytes = 8u << 20;
    // The memory for blocks of table files that were read.
    std::size_t block_cache_bytes = 8u << 20;
    // The disk space that the store reserves for its own use: the size of the file of the reserve,
    // which is limited to an eighth of the file system. If the free space outside of this file is
    // less than half the size of the file, Storage::accepts_growth() becomes false. If the free
    // space continues to fall, the store uses the reserve, and fills it again when space is free.
    // The size should be at least eight times `write_buffer_bytes`. With 0, there is no reserve,
    // and an existing file of a reserve is deleted. Ignored unless `purpose` is `use`.
    std::uint64_t reserve_bytes = 0;
    // Called on a thread of the store after Storage::accepts_growth() has changed.
    std::function<void(const SpaceReserveState&)> on_space_changed;
    // For tests: returns the space of the file system. If empty, the operating system is asked. May
    // be called by several threads at the same time.
    std::function<std::optional<FileSystemSpace>()> file_system_space;
};

// Opens a store that uses RocksDB, in a directory that contains nothing else. Only one process at a
// time can have the store open; processes with Purpose::read_shared do not count.
//
// Errors: store_in_use (with the pid), not_a_store (the directory has other contents or is a file,
//         or there is no store and `create_if_missing` is false), read_only, newer_format, corrupt,
//         no_space, io_error. If the function fails, it removes the files that it has created. The
//         log of an existing store may then have been replayed.
ROCKLOCK_API Result<std::unique_ptr<Storage>> open_rocksdb_storage(
    const std::string& directory, Clock& clock, const RocksdbOptions& options = {});

// Returns the version at the beginning of a value, or 0 if the value has fewer than eight bytes.
ROCKLOCK_API std::uint64_t version_of(std::string_view value);

}  // namespace rocklock
