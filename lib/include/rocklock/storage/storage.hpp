// Storage: the interface between Rocklock and the engine that stores its bytes.
//
// A Storage has ordered keys and values in several families, snapshots for reading, and commits. A
// commit applies a batch of writes either completely or not at all, and only if the preconditions
// of the batch hold: this is the compare-and-swap of the store. The interface knows neither locks
// nor items. Code that uses it must not assume a local disk.
//
// A value begins with its version: 8 bytes, big-endian. The writer chooses it and changes it with
// every write of the key. A precondition compares only the version, so that a check does not have
// to read the whole value.
//
//     enqueue(batch) ──► queued ──► checked, applied in that order ──► written ──► synced
//                                      └─► precondition failed: the batch has no effect
//
// Commits are numbered in the order of enqueue(). After a crash, a prefix of that order is
// recovered: if a commit survives, all commits before it do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/export.hpp>
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

// The durability that a commit must have before it is answered.
enum class Durability : std::uint8_t {
    // Answered when it is decided. It is written together with the next batch, or by its own wait()
    // if there is none. A crash of any kind may lose it until it or a later commit is written. The
    // lock manager calls wait() after a millisecond, so that the commit can be written together
    // with another batch.
    deferred,
    // Answered when the operating system has accepted it: survives the end of the process.
    written,
    // Answered when it is synced to the disk: survives a power cut.
    durable,
};

struct Write {
    Family family{};
    std::string key;
    // If there is no value, the key is deleted.
    std::optional<std::string> value;
};

// A condition that must hold when the batch is applied, after all earlier commits.
struct Precondition {
    Family family{};
    std::string key;
    // The version that the value must have. None: the key must be absent.
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

// The result of a batch with preconditions. Set before wait() for the batch returns. `refused` is
// empty if the batch was applied; otherwise it is precondition_failed with a message that names the
// key.
struct Verdict {
    std::optional<Error> refused;
};

// The result of a lookup that does not wait for a device.
struct CachedValue {
    // If false, the lookup found no answer; call get().
    bool is_known = false;
    // None if the key is absent.
    std::optional<std::string> value;
};

// The state of the store at one time. Threads: thread-safe. Lifetime: must end before its Storage.
class ROCKLOCK_API Snapshot {
public:
    Snapshot() = default;
    Snapshot(const Snapshot&) = delete;
    Snapshot& operator=(const Snapshot&) = delete;
    virtual ~Snapshot() = default;

    // Returns the value of the key, or none if it is absent. Errors: io_error, corrupt;
    // store_in_use in a child of the process that opened the store.
    virtual Result<std::optional<std::string>> get(Family family, std::string_view key) const = 0;

    // Iterates over keys in bytewise order, ascending or descending. Used by one thread at a time,
    // not necessarily the same one. Must end before its Snapshot.
    class Cursor {
    public:
        Cursor() = default;
        Cursor(const Cursor&) = delete;
        Cursor& operator=(const Cursor&) = delete;
        virtual ~Cursor() = default;
        // Returns whether the cursor is at a key. Returns false at the end and after an error;
        // status() distinguishes them.
        virtual bool valid() const = 0;
        // Require valid(). The returned views are valid until next().
        virtual std::string_view key() const = 0;
        virtual std::string_view value() const = 0;
        virtual void next() = 0;
        // Errors: as get().
        virtual Result<void> status() const = 0;
    };
    // Returns a cursor over [first, last) in ascending order. If `last` is empty, there is no upper
    // limit.
    virtual std::unique_ptr<Cursor> scan(Family family, std::string_view first,
                                         std::string_view last) const = 0;
    // As scan(), in descending order.
    virtual std::unique_ptr<Cursor> scan_back(Family family, std::string_view first,
                                              std::string_view last) const = 0;
};

// Threads:    thread-safe.
// Durability: as requested for each commit; see above.
// Errors:     after the first failed write or sync, every call that would change the store fails
//             with io_error or no_space until the store is opened again (fail closed). Reads
//             continue to work.
class ROCKLOCK_API Storage {
public:
    Storage() = default;
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;
    virtual ~Storage() = default;

    // Appends a batch to the queue and returns immediately. Never blocks on I/O, so it may be
    // called while the caller holds the mutex that orders its decisions. A thread must call wait()
    // for every commit, since no background thread writes it.
    //
    // If `verdict` is given, it must exist until wait() for this number has returned or done() has
    // returned true. A deferred commit must not have one, since it may be checked later than that.
    virtual CommitNumber enqueue(Batch batch, Durability durability,
                                 Verdict* verdict = nullptr) = 0;

    // Returns when the commit, and therefore every earlier one, is as durable as `durability`
    // requires, which may differ from the value at enqueue(). The calling thread may become the
    // leader and write for all queued commits. For a deferred commit: writes the queue unless
    // another thread writes or is about to write, and never waits for a sync.
    //
    // Errors: io_error, no_space, closing; store_in_use in a child of the process that opened the
    //         store. A refused batch is not an error; see its Verdict.
    virtual Result<void> wait(CommitNumber number, Durability durability) = 0;

    // Makes the commit, and therefore every earlier one, durable. Unlike wait(), it does not block
    // other writers meanwhile if the store can sync and write concurrently.
    //
    // Errors: as wait().
    virtual Result<void> sync_through(CommitNumber number) {
        return wait(number, Durability::durable);
    }

    // Returns whether the commit is as durable as `durability` requires, or failure() is set.
    // Always true for `deferred`, which requires nothing. Never blocks.
    virtual bool done(CommitNumber number, Durability durability) const = 0;

    // Returns whether durable commits wait for a device.
    virtual bool syncs() const { return true; }

    // Calls enqueue() and wait(). A deferred batch with preconditions is written before the
    // function returns. Errors: as wait(), and precondition_failed.
    Result<void> commit(Batch batch, Durability durability = Durability::durable);

    // Returns the current state: it includes every commit for which wait() has returned, but a
    // deferred commit only if it was written.
    virtual std::unique_ptr<Snapshot> snapshot() const = 0;
    // Returns the current value of one key. Errors: as Snapshot::get().
    virtual Result<std::optional<std::string>> get(Family family, std::string_view key) const = 0;
    // As get(), if the value is cached in memory and has at most `max_bytes` bytes. For threads
    // that must not wait. If there is an error, `is_known` is false, and get() returns the error.
    virtual CachedValue get_cached(Family /*family*/, std::string_view /*key*/,
                                   std::size_t /*max_bytes*/) const {
        return {};
    }

    // Returns the error of the first failed write or sync, if any. After it, no commit succeeds.
    virtual std::optional<Error> failure() const = 0;

    // Returns whether the last run ended with a failed write or sync. Commits that were written but
    // not synced may then be missing although the machine was not restarted.
    virtual bool suspect() const = 0;

    // Returns how many bytes at the end of the log were damaged or incomplete after the last crash
    // and were discarded when the store was opened. They belong to commits that were not synced, or
    // to the last group of synced commits. Returns 0 for a store that is not on a disk.
    virtual std::uint64_t discarded_log_bytes() const { return 0; }

    // Makes suspect() return false. Called after the user of the store has recovered its contents
    // and committed the result. After an error the store stays suspect. Errors: io_error, no_space,
    // read_only.
    virtual Result<void> mark_sound() = 0;

    // Copies the state of the store at one time into `directory`, which must not exist or must be
    // empty. The copy includes every commit for which wait() has returned. `marks` are written only
    // into the copy. Commits continue meanwhile. If the copy is interrupted, it is not a store, and
    // it does not prevent another attempt.
    //
    // Errors: invalid_argument (the directory, or a store that is not on a disk), store_in_use
    //         (another copy is being made in the directory), io_error, no_space, read_only. After
    //         these errors, the store itself can still be used.
    virtual Result<void> copy_to(const std::string& directory, const std::vector<Write>& marks);

    // Reads all data on the disk and verifies the checksums. Errors: corrupt, io_error.
    virtual Result<void> verify() const;

    // Writes and syncs all queued commits, and prepares a fast next open. Later commits fail with
    // `closing`; reads work until the object is destroyed. If close() is not called, destroying the
    // object has the same effect as a crash.
    virtual Result<void> close() = 0;
};

// Returns a store in memory: the reference implementation, for tests and for stores that need not
// outlive the process. `clock` is used for `not_after`; it must outlive the store.
ROCKLOCK_API std::unique_ptr<Storage> make_memory_storage(Clock& clock);

// The purpose for which a store is opened.
enum class Purpose : std::uint8_t {
    use,
    // Read-only: the store is not changed, and commits fail.
    read_only,
    // Read-only, possibly while another process has the store open. Its latest writes may be
    // missing, and reads may fail if it deletes files meanwhile.
    read_shared,
    // Read-only, and damage anywhere is an error. That includes the end of the log, where a crash
    // may have left an incomplete record that the next open for use would discard.
    check,
};

struct RocksdbOptions {
    Purpose purpose = Purpose::use;
    // Whether to create the directory and an empty store if there is none.
    bool create_if_missing = true;
    // Memory for records that are not yet in files, in total for all families. A small buffer
    // limits the log that must be replayed after a crash.
    std::size_t write_buffer_bytes = 8u << 20;
    std::size_t block_cache_bytes = 8u << 20;
};

// Opens a store on RocksDB in a directory of its own. One process can have it open at a time.
//
// Errors: store_in_use (with the pid), not_a_store (the directory has other contents, or is a
//         file), read_only, newer_format, corrupt, no_space, io_error. If the open fails, it
//         changes nothing.
ROCKLOCK_API Result<std::unique_ptr<Storage>> open_rocksdb_storage(
    const std::string& directory, Clock& clock, const RocksdbOptions& options = {});

// Returns the version at the beginning of a value, or 0 if the value has fewer than eight bytes.
ROCKLOCK_API std::uint64_t version_of(std::string_view value);

}  // namespace rocklock
