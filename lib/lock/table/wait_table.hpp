// The waiting requests of a lock table, which can be found by ticket and are listed in the order of
// arrival.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/assert.hpp"
#include "lock/model/nodes.hpp"
#include "lock/model/ticket_map.hpp"

namespace rocklock {

class WaitTable {
public:
    using Wait = lock_model::Wait;

    // Returns null if no request waits under this ticket.
    Wait* find(Ticket ticket) const { return by_ticket_.find(ticket); }
    std::size_t size() const { return by_ticket_.size(); }
    // Returns true if at least one waiting request has alternatives (Wait::any()), that is, needs
    // only one of several locks.
    bool has_any_of() const { return any_of_ > 0; }
    // Returns the wait that arrived first, or null if there is none. Wait::younger links each wait
    // to the next.
    Wait* oldest() const { return oldest_; }

    // Adds a wait under its ticket, as the youngest one, and sets its order.
    Wait& add(std::unique_ptr<Wait> made) {
        Wait& wait = *made;
        ROCKLOCK_ASSERT(wait.session != nullptr && !wait.requested_locks.empty());
        ROCKLOCK_ASSERT(by_ticket_.find(wait.ticket) == nullptr);
        wait.place.order = next_order_++;
        any_of_ += wait.any() ? 1 : 0;
        wait.older = youngest_;
        (youngest_ != nullptr ? youngest_->younger : oldest_) = &wait;
        youngest_ = &wait;
        by_ticket_.insert(wait.ticket, std::move(made));
        return wait;
    }
    // Removes the wait and frees it.
    void remove(Wait& wait) {
        ROCKLOCK_ASSERT(wait.locks.empty() && !wait.timer.armed());
        if (next_searched_ == &wait) next_searched_ = wait.younger;
        any_of_ -= wait.any() ? 1 : 0;
        (wait.older != nullptr ? wait.older->younger : oldest_) = wait.younger;
        (wait.younger != nullptr ? wait.younger->older : youngest_) = wait.older;
        const std::unique_ptr<Wait> taken = by_ticket_.take(wait.ticket);
        ROCKLOCK_ASSERT(taken.get() == &wait);
        ROCKLOCK_ASSERT((size() == 0) == (oldest_ == nullptr && youngest_ == nullptr));
    }
    // Changes the ticket of a wait. Its order of arrival does not change.
    void move(Wait& wait, Ticket ticket) {
        std::unique_ptr<Wait> taken = by_ticket_.take(wait.ticket);
        ROCKLOCK_ASSERT(taken.get() == &wait);
        wait.ticket = ticket;
        by_ticket_.insert(ticket, std::move(taken));
    }

    // Returns the wait at which the next step of LockTable::Core::search() begins: the oldest wait
    // if no search is in progress.
    Wait* search_from() const { return next_searched_ != nullptr ? next_searched_ : oldest_; }
    // If `next` is null, the search ends.
    void continue_search_at(Wait* next) { next_searched_ = next; }
    bool searching() const { return next_searched_ != nullptr; }

private:
    TicketMap<Wait, TicketShares{8, 10}> by_ticket_;
    Wait* oldest_ = nullptr;
    Wait* youngest_ = nullptr;
    Wait* next_searched_ = nullptr;
    std::uint64_t next_order_ = 1;
    std::size_t any_of_ = 0;
};

}  // namespace rocklock
