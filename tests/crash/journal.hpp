// What a worker did, in a file that both it and the harness have mapped: what was written there
// before the worker was killed is there afterwards.
//
// An entry is filled in this order, and counts for as much as it has come to:
//   prepared  the operation is about to be submitted
//   decided   the manager has read the clock for it, under the mutex that orders decisions. The
//             number counts the decisions of this worker, so it says in which order they were made;
//             nothing of the operation can have reached the storage before
//   answered  its answer was given
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

// The three points of the storage, and one of the worker's own.
inline constexpr std::size_t point_count = 4;
inline constexpr std::size_t after_reply = 3;
inline constexpr std::array<const char*, point_count> point_names = {"before_write", "after_write",
                                                                     "after_sync", "after_reply"};

// What the harness tells the worker.
struct Orders {
    std::uint64_t seed = 0;
    std::uint32_t threads = 1;
    // Operations of all threads together.
    std::uint32_t operations = 0;
    // With the manager's own thread; without it, everything happens in the caller's.
    bool background = false;
    // Whether to stay at the end, to be killed from outside.
    bool stays = false;
    // Ends itself when `point` is passed for the nth time on behalf of `verb`; 0: never.
    std::uint32_t nth = 0;
    Verb verb = Verb::recovery;
    std::size_t point = 0;
    std::array<char, 32> boot_id{};
};

// Lock-free, so that a kill leaves nothing half done.
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
    // The store is open.
    std::atomic<std::uint32_t> recovered;
    // All was done.
    std::atomic<std::uint32_t> finished;
    std::atomic<std::uint64_t> decisions;
    // So many decisions were made when the storage had last written; exact with one thread alone.
    std::atomic<std::uint64_t> written;
    // It was about to kill itself.
    std::atomic<std::uint32_t> killed_itself;
    std::array<std::array<std::atomic<std::uint32_t>, point_count>, verb_count> passed;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// The mapped file. One of its makers is the harness, the other the worker.
class Journal {
public:
    static constexpr std::uint32_t capacity = 512;

    // A new one, empty; or the one that is there.
    static Journal create(const std::string& path, const Orders& orders);
    static Journal open(const std::string& path);
    Journal(Journal&& other) noexcept;
    Journal& operator=(Journal&&) = delete;
    ~Journal();

    JournalHeader& header() const { return *header_; }
    Entry& entry(std::uint32_t index) const { return entries_[index]; }

    // The worker's part.
    Entry& prepare(const Operation& operation) const;
    void decide(Entry& entry, Instant now) const;
    static void answer(Entry& entry, const Result<Answer>& answer);

private:
    Journal(const std::string& path, bool create);

    void* mapped_ = nullptr;
    JournalHeader* header_ = nullptr;
    Entry* entries_ = nullptr;
};

// An operation as it was found in a journal.
struct Step {
    Operation operation;
    // 0 while it was not decided.
    std::uint64_t decided = 0;
    Instant at;
    std::optional<Result<Answer>> answer;
};

// A worker's life, as far as it came.
struct Life {
    std::vector<Step> steps;
    std::uint64_t decisions = 0;
    // What must have survived, if that is known exactly.
    std::optional<std::uint64_t> written;
};

// Nothing when the journal cannot be read.
std::optional<Life> read(const Journal& journal);

}  // namespace rocklock::crash
