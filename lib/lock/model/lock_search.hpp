// Searches over all held locks or sessions. A search is executed in steps, so that the lock table
// can make decisions between two steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/lock.hpp>

namespace rocklock {

// A position in a list of locks or of events. In a list of events, `grant` contains the sequence of
// an event.
struct LockPosition {
    std::string resource;
    std::uint64_t grant = 0;
    friend auto operator<=>(const LockPosition&, const LockPosition&) = default;
};

// One page of ListLocks, which LockTable::search() collects in steps. The page contains every
// matching lock that is held during the whole search. Locks that are acquired or end during the
// search may be included.
class LockSearch {
public:
    // Errors: invalid_argument (`limit` or `next`).
    static Result<LockSearch> begin(const ListLocks& request);

private:
    friend class LockTable;

    LockSearch(const ListLocks& request, std::optional<LockPosition> after)
        : request_(request), after_(std::move(after)) {}
    void offer(std::string_view resource, std::uint64_t grant);
    void sort();
    // Adds a row, and ends the page if it has reached max_page_bytes.
    void show(Holder holder);

    ListLocks request_;
    std::optional<LockPosition> after_;
    // The first positions after `after_`: at most one more than requested. Until sort() is called,
    // a heap whose top is the last of these positions.
    std::vector<LockPosition> found_;
    // The part of ResourceIndex that is searched next.
    std::size_t part_ = 0;
    // The index in `found_` of the position that is shown next.
    std::size_t shown_ = 0;
    bool sorted_ = false;
    LockPage page_;
    // The size of the texts in `page_`.
    std::size_t bytes_ = 0;
};

// A search for the sessions of one principal, or of all principals, that have not ended.
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
    // The sessions in the order in which they were opened. None until they have been collected.
    std::optional<std::vector<Found>> found_;
    std::size_t shown_ = 0;
    std::vector<SessionView> views_;
};

}  // namespace rocklock
