// Delays a commit until more requests can share it.
//
// If a commit takes long, the clients that it has answered send their next requests while the next
// commit is already in progress. These clients then share one commit, and all others share the
// next. Each commit contains only half of the requests, although a commit of all of them would take
// hardly longer. A short delay before a commit lets these clients catch up, so that all of them
// share one commit.
//
// The delay ends when as many responses have been added as the last commit has completed. It is
// limited to a part of the duration of a commit. If a delay has reached its limit, because the
// clients do not send their next requests at once, the next commits are not delayed: after each
// such delay in a row, twice as many as before.
#pragma once

#include <chrono>
#include <cstdint>

#include <rocklock/clock.hpp>

namespace rocklock::manager {

// The numbers of responses are totals since the start of the manager.
//
// Threads: one at a time.
class CommitDelay {
public:
    // Records that a commit begins. It completes all responses up to number `responses`.
    void begin(std::uint64_t responses, BootTime now);
    // Records that this commit has ended. `responses` is the number of responses that were added
    // until now.
    void end(std::uint64_t responses, BootTime now);

    // Returns the time until which the next commit should wait for further responses. If it is not
    // later than `now`, the commit should begin.
    BootTime delay_until(std::uint64_t responses, BootTime now) const;
    // Returns whether a delay is in progress that the response with this number ends.
    bool ends_with(std::uint64_t response) const { return delaying_ && response >= wanted_; }

    // Records that a delay begins or ends.
    void start_delay() { delaying_ = true; }
    void stop_delay(std::uint64_t responses);

private:
    std::uint64_t completed_ = 0;
    // The number of responses of the current or last commit.
    std::uint64_t group_ = 0;
    // The number of responses for which the next commit waits.
    std::uint64_t wanted_ = 0;
    BootTime began_{};
    BootTime ended_{};
    // The mean duration of about the last eight commits.
    std::chrono::nanoseconds commit_takes_{};
    bool delaying_ = false;
    // The number of commits that are not delayed after an unsuccessful delay, and how many of them
    // are left.
    std::uint32_t pause_ = 0;
    std::uint32_t pause_left_ = 0;
};

}  // namespace rocklock::manager
