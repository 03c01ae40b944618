// The waiting AwaitNotices requests of a lock table. They can be found by ticket, by session, and
// by the time at which they time out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/assert.hpp"
#include "lock/model/hash_mix.hpp"
#include "lock/model/nodes.hpp"
#include "lock/model/timer_heap.hpp"

namespace rocklock {

class NoticeWaits {
public:
    using Session = lock_model::Session;

    // A request that has timed out, and its AwaitNotices::after.
    struct Overdue {
        Ticket ticket{};
        std::uint64_t after = 0;
    };

    // Adds a request of the session. The request times out at `timeout_ends`.
    void add(Session& session, Ticket ticket, std::uint64_t after, BootTime timeout_ends) {
        auto made = std::make_unique<Wait>();
        made->ticket = ticket;
        made->after = after;
        made->session = &session;
        made->timer.owner = made.get();
        if (timeout_ends < BootTime::max()) timeouts_.set(made->timer, timeout_ends);
        notices_of(session).waiting.push_back(ticket);
        const bool added = by_ticket_.emplace(number(ticket), std::move(made)).second;
        ROCKLOCK_ASSERT(added);
    }
    static std::size_t count(const Session& session) {
        return session.notices == nullptr ? 0 : session.notices->waiting.size();
    }

    // Removes a request. Returns false if no request has this ticket.
    bool remove(Ticket ticket) {
        const auto found = by_ticket_.find(number(ticket));
        if (found == by_ticket_.end()) return false;
        Wait& wait = *found->second;
        timeouts_.remove(wait.timer);
        const std::size_t erased = std::erase(wait.session->notices->waiting, ticket);
        ROCKLOCK_ASSERT(erased == 1);
        by_ticket_.erase(found);
        return true;
    }
    // Removes all requests of the session and returns their tickets.
    std::vector<Ticket> take(Session& session) {
        if (session.notices == nullptr) return {};
        std::vector<Ticket> tickets = session.notices->waiting;
        for (const Ticket ticket : tickets) remove(ticket);
        ROCKLOCK_ASSERT(session.notices->waiting.empty());
        return tickets;
    }
    // Removes a request that has timed out and returns it, or nullopt if there is none.
    std::optional<Overdue> take_overdue(BootTime now) {
        if (timeouts_.empty() || timeouts_.top().at > now) return std::nullopt;
        const auto& wait = *static_cast<const Wait*>(timeouts_.top().owner);
        const Overdue overdue{wait.ticket, wait.after};
        remove(overdue.ticket);
        return overdue;
    }
    const TimerHeap& timeouts() const { return timeouts_; }

    static lock_model::SessionNotices& notices_of(Session& session) {
        if (session.notices == nullptr) {
            session.notices = std::make_unique<lock_model::SessionNotices>();
        }
        return *session.notices;
    }

private:
    struct Wait {
        Ticket ticket{};
        std::uint64_t after = 0;
        Session* session = nullptr;
        Timer timer;
    };
    struct TicketHash {
        using is_avalanching = void;
        std::size_t operator()(std::uint64_t ticket) const { return spread(ticket); }
    };
    static constexpr std::uint64_t number(Ticket ticket) {
        return static_cast<std::uint64_t>(ticket);
    }

    boost::unordered_flat_map<std::uint64_t, std::unique_ptr<Wait>, TicketHash> by_ticket_;
    TimerHeap timeouts_;
};

}  // namespace rocklock
