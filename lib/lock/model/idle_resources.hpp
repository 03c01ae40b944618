// The resources that have become unused most recently. They are kept for a while, because many
// names are locked again soon, and it is slow to create a resource and to insert it into the index.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "lock/model/held.hpp"

namespace rocklock::lock_model {

// A queue of resources: when it is full, each new resource replaces the oldest one. A resource that
// is used again stays in the queue. Resource::idle is set for the resources in the queue.
//
// Threads: one at a time.
class IdleResources {
public:
    static constexpr std::size_t max_count = 1024;

    // Whether resources are added. False during a Tick: many leases may end in it, and their
    // resources would only replace those that are already in the queue.
    void set_accepting(bool accepting) { accepting_ = accepting; }
    bool accepts() const { return accepting_; }

    // Adds a resource that is not in the queue. Returns the resource that it replaces, or null.
    Resource* add(Resource& resource) {
        ROCKLOCK_ASSERT(!resource.idle);
        resource.idle = true;
        if (queue_.size() < max_count) {
            queue_.push_back(&resource);
            return nullptr;
        }
        Resource* const oldest = queue_[oldest_];
        queue_[oldest_] = &resource;
        oldest_ = (oldest_ + 1) % max_count;
        oldest->idle = false;
        return oldest;
    }
    // Removes all resources from the queue, and returns them.
    std::vector<Resource*> take_all() {
        for (Resource* const resource : queue_) resource->idle = false;
        oldest_ = 0;
        return std::exchange(queue_, {});
    }
    std::size_t size() const { return queue_.size(); }

private:
    // Once it is full, a ring that begins at `oldest_`.
    std::vector<Resource*> queue_;
    std::size_t oldest_ = 0;
    bool accepting_ = true;
};

}  // namespace rocklock::lock_model
