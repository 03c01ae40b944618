// A store with held locks that was closed, or left by a killed process.
#pragma once

#include <cstddef>
#include <string>

#include "lock/held.hpp"
#include "scenarios/scenario.hpp"

namespace rocklock::bench {

// Returns a sample of one operation that took this time.
Sample sample_of(double seconds);
// Returns the duration of a sample, as a metric.
double seconds_of(const Sample& sample);
// Returns a number of locks for the name of a row, such as "10k" or "1M".
std::string short_of(std::size_t count);

// Fills the store in the constructor. Each measurement opens a copy of the store.
class LeftStore {
public:
    // The names of the locks are numbered from `first`.
    LeftStore(Setting& setting, std::size_t first, std::size_t locks, End end);

    const std::string& path() const { return path_; }

    // Measure the time to the first grant of a free name: from the call that opens the store in a
    // child process, or from the start of the daemon's program.
    Sample open_embedded() const;
    Sample start_daemon() const;

private:
    Setting& setting_;
    const std::string folder_;
    const std::string path_;
};

}  // namespace rocklock::bench
