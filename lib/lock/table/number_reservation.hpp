// The source of the tokens and versions of a lock table.
//
// No number may be given out twice, even if there is a crash. Numbers are therefore reserved in
// ranges. The ends of the current ranges are called the marks. A record with the marks is committed
// before the numbers are used, and after a restart, numbering continues at the marks. The record is
// written with the batch of a decision and synced in the background. The marks can therefore be
// greater than those that are known to be durable.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include <rocklock/types.hpp>

#include "base/assert.hpp"
#include "lock/table/lock_table.hpp"

namespace rocklock {

class NumberReservation {
public:
    Token take_token() { return Token{next_token_++}; }
    std::uint64_t take_version() { return next_version_++; }

    // Returns true if a token greater than the first token of `grant` has been given out.
    bool token_taken_after(GrantId grant) const { return next_token_ > number(grant) + 1; }
    // Return true if the number is below the marks, as every number in a record must be.
    bool has_reserved_token(std::uint64_t token) const { return token < marks_.token; }
    bool has_reserved_version(std::uint64_t version) const { return version < marks_.version; }

    // Returns true if at most half of the last reservation is left, of the tokens or the versions.
    bool is_low() const { return has_at_most(ahead_ / 2); }
    bool is_used_up() const { return has_at_most(0); }
    // Returns true if every number that was given out is below the durable marks.
    bool is_safe() const {
        return next_token_ <= durable_.token && next_version_ <= durable_.version;
    }
    // Sets the marks to `min_count` numbers after those that were given out, or up to `max_factor`
    // times as many if numbers are used quickly: each reservation must be synced. Returns the
    // marks, which must be written.
    ReservedNumbers extend(std::uint64_t min_count, BootTime now) {
        if (extended_at_ && now - *extended_at_ < quick_use) ahead_ *= 2;
        // By less than a half, so that the mark moves although half of the last reservation is
        // left.
        if (extended_at_ && now - *extended_at_ >= slow_use) ahead_ -= ahead_ / 4;
        ahead_ = std::clamp(ahead_, min_count, max_factor * min_count);
        extended_at_ = now;
        // A smaller reservation than the last one must not move a mark back.
        marks_.token = std::max(marks_.token, next_token_ + ahead_);
        marks_.version = std::max(marks_.version, next_version_ + ahead_);
        // JSON numbers are exact below 2^53.
        ROCKLOCK_ASSERT(marks_.token < (std::uint64_t{1} << 53));
        ROCKLOCK_ASSERT(is_consistent());
        return marks_;
    }
    void confirm_durable(const ReservedNumbers& reserved) {
        durable_.token = std::max(durable_.token, reserved.token);
        durable_.version = std::max(durable_.version, reserved.version);
        ROCKLOCK_ASSERT(is_consistent());
    }

    // Called after a restart. Starts at the marks of the previous run.
    void start_at(std::uint64_t token, std::uint64_t version) {
        next_token_ = token;
        next_version_ = version;
        first_version_ = version;
        marks_ = {token, version};
        durable_ = {1, 1};
    }
    // For the mutant token_from_memory only.
    void reset_token(std::uint64_t token) { next_token_ = token; }

    // Returns the first version of this run.
    std::uint64_t first_version() const { return first_version_; }
    // Returns true if the durable marks are not greater than the marks.
    bool is_consistent() const {
        return durable_.token <= marks_.token && durable_.version <= marks_.version;
    }

private:
    static constexpr std::uint64_t max_factor = 32;
    // If half of a reservation was used in less time than `quick_use`, the next reservation is
    // greater, and if it took `slow_use` or longer, it is smaller.
    static constexpr std::chrono::seconds quick_use{1};
    static constexpr std::chrono::seconds slow_use{8};

    bool has_at_most(std::uint64_t left) const {
        return next_token_ + left >= marks_.token || next_version_ + left >= marks_.version;
    }

    // The size of the last reservation, and its time; nullopt before the first one of this run.
    std::uint64_t ahead_ = 0;
    std::optional<BootTime> extended_at_;
    std::uint64_t next_token_ = 1;
    std::uint64_t next_version_ = 1;
    std::uint64_t first_version_ = 1;
    ReservedNumbers marks_{1, 1};
    ReservedNumbers durable_{1, 1};
};

}  // namespace rocklock
