// A store in memory that fails, forgets and tears, exactly when it is told to.
//
// It models a disk: an image of what is synced, a log of what was written since, and the queue.
//
//     enqueue() ──► queue ──write──► log: written,           ──sync──► image: synced,
//                                    survives the process              survives a power cut
//
// A crash is a new store made of what survives: the image and some part of the log. The log is
// bytes, a record a commit with its length and checksum, so a power cut may end it anywhere; a torn
// record is wholly absent, and so is all behind it.
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

// Threads:  thread-safe in `Pump::in_wait`; one thread in `Pump::by_hand`.
// Lifetime: borrows the clock. A store made by reopen_…() owes nothing to the one before it.
class ROCKLOCK_API FaultyStorage final : public Storage {
public:
    enum class Pump : std::uint8_t {
        // As any store: wait() writes and syncs.
        in_wait,
        // Nothing happens until write_next(), sync() or pump() is called: for a simulator that
        // decides when. wait() must then be called for deferred commits and for those that are
        // done() only; an assertion fails otherwise. close() pumps.
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

    // Judges and writes the first `count` queued commits. Errors: the planned ones; the store has
    // failed then.
    Result<void> write_next(std::size_t count = 1);
    // Syncs all that is written.
    Result<void> sync();
    // Writes and syncs everything.
    Result<void> pump();

    std::size_t queued() const;
    CommitNumber written_through() const;
    CommitNumber synced_through() const;

    // The calls that can fail, each counted by itself. A write is that of one commit that changes
    // something; a read is a get(), a scan() or a step of its cursor, or a precondition's look.
    enum class Call : std::uint8_t { enqueue, write, sync, read };

    // Makes the `nth` of those calls from now on fail, once; 1 is the next one. All but `read`
    // leave the store failed. A commit whose write or sync failed may have happened nevertheless:
    // its bytes are in the log.
    void fail_nth(Call call, std::uint64_t nth,
                  Error error = Error(ErrorCode::io_error, "a planned failure"));
    // So many there have been since the store was made.
    std::uint64_t calls(Call call) const;

    // The log: what is written and not synced.
    std::string log() const;
    // Where in it each of its commits ends.
    std::vector<std::size_t> log_ends() const;

    // The process dies: what is queued is lost.
    std::unique_ptr<FaultyStorage> reopen_after_kill() const;
    // The power fails: so many bytes of the log survive.
    std::unique_ptr<FaultyStorage> reopen_after_power_cut(std::size_t surviving_bytes = 0) const;
    // Anything else one can do to a log, such as flipping bits of log().
    std::unique_ptr<FaultyStorage> reopen_with_log(std::string_view log) const;

private:
    class Disk;
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace rocklock::testing
