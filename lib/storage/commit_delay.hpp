// Delays a commit until more requests can share it.
//
// If a commit takes a long time, the clients that it has answered send their next requests while
// the next commit is already in progress. These clients then share one commit, and all others share
// the next. Each commit contains only half of the requests, although a commit of all of them would
// take little longer. A short delay before a commit lets these clients catch up, so that all of
// them share one commit.
//
// The delay ends when as many requests have arrived as the last commit has completed. It is at most
// a given share of the mean duration of a commit, and never longer than 5 ms, from the end of the
// last commit. A commit is not delayed if the last one has completed fewer requests than a given
// number.
//
// If more than an eighth of the requests are missing at the end of a delay, because the clients do
// not send their next requests at once, the next commits are not delayed: one after the first such
// delay in a row, then 3, 7, 15, 31, 63, and then 64 each time.
#pragma once

#include <chrono>
#include <cstdint>

#include <rocklock/clock.hpp>

namespace rocklock {

// The caller defines what a request is: the lock manager counts the responses that were added, and
// the group commit counts the calls of wait() for a sync. All numbers of requests are totals since
// the object was created.
//
// Threads: one thread, or several that hold a mutex of the caller.
class CommitDelay {
public:
    // `share` is the maximum delay, divided by the mean duration of a commit. A commit is delayed
    // only if the last one has completed at least `min_group` requests.
    CommitDelay(double share, std::uint64_t min_group) : share_(share), min_group_(min_group) {}

    // Records that a commit begins.
    void begin(BootTime now);
    // Records that this commit has ended. Until now, `arrived` requests have arrived, and the first
    // `completed` of them are completed.
    void end(std::uint64_t arrived, std::uint64_t completed, BootTime now);

    // Returns the time until which the next commit should wait for further requests, if `arrived`
    // have arrived. If it is not later than `now`, the commit should begin.
    BootTime delay_until(std::uint64_t arrived, BootTime now) const;
    // Returns whether a delay is in progress that the request with this number ends.
    bool ends_with(std::uint64_t request) const { return delaying_ && request >= wanted_; }
    // Returns the total number of requests at which the delay ends.
    std::uint64_t wanted() const { return wanted_; }

    // Records that a delay begins or ends.
    void start_delay() { delaying_ = true; }
    void stop_delay(std::uint64_t arrived);

private:
    const double share_;
    const std::uint64_t min_group_;
    std::uint64_t completed_ = 0;
    // The number of requests that the last commit has completed, not a total.
    std::uint64_t group_ = 0;
    // The number of requests for which the next commit waits.
    std::uint64_t wanted_ = 0;
    BootTime began_{};
    BootTime ended_{};
    // The exponential moving average of the durations of commits, with the weight 1/8.
    std::chrono::nanoseconds commit_takes_{};
    bool delaying_ = false;
    // The number of commits that are not delayed after an unsuccessful delay, and how many of them
    // are left.
    std::uint32_t pause_ = 0;
    std::uint32_t pause_left_ = 0;
};

}  // namespace rocklock
