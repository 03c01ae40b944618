// Storage: the one seam between Rocklock and whatever keeps its bytes.
//
// Ordered keys and values in a few families, snapshots to read from, and commits: a batch of writes
// that happens wholly or not at all, and only if its preconditions hold. This is the store's own
// compare-and-swap. It knows no locks and no items, and nothing above it may assume a local disk.
//
// A value begins with its version: 8 bytes, big-endian, chosen by the writer and changed with every
// write of the key. A precondition compares exactly that, so a check never has to read a whole
// value.
//
//     enqueue(batch) ──► queued ──► checked, applied in that order ──► written ──► synced
//                                      └─► precondition failed: nothing of this batch happened
//
// Commits are numbered in the order of enqueue(), and recovered as a prefix of that order: if one
// of them survives a crash, all before it do too.
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
//     locks    lock classes, sessions and grants, those that have ended included
//     history  the audit of forced changes
enum class Family : std::uint8_t { meta, items, index, locks, history };
inline constexpr int family_count = 5;

// When a commit may be answered.
enum class Durability : std::uint8_t {
    // When it is decided; nobody waits for it. It is written with the next batch, and when none
    // comes, by the wait() for it. May be lost in any crash until it or a later commit is written.
    // The lock manager gives it a millisecond to meet another one before it calls wait().
    deferred,
    // When the operating system has it: survives the death of the process.
    written,
    // When it is synced to the disk: survives a power cut.
    durable,
};

struct Write {
    Family family{};
    std::string key;
    // Without a value the key is deleted.
    std::optional<std::string> value;
};

// What must be true when the batch is applied, seen behind all commits before it.
struct Precondition {
    Family family{};
    std::string key;
    // The version its value must have; none: the key must be absent.
    std::optional<std::uint64_t> version;
};

struct Batch {
    std::vector<Precondition> preconditions;
    std::vector<Write> writes;
    // The batch fails when the boot clock is at or past this moment as its preconditions are
    // checked.
    std::optional<BootTime> not_after;

    bool empty() const { return writes.empty() && preconditions.empty(); }
};

// The number of a commit. Compare with nothing but other numbers of the same Storage object.
using CommitNumber = std::uint64_t;

// Where the verdict on one batch with preconditions is left, before wait() for it returns: nothing
// when applied, `precondition_failed` (the message names the key) when not.
struct Verdict {
    std::optional<Error> refused;
};

// What can be told of a key without waiting for a device.
struct CachedValue {
    // False: nothing; get() tells.
    bool is_known = false;
    // Nothing when the key is absent.
    std::optional<std::string> value;
};

// One moment of the store. Threads: thread-safe. Lifetime: must end before its Storage does.
class ROCKLOCK_API Snapshot {
public:
    Snapshot() = default;
    Snapshot(const Snapshot&) = delete;
    Snapshot& operator=(const Snapshot&) = delete;
    virtual ~Snapshot() = default;

    // Nothing when the key is absent. Errors: io_error, corrupt; store_in_use in a child of the
    // process that opened the store.
    virtual Result<std::optional<std::string>> get(Family family, std::string_view key) const = 0;

    // Walks keys in bytewise order, or in the opposite one. One thread at a time, which may be
    // another than the one before; must end before its Snapshot does.
    class Cursor {
    public:
        Cursor() = default;
        Cursor(const Cursor&) = delete;
        Cursor& operator=(const Cursor&) = delete;
        virtual ~Cursor() = default;
        // Whether it stands on a key. False at the end, and after an error: ask status().
        virtual bool valid() const = 0;
        // While valid(); the views last until next().
        virtual std::string_view key() const = 0;
        virtual std::string_view value() const = 0;
        virtual void next() = 0;
        // Errors: as get().
        virtual Result<void> status() const = 0;
    };
    // Forwards over [first, last); an empty `last` is no limit.
    virtual std::unique_ptr<Cursor> scan(Family family, std::string_view first,
                                         std::string_view last) const = 0;
    // The same keys, the greatest one first.
    virtual std::unique_ptr<Cursor> scan_back(Family family, std::string_view first,
                                              std::string_view last) const = 0;
};

// Threads:    thread-safe.
// Durability: as asked for by each commit; see above.
// Errors:     after the first failed write or sync every call that would change something fails
//             with io_error or no_space until the store is opened again (fail closed). Reads go on.
class ROCKLOCK_API Storage {
public:
    Storage() = default;
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;
    virtual ~Storage() = default;

    // Puts a batch at the end of the queue and returns at once. Never blocks on I/O, so it may be
    // called under a mutex that orders the callers' decisions. Someone has to wait() for every
    // commit: nobody else writes it.
    //
    // `verdict`, if given, must live until wait() for this number has returned or done() was true.
    // A deferred commit may not have one, since it may be judged after that.
    virtual CommitNumber enqueue(Batch batch, Durability durability,
                                 Verdict* verdict = nullptr) = 0;

    // Returns when the commit (and so every one before it) is as durable as it asked to be. The
    // caller may be made the leader, who writes for all that queue. `durability` may be other than
    // the one at enqueue(). For a deferred commit: writes what is queued if nobody is writing or
    // about to, and never waits for a sync.
    //
    // Errors: io_error, no_space, closing; store_in_use in a child of the process that opened the
    //         store. A refused batch is no error here: see its Verdict.
    virtual Result<void> wait(CommitNumber number, Durability durability) = 0;

    // Makes the commit, and so every one before it, durable. Unlike wait(), it does not keep others
    // from writing meanwhile, if the store can sync and write at the same time.
    //
    // Errors: as wait()
    virtual Result<void> sync_through(CommitNumber number) {
        return wait(number, Durability::durable);
    }

    // Whether wait() would return without waiting: it is as durable as asked, or failure() is set.
    // Always true of a deferred one. Never blocks.
    virtual bool done(CommitNumber number, Durability durability) const = 0;

    // Whether a durable commit waits for a device.
    virtual bool syncs() const { return true; }

    // enqueue() and wait() as one; a deferred batch with preconditions is written before it
    // returns. Errors: precondition_failed too.
    Result<void> commit(Batch batch, Durability durability = Durability::durable);

    // The present: behind every commit whose wait() has returned, a deferred one only if it was
    // written.
    virtual std::unique_ptr<Snapshot> snapshot() const = 0;
    // One key of the present. Errors: as Snapshot::get().
    virtual Result<std::optional<std::string>> get(Family family, std::string_view key) const = 0;
    // The same where it lies in memory and has no more than so many bytes: for threads that may
    // not wait. Errors are left to get().
    virtual CachedValue get_cached(Family /*family*/, std::string_view /*key*/,
                                   std::size_t /*max_bytes*/) const {
        return {};
    }

    // Set once something failed; nothing more will be committed.
    virtual std::optional<Error> failure() const = 0;

    // Whether the last run ended in a failed write or sync, so that what it had written but not
    // synced may be missing although the machine did not restart.
    virtual bool suspect() const = 0;

    // How many bytes at the end of the log the last crash had left damaged or incomplete, so that
    // they were left out when the store was opened. They hold commits that were not synced, or the
    // last group of commits that was. 0 for a store that is not on a disk.
    virtual std::uint64_t discarded_log_bytes() const { return 0; }

    // Ends the suspicion, when whoever uses the store has committed what it makes of its contents.
    // Errors: io_error, no_space, read_only; it stays suspect then.
    virtual Result<void> mark_sound() = 0;

    // Copies the store as of one moment, behind every commit whose wait() has returned, into
    // `directory`, which must not exist yet or be empty. `marks` are written into the copy alone.
    // Commits go on meanwhile. An interrupted copy is none, and is in nobody's way.
    //
    // Errors: invalid_argument (the directory, or a store that is not on a disk), io_error,
    //         no_space, read_only. None of them fails the store.
    virtual Result<void> copy_to(const std::string& directory, const std::vector<Write>& marks);

    // Reads all that lies on the disk and compares its checksums. Errors: corrupt, io_error.
    virtual Result<void> verify() const;

    // Writes and syncs all that is queued, and makes the next open quick. What comes afterwards
    // fails with `closing`; reads go on until the object ends. Without it, the end of the object is
    // like a crash.
    virtual Result<void> close() = 0;
};

// In memory: the reference, for tests and for stores that need not outlive the process. `clock`
// judges `not_after` and must outlive it.
ROCKLOCK_API std::unique_ptr<Storage> make_memory_storage(Clock& clock);

// What a store is opened for.
enum class Purpose : std::uint8_t {
    use,
    // To look: nothing in it is changed, and commits fail.
    look,
    // To look, if need be beside the process that has it open: what that is just writing may be
    // missing, and files that it removes meanwhile may make the look fail.
    glance,
    // To look, and damage anywhere is an error: also at the end of the log, which may be what a
    // crash left and would be given up by the next open.
    check,
};

struct RocksdbOptions {
    Purpose purpose = Purpose::use;
    // Makes the directory and an empty store where there is none.
    bool create_if_missing = true;
    // Memory for records not yet in files, over all families. Small: it is what a crash leaves to
    // replay.
    std::size_t write_buffer_bytes = 8u << 20;
    std::size_t block_cache_bytes = 8u << 20;
};

// On RocksDB, in a directory of its own. One process per store.
//
// Errors: store_in_use (with the pid), not_a_store (a directory that holds other things, or a
//         file), read_only, newer_format, corrupt, no_space, io_error. Nothing is changed by a
//         failed open.
ROCKLOCK_API Result<std::unique_ptr<Storage>> open_rocksdb_storage(
    const std::string& directory, Clock& clock, const RocksdbOptions& options = {});

// The version that a value begins with; 0 when it has fewer than eight bytes.
ROCKLOCK_API std::uint64_t version_of(std::string_view value);

}  // namespace rocklock
