// The queues and waits that a decision has to examine before it ends, and the resources that it may
// have to free. Each entry has a flag in its node, so it is listed at most once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "lock/model/nodes.hpp"

namespace rocklock {

class ServeList {
public:
    using Resource = lock_model::Resource;
    using Wait = lock_model::Wait;

    // A wait to be examined, regardless of its positions in queues.
    struct Recheck {
        bool conversion = false;
        std::uint64_t order = 0;
        Ticket ticket{};

        // Conversions first, each kind in the order of arrival.
        bool before(const Recheck& other) const {
            return conversion != other.conversion ? conversion : order < other.order;
        }
    };

    // Lists the queue of a resource, to be served.
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
        if (wait.recheck) return;
        wait.recheck = true;
        waits_.push_back({wait.conversion, wait.order, wait.ticket});
    }
    bool has_waits() const { return !waits_.empty(); }
    // Takes the listed waits in the order of Recheck::before(), in which they must be examined: of
    // two requests of one session for one resource, the first is granted. Some of the waits may
    // have ended since.
    std::vector<Recheck> take_waits() {
        std::vector<Recheck> due = std::exchange(waits_, {});
        std::sort(due.begin(), due.end(),
                  [](const Recheck& a, const Recheck& b) { return a.before(b); });
        return due;
    }

    // Lists a wait that has timed out but could not be granted when it was examined.
    void add_overdue(Wait& wait) {
        if (wait.overdue) return;
        wait.overdue = true;
        overdue_.emplace_back(wait.order, wait.ticket);
        std::push_heap(overdue_.begin(), overdue_.end(), std::greater<>{});
    }
    bool has_overdue() const { return !overdue_.empty(); }
    // Takes the overdue wait that arrived first, and returns its ticket. The wait may have ended
    // since.
    Ticket take_overdue() {
        std::pop_heap(overdue_.begin(), overdue_.end(), std::greater<>{});
        const Ticket ticket = overdue_.back().second;
        overdue_.pop_back();
        return ticket;
    }

    // Lists a resource that may have become empty.
    void add_maybe_empty(Resource& resource) {
        if (resource.touched) return;
        resource.touched = true;
        maybe_empty_.push_back(&resource);
    }
    bool has_maybe_empty() const { return !maybe_empty_.empty(); }
    Resource& take_maybe_empty() {
        Resource& resource = *maybe_empty_.back();
        maybe_empty_.pop_back();
        ROCKLOCK_ASSERT(resource.touched);
        resource.touched = false;
        return resource;
    }

    // True at the end of each decision.
    bool empty() const {
        return queues_.empty() && waits_.empty() && overdue_.empty() && maybe_empty_.empty();
    }

private:
    std::vector<Resource*> queues_;
    std::vector<Recheck> waits_;
    // A heap, with the smallest order on top.
    std::vector<std::pair<std::uint64_t, Ticket>> overdue_;
    std::vector<Resource*> maybe_empty_;
};

}  // namespace rocklock
