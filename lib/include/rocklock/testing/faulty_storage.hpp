// A store in memory with injected failures, losses and torn writes, for tests.
//
// It models a disk with three parts: the image has the synced data, the log has the commits that
// were written after the last sync, and the queue has the commits that are not yet written.
//
//     enqueue() ──► queue ──write──► log: written,           ──sync──► image: synced,
//                                    survives the process              survives a power cut
//
// To simulate a crash, the reopen_ functions create a new store from the data that survives: the
// image and the beginning of the log. The log is a sequence of bytes with one record per commit; a
// record has a length and a checksum. A power cut may end the log at any byte. An incomplete or
// damaged record and all records after it are ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/storage/storage.hpp>

namespace rocklock::testing {

// Threads:  thread-safe with `Pump::in_wait`; one thread with `Pump::by_hand`.
// Lifetime: borrows the clock. A store that a reopen_ function returned does not refer to the store
//           that it was made from.
class ROCKLOCK_API FaultyStorage final : public Storage {
public:
    enum class Pump : std::uint8_t {
        // wait() writes and syncs, as in other stores.
        in_wait,
        // Only write_next(), sync(), pump() and close() write and sync, so that a simulator decides
        // when commits are written. wait() may be called only for deferred commits and for commits
        // that are done(); otherwise an assertion fails.
        by_hand,
    };

    explicit FaultyStorage(Clock& clock, Pump pump = Pump::in_wait);
    ~FaultyStorage() override;

    CommitNumber enqueue(Batch batch, Durability durability, Verdict* verdict = nullptr) override;
    Result<void> wait(CommitNumber number, Durability durability) override;
    bool done(CommitNumber number, Durability durability) const override;
    std::unique_ptr<Snapshot> snapshot() const override;
    Result<std::optional<std::string>> get(Family family, std::string_view key) const override;
    std::optional<Error> failure() const override;
    bool suspect() const override;
    Result<void> mark_sound() override;
    Result<void> close() override;

    // Checks the preconditions of the first `count` queued commits, and writes these commits.
    // Errors: those that fail_nth() has set; after an error, the store has failed.
    Result<void> write_next(std::size_t count = 1);
    // Syncs all written commits.
    Result<void> sync();
    // Writes and syncs all queued commits.
    Result<void> pump();

    // Return the number of queued commits, and the numbers of the last written and the last synced
    // commit.
    std::size_t queued() const;
    CommitNumber written_through() const;
    CommitNumber synced_through() const;

    // The kinds of calls that can fail. Each kind has its own counter. A `write` is counted for
    // each commit that changes data. A `read` is a get(), a scan(), a step of a cursor, or the
    // check of a precondition.
    enum class Call : std::uint8_t { enqueue, write, sync, read };

    // Makes one later call of this kind fail: the `nth` from now on, where 1 is the next call. If
    // that call is an enqueue(), a write, a sync or the check of a precondition, the store fails
    // permanently. There is one exception: if `error` is `corrupt`, and the precondition is about a
    // key outside of the lock state, only the commit with this precondition fails. A commit whose
    // write or sync failed may still survive a crash, because its bytes are in the log.
    void fail_nth(Call call, std::uint64_t nth,
                  Error error = Error(ErrorCode::io_error, "a planned failure"));
    // Returns the number of calls of this kind since the store was created.
    std::uint64_t calls(Call call) const;

    // Returns the bytes of the log: the commits that are written and not yet synced.
    std::string log() const;
    // Returns the end of each commit in the log, as an offset in bytes.
    std::vector<std::size_t> log_ends() const;

    // Simulates the end of the process: queued commits are lost.
    std::unique_ptr<FaultyStorage> reopen_after_kill() const;
    // Simulates a power cut: only the first `surviving_bytes` bytes of the log survive.
    std::unique_ptr<FaultyStorage> reopen_after_power_cut(std::size_t surviving_bytes = 0) const;
    // Returns a store with the given log, for example log() with flipped bits.
    std::unique_ptr<FaultyStorage> reopen_with_log(std::string_view log) const;

private:
    class Disk;
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace rocklock::testing
