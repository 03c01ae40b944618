// A map from tickets to waiting requests. There may be a million of them. If they were in one hash
// table, all requests would be delayed while the table is rehashed. The map therefore consists of
// several hash tables that grow at different times.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include <rocklock/lock.hpp>

#include "base/assert.hpp"
#include "lock/model/hash_mix.hpp"

namespace rocklock {

struct TicketHash {
    using is_avalanching = void;
    std::size_t operator()(Ticket ticket) const {
        return spread(static_cast<std::uint64_t>(ticket));
    }
};

// A hash table doubles when it is full. The three hash tables of a map get different shares of all
// tickets, so that they are not full at the same time. The shares are in units of 1/32; the third
// table gets the remaining tickets.
struct TicketShares {
    unsigned first = 0;
    unsigned second = 0;
};

template <typename Value, TicketShares shares>
class TicketMap {
public:
    Value* find(Ticket ticket) const {
        const Part& part = parts_[part_of(ticket)];
        const auto found = part.find(ticket);
        return found != part.end() ? found->second.get() : nullptr;
    }
    void insert(Ticket ticket, std::unique_ptr<Value> value) {
        ROCKLOCK_ASSERT(value != nullptr);
        const bool added = parts_[part_of(ticket)].emplace(ticket, std::move(value)).second;
        ROCKLOCK_ASSERT(added);
        ++size_;
    }
    // Returns null if there is no such ticket.
    std::unique_ptr<Value> take(Ticket ticket) {
        Part& part = parts_[part_of(ticket)];
        const auto found = part.find(ticket);
        if (found == part.end()) return nullptr;
        std::unique_ptr<Value> value = std::move(found->second);
        part.erase(found);
        ROCKLOCK_ASSERT(size_ > 0);
        --size_;
        return value;
    }
    std::size_t size() const { return size_; }

    // Returns all values in no particular order, and empties the map.
    std::vector<std::unique_ptr<Value>> take_all() {
        std::vector<std::unique_ptr<Value>> all;
        all.reserve(size_);
        for (Part& part : parts_) {
            for (auto& [ticket, value] : part) all.push_back(std::move(value));
            part.clear();
        }
        ROCKLOCK_ASSERT(all.size() == size_);
        size_ = 0;
        return all;
    }

private:
    using Part = boost::unordered_flat_map<Ticket, std::unique_ptr<Value>, TicketHash>;

    static std::size_t part_of(Ticket ticket) {
        // The bits that select the part are independent of those that TicketHash uses within the
        // part.
        const auto mixed = (static_cast<std::uint64_t>(ticket) * 0xD1B54A32D192ED03U) >> 59;
        if (mixed < shares.first) return 0;
        return mixed < shares.first + shares.second ? 1 : 2;
    }

    std::array<Part, 3> parts_;
    std::size_t size_ = 0;
};

}  // namespace rocklock
