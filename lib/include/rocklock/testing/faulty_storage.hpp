// A store in memory with injected failures, losses and torn writes, for tests.
//
// It models a disk as an image of the synced data, a log of the writes since then, and the queue.
//
//     enqueue() ──► queue ──write──► log: written,           ──sync──► image: synced,
//                                    survives the process              survives a power cut
//
// A crash creates a new store from the data that survives: the image and a part of the log. The log
// consists of bytes, one record with length and checksum per commit, so a power cut may end it at
// any byte. A torn record and all records after it are ignored.
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
// Lifetime: borrows the clock. A store that reopen_...() returned does not refer to its original.
class ROCKLOCK_API FaultyStorage final : public Storage {
public:
    enum class Pump : std::uint8_t {
        // As in other stores, wait() writes and syncs.
        in_wait,
        // Commits are processed only by write_next(), sync() and pump(), for a simulator that
        // decides when they are written. wait() may be called only for deferred commits and for
        // those that are done(); otherwise an assertion fails. close() calls pump().
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

    // Checks and writes the first `count` queued commits. Errors: those that fail_nth() has set;
    // after an error, the store has failed.
    Result<void> write_next(std::size_t count = 1);
    // Syncs all written commits.
    Result<void> sync();
    // Writes and syncs all queued commits.
    Result<void> pump();

    std::size_t queued() const;
    CommitNumber written_through() const;
    CommitNumber synced_through() const;

    // The calls that can fail, each with its own counter. A write is counted for each commit that
    // changes data. A read is a get(), a scan(), a step of its cursor, or the check of a
    // precondition.
    enum class Call : std::uint8_t { enqueue, write, sync, read };

    // Makes the `nth` later call of this kind fail once; 1 is the next call. After a failure of a
    // call other than `read`, the store has failed. A commit whose write or sync failed may still
    // survive, because its bytes are in the log.
    void fail_nth(Call call, std::uint64_t nth,
                  Error error = Error(ErrorCode::io_error, "a planned failure"));
    // Returns the number of calls of this kind since the store was created.
    std::uint64_t calls(Call call) const;

    // Returns the log: the data that is written but not synced.
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
