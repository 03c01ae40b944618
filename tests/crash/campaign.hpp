// Kills a worker, looks at what it has left, lets the next one go on with it, and counts.
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
    // The point that was ordered was not passed.
    std::uint64_t missed = 0;
    std::uint64_t decided = 0;
    std::uint64_t answered = 0;
    // Decided, and gone.
    std::uint64_t lost = 0;
    // Survived though nobody was answered.
    std::uint64_t unanswered_survivors = 0;
    std::uint64_t grants_compared = 0;
    std::array<std::array<std::uint64_t, point_count>, verb_count> kills{};
    std::array<std::array<std::uint64_t, point_count>, verb_count> passed{};
};

// A verb, and a point that must be passed on its behalf.
struct Target {
    Verb verb = Verb::acquire;
    std::size_t point = 0;
};
// All there are: what is answered as written is not synced, so nobody can be killed after that.
std::vector<Target> targets();

// Who else is at work in the worker.
enum class Company : std::uint8_t {
    // Nobody: all is written by the caller, so what is in the log at each point is known exactly.
    alone,
    // The manager's thread, which leaves what is deferred unwritten for a while.
    manager,
    // That, and more callers, who write for each other.
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

    // A worker that ends itself at the nth time that it comes to `target`.
    Round at_point(Company company, Target target, std::uint32_t nth);
    // Threads, and an end from outside.
    Round at_random();

    // What is wrong with it, told with all that led there.
    Complaint judge(const Round& round);
    const Counts& counts() const { return counts_; }
    const Outside& outside() const { return outside_; }
    simulation::Random& random() { return random_; }

    // Which of targets() nobody was killed at.
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
