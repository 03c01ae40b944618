// The time limits for the request that a connection receives and for the response that it sends.
//
// A limit is the stall timeout plus the time that the bytes transferred so far would take at a low
// rate. Therefore, a client that sends or reads single bytes does not extend the limit noticeably.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace rocklock {

// The position of a byte is the number of bytes that precede it in the input or the output.
// Threads: one at a time.
class TransferLimits {
public:
    using Time = std::chrono::steady_clock::time_point;

    // 0 means no limit. A time of more than a year counts as a year.
    explicit TransferLimits(std::chrono::milliseconds stall_timeout)
        : stall_timeout_(std::min<std::chrono::milliseconds>(stall_timeout, max_stall_timeout)) {}

    // Reports the position at which the incomplete request begins, or nullopt if there is none or
    // if the daemon does not read the input. Returns true if a time limit begins.
    bool set_request(std::optional<std::uint64_t> begin) { return set(request_, begin); }
    // Reports the position of the first output byte that the socket does not accept, or nullopt if
    // there is none. Returns true if a time limit begins.
    bool set_response(std::optional<std::uint64_t> begin) { return set(response_, begin); }
    bool has_response() const { return response_.has_value(); }

    // Return the time at which the request or the response must be complete, or nullopt if there is
    // no such time.
    std::optional<Time> request_end(std::uint64_t received) const {
        return end_of(request_, received);
    }
    std::optional<Time> response_end(std::uint64_t sent) const { return end_of(response_, sent); }

private:
    // Longer times could exceed the range of `Time`.
    static constexpr std::chrono::hours max_stall_timeout{365 * 24};
    static constexpr std::uint64_t min_bytes_a_second = 16u << 10;

    struct Transfer {
        std::uint64_t begin = 0;
        Time since;
    };

    static bool set(std::optional<Transfer>& transfer, std::optional<std::uint64_t> begin) {
        if (!begin) transfer.reset();
        if (!begin || (transfer && transfer->begin == *begin)) return false;
        transfer = Transfer{*begin, Time::clock::now()};
        return true;
    }
    std::optional<Time> end_of(const std::optional<Transfer>& transfer,
                               std::uint64_t position) const {
        if (!transfer || stall_timeout_.count() == 0) return std::nullopt;
        const std::chrono::milliseconds earned{(position - transfer->begin) * 1'000 /
                                               min_bytes_a_second};
        return transfer->since + stall_timeout_ + earned;
    }

    const std::chrono::milliseconds stall_timeout_;
    std::optional<Transfer> request_;
    std::optional<Transfer> response_;
};

}  // namespace rocklock
