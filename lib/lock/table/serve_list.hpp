// The queues and waits that a decision must examine before it ends, and the resources that it may
// have to free. Each node has a flag that is set while it is listed, so it is listed at most once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "lock/model/nodes.hpp"

namespace rocklock {

class ServeList {
public:
    using Resource = lock_model::Resource;
    using Wait = lock_model::Wait;

    // A wait that must be examined, even if it is not first in a queue.
    struct Recheck {
        lock_model::QueuePlace place;
        Ticket ticket{};
    };

    // Adds the queue of a resource, which must be served.
    void add_queue(Resource& resource) {
        if (resource.dirty || resource.queue() == nullptr) return;
        resource.dirty = true;
        queues_.push_back(&resource);
    }
    bool has_queue() const { return !queues_.empty(); }
    Resource& take_queue() {
        Resource& resource = *queues_.back();
        queues_.pop_back();
        ROCKLOCK_ASSERT(resource.dirty);
        resource.dirty = false;
        return resource;
    }
    // Returns false if the queue of the resource was not listed.
    bool remove_queue(Resource& resource) {
        if (std::erase(queues_, &resource) == 0) return false;
        ROCKLOCK_ASSERT(resource.dirty);
        resource.dirty = false;
        return true;
    }

    void add_wait(Wait& wait) {
        if (wait.listed.recheck) return;
        wait.listed.recheck = true;
        waits_.push_back({wait.place, wait.ticket});
    }
    bool has_waits() const { return !waits_.empty(); }
    // Takes all listed waits, in the order of their places. They must be examined in this order, so
    // that the first of two requests of one session for one resource is granted. Some of the waits
    // may have ended after they were listed.
    std::vector<Recheck> take_waits() {
        std::vector<Recheck> due = std::exchange(waits_, {});
        std::sort(due.begin(), due.end(),
                  [](const Recheck& a, const Recheck& b) { return a.place.before(b.place); });
        return due;
    }

    // Adds a wait that has timed out and could not be granted when it was examined.
    void add_overdue(Wait& wait) {
        if (wait.listed.overdue) return;
        wait.listed.overdue = true;
        overdue_.emplace_back(wait.place.order, wait.ticket);
        std::push_heap(overdue_.begin(), overdue_.end(), std::greater<>{});
    }
    bool has_overdue() const { return !overdue_.empty(); }
    // Takes the overdue wait that arrived first, and returns its ticket. The wait may have ended
    // after it was listed.
    Ticket take_overdue() {
        std::pop_heap(overdue_.begin(), overdue_.end(), std::greater<>{});
        const Ticket ticket = overdue_.back().second;
        overdue_.pop_back();
        return ticket;
    }

    // Adds a resource that may have become empty.
    void add_maybe_empty(Resource& resource) {
        if (resource.touched) return;
        resource.touched = true;
        maybe_empty_.push_back(&resource);
    }
    bool has_maybe_empty() const { return !maybe_empty_.empty(); }
    std::size_t maybe_empty_count() const { return maybe_empty_.size(); }
    // Returns the resources that the next calls of take_maybe_empty() will take, at most `count`.
    std::span<Resource* const> next_maybe_empty(std::size_t count) const {
        return std::span(maybe_empty_).last(std::min(count, maybe_empty_.size()));
    }
    Resource& take_maybe_empty() {
        Resource& resource = *maybe_empty_.back();
        maybe_empty_.pop_back();
        ROCKLOCK_ASSERT(resource.touched);
        resource.touched = false;
        return resource;
    }

    // Returns whether nothing is listed, as at the end of each decision.
    bool empty() const {
        return queues_.empty() && waits_.empty() && overdue_.empty() && maybe_empty_.empty();
    }

private:
    std::vector<Resource*> queues_;
    std::vector<Recheck> waits_;
    // A heap whose top has the smallest order.
    std::vector<std::pair<std::uint64_t, Ticket>> overdue_;
    std::vector<Resource*> maybe_empty_;
};

}  // namespace rocklock
