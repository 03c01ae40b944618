// A search through all that is held, in steps, so that others can decide between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/lock.hpp>

namespace rocklock {

// Where a page goes on: behind this resource and grant. Of events: resource and sequence.
struct LockPlace {
    std::string resource;
    std::uint64_t grant = 0;
    friend auto operator<=>(const LockPlace&, const LockPlace&) = default;
};

// One page of ListLocks while it is being put together: LockTable::search() goes on with it. What
// is held from the first step to the last is in it; what comes or goes between may be.
class LockSearch {
public:
    // Errors: invalid_argument (`limit` or `next`).
    static Result<LockSearch> begin(const ListLocks& request);

private:
    friend class LockTable;

    LockSearch(const ListLocks& request, std::optional<LockPlace> after)
        : request_(request), after_(std::move(after)) {}
    void offer(std::string_view resource, std::uint64_t grant);
    void sort();

    ListLocks request_;
    std::optional<LockPlace> after_;
    // The first behind `after_`, one more than are asked for: a heap with the last on top, until it
    // is sorted.
    std::vector<LockPlace> found_;
    // The part of the table that is next to be looked through.
    std::size_t part_ = 0;
    // Which of those found is next to be shown, once all have been found.
    std::size_t shown_ = 0;
    bool sorted_ = false;
    LockPage page_;
};

// The live sessions of one principal, or of all, while they are being listed.
class SessionSearch {
public:
    explicit SessionSearch(std::string_view principal) : principal_(principal) {}

private:
    friend class LockTable;

    struct Found {
        std::uint64_t order = 0;
        SessionId id;
    };

    std::string principal_;
    // In order of opening.
    std::optional<std::vector<Found>> found_;
    std::size_t shown_ = 0;
    std::vector<SessionView> views_;
};

}  // namespace rocklock
