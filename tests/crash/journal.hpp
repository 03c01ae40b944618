// The record of a worker's operations, in a file that the worker and the harness have mapped. It
// contains everything that was written before the worker was killed.
//
// An entry passes through these states:
//   prepared  the operation will be submitted next
//   decided   the manager has read the clock for the operation, under the mutex that orders the
//             decisions. The number counts the decisions of this worker, so it defines their order.
//             The storage has not received anything of the operation yet.
//   answered  the response was given
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/clock.hpp>

#include "crash/operation.hpp"

namespace rocklock::crash {

// The kill points of a commit, and one in the worker. KillPoint::in_flush is counted separately.
inline constexpr std::size_t point_count = 4;
inline constexpr std::size_t after_reply = 3;
inline constexpr std::array<const char*, point_count> point_names = {"before_write", "after_write",
                                                                     "after_sync", "after_reply"};

// The parameters of a worker, which the harness sets.
struct Orders {
    std::uint64_t seed = 0;
    std::uint32_t threads = 1;
    // The number of operations of all threads together.
    std::uint32_t operations = 0;
    // Whether the manager has its own thread. If false, everything runs in the calling thread.
    bool background = false;
    // If true, the worker completes its operations and then waits until it is killed.
    bool stays = false;
    // The worker kills itself when it reaches `point` for the nth time while it runs `verb`. If
    // `nth` is 0, it does not kill itself.
    std::uint32_t nth = 0;
    Verb verb = Verb::recovery;
    std::size_t point = 0;
    // The size of the write buffer, and therefore how often records are flushed.
    std::size_t write_buffer_bytes = 8U << 20;
    // The worker closes the store after its operations, and kills itself when it passes
    // KillPoint::in_flush for the nth time. If nth_in_flush is 0, the worker does neither.
    std::uint32_t nth_in_flush = 0;
    std::array<char, 32> boot_id{};
};

// The atomic members are lock-free, so that no value is partly written when the worker is killed.
struct Entry {
    std::atomic<std::uint32_t> prepared_bytes;
    std::atomic<std::uint32_t> answered_bytes;
    std::atomic<std::uint64_t> decided;
    std::int64_t boot;
    std::int64_t wall;
    std::array<char, 512> operation;
    std::array<char, 7648> answer;
};

struct JournalHeader {
    Orders orders;
    std::atomic<std::uint32_t> entries;
    // Set when the store is open.
    std::atomic<std::uint32_t> recovered;
    // Set when all operations are complete.
    std::atomic<std::uint32_t> finished;
    std::atomic<std::uint64_t> decisions;
    // The number of decisions at the last write of the storage. The number is exact only if the
    // worker has a single thread.
    std::atomic<std::uint64_t> written;
    // How often the worker has passed KillPoint::in_flush, and whether it killed itself there.
    std::atomic<std::uint32_t> passed_in_flush;
    std::atomic<std::uint32_t> killed_in_flush;
    // Set immediately before the worker kills itself.
    std::atomic<std::uint32_t> killed_itself;
    std::array<std::array<std::atomic<std::uint32_t>, point_count>, verb_count> passed;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// The mapped file. The harness creates it, and the worker opens it.
class Journal {
public:
    static constexpr std::uint32_t capacity = 512;

    // Creates an empty journal.
    static Journal create(const std::string& path, const Orders& orders);
    static Journal open(const std::string& path);
    Journal(Journal&& other) noexcept;
    Journal& operator=(Journal&&) = delete;
    ~Journal();

    JournalHeader& header() const { return *header_; }
    Entry& entry(std::uint32_t index) const { return entries_[index]; }

    // Called by the worker.
    Entry& prepare(const Operation& operation) const;
    void decide(Entry& entry, Instant now) const;
    static void answer(Entry& entry, const Result<Answer>& answer);

private:
    Journal(const std::string& path, bool create);

    void* mapped_ = nullptr;
    JournalHeader* header_ = nullptr;
    Entry* entries_ = nullptr;
};

// An operation that was read from a journal.
struct Step {
    Operation operation;
    // The number of the operation's decision, or 0 if the operation was not decided.
    std::uint64_t decided = 0;
    Instant at;
    std::optional<Result<Answer>> answer;
};

// The recorded operations of a worker.
struct Life {
    std::vector<Step> steps;
    std::uint64_t decisions = 0;
    // The number of decisions that must have survived, if this number is known exactly.
    std::optional<std::uint64_t> written;
};

// Returns nullopt if the journal cannot be read.
std::optional<Life> read(const Journal& journal);

}  // namespace rocklock::crash
