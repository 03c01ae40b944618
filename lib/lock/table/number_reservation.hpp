// The source of the tokens and versions of a lock table.
//
// No number may be given out twice, even if there is a crash. Numbers are therefore reserved in
// ranges. The ends of the current ranges are called the marks. A record with the marks is committed
// before the numbers are used, and after a restart, numbering continues at the marks. The record is
// written with the batch of a decision and synced in the background. The marks can therefore be
// greater than those that are known to be durable.
#pragma once

#include <algorithm>
#include <cstdint>

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

    // Returns true if at most `ahead` reserved tokens, or at most `ahead` reserved versions, are
    // left.
    bool is_low(std::uint64_t ahead) const {
        return next_token_ + ahead >= marks_.token || next_version_ + ahead >= marks_.version;
    }
    // Returns true if every number that was given out is below the durable marks.
    bool is_safe() const {
        return next_token_ <= durable_.token && next_version_ <= durable_.version;
    }
    // Sets the marks to `ahead` numbers after those that were given out. Returns the marks, which
    // must be written.
    ReservedNumbers extend(std::uint64_t ahead) {
        marks_ = {next_token_ + ahead, next_version_ + ahead};
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
    std::uint64_t next_token_ = 1;
    std::uint64_t next_version_ = 1;
    std::uint64_t first_version_ = 1;
    ReservedNumbers marks_{1, 1};
    ReservedNumbers durable_{1, 1};
};

}  // namespace rocklock
