// Repeatedly kills a worker process, checks the store that the worker leaves, and starts the next
// worker with this store. Counts the results.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crash/journal.hpp"
#include "crash/judge.hpp"
#include "simulation/random.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::crash {

struct Counts {
    std::uint64_t rounds = 0;
    std::uint64_t stores = 0;
    std::uint64_t reboots = 0;
    std::uint64_t killed_at_points = 0;
    std::uint64_t killed_at_random = 0;
    std::uint64_t killed_in_flush = 0;
    // The number of rounds in which the worker ended before it reached the point at which it should
    // be killed.
    std::uint64_t missed = 0;
    std::uint64_t decided = 0;
    std::uint64_t answered = 0;
    // The number of decisions that were lost.
    std::uint64_t lost = 0;
    // The number of decisions that survived although no response had been sent.
    std::uint64_t unanswered_survivors = 0;
    std::uint64_t grants_compared = 0;
    std::array<std::array<std::uint64_t, point_count>, verb_count> kills{};
    std::array<std::array<std::uint64_t, point_count>, verb_count> passed{};
};

// A verb, and a kill point that is reached while an operation with this verb runs.
struct Target {
    Verb verb = Verb::acquire;
    std::size_t point = 0;
};
// Returns all targets. If the response to a verb does not wait for a sync, the kill point after the
// sync is excluded for this verb.
std::vector<Target> targets();

// The threads in the worker in addition to the caller.
enum class Company : std::uint8_t {
    // No other threads. The caller writes everything, so the contents of the log at each kill point
    // are known exactly.
    alone,
    // The manager's thread, which delays deferred writes.
    manager,
    // The manager's thread and several callers, which write for each other.
    threads,
};

struct Round {
    Life life;
    Found found;
    Verb verb = Verb::recovery;
    std::size_t point = 0;
    bool at_point = false;
};

class Campaign {
public:
    explicit Campaign(std::uint64_t seed) : random_(seed), seed_(seed) {}

    // Runs a round in which the worker kills itself when it reaches `target` for the nth time.
    Round at_point(Company company, Target target, std::uint32_t nth);
    // When records are flushed: when the worker closes the store, or also during its operations.
    enum class Flushes : std::uint8_t { at_close, often };
    // Runs a round in which the worker kills itself when it passes KillPoint::in_flush for the nth
    // time. With `often`, the worker has several threads.
    Round in_flush(Flushes flushes, std::uint32_t nth);
    // Runs a round with several threads, in which the campaign kills the worker at a random time.
    Round at_random();

    // Checks the store after a round. Returns nullopt if the store is correct, otherwise a message
    // with the history of the round.
    Complaint judge(const Round& round);
    const Counts& counts() const { return counts_; }
    const Outside& outside() const { return outside_; }
    simulation::Random& random() { return random_; }

    // Returns the targets at which no worker has been killed.
    std::vector<Target> never_hit() const;
    std::string report() const;

private:
    enum class Killer : std::uint8_t { worker, harness };
    Orders orders();
    Round play(const Orders& orders, Killer killer);
    Complaint end_of(int process, const Journal& journal, Killer killer);
    void count(const Journal& journal, Killer killer, Round& round);

    simulation::Random random_;
    const std::uint64_t seed_;
    std::unique_ptr<testing::TemporaryDirectory> directory_;
    Outside outside_;
    std::uint64_t boots_ = 0;
    Counts counts_;
};

}  // namespace rocklock::crash
