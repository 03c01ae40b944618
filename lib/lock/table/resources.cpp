// Creates and removes resources.
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/assert.hpp"
#include "lock/model/names.hpp"
#include "lock/table/core.hpp"

namespace rocklock {

using lock_model::Resource;

Resource* LockTable::Core::find(std::string_view name) const { return resources.find(name); }

// Returns the resource, and creates it if it does not exist. At the end of the event, a new
// resource that is still unused is removed or added to `idle`.
Resource& LockTable::Core::resource(std::string_view name, Slot slot) {
    const lock_model::HashedName wanted(name);
    if (Resource* known = resources.find(wanted)) return *known;
    Resource& made = enter(*Resource::make(name, slot), wanted);
    serving.add_maybe_empty(made);
    return made;
}

Resource& LockTable::Core::enter(Resource& made, const lock_model::HashedName& name) {
    resources.insert(made, name);
    if (made.has_path) {
        const std::string_view above = *parent_path(made.name());
        Resource* const known = resources.find_repeated(above);
        made.set_parent(known != nullptr ? *known : resource(above));
    }
    if (last_grants.empty()) return made;
    const std::uint64_t hash = fnv1a(made.name());
    if (const lock_model::LastGrant* const last = last_grants.find(hash)) {
        // A grant that recovery has put into the slot may be newer.
        if (last->grant() > made.last().grant()) made.set_last(*last);
        last_grants.forget(hash);
    }
    return made;
}

// Calls retire_if_unused() for these resources, which are the next ones of `serving`. If many
// leases have ended, few of the objects are in the processor's cache, and are therefore loaded
// together.
void LockTable::Core::retire_unused(std::span<Resource* const> group) {
    const std::size_t left = serving.maybe_empty_count() - group.size();
    // Otherwise, most of them become idle and are not removed now.
    if (!idle.accepts() && group.size() == loaded_together) load_together(group);
    // Removing a resource may leave its parent empty, which is then listed as well.
    while (serving.maybe_empty_count() > left) retire_if_unused(serving.take_maybe_empty());
}

// Prefetches most of the objects that remove() will access for these resources.
void LockTable::Core::load_together(std::span<Resource* const> group) const {
    ROCKLOCK_ASSERT(group.size() <= loaded_together);
    for (const Resource* resource : group) {
        __builtin_prefetch(resource);
        __builtin_prefetch(reinterpret_cast<const char*>(resource) + cache_line);
    }
    std::array<std::uint64_t, loaded_together> hashes{};
    std::size_t count = 0;
    for (const Resource* resource : group) hashes[count++] = hash_of(resource->name());
    resources.prefetch(std::span(hashes).first(count));
    for (const Resource* resource : group) {
        // The lookup also loads the place of an entry that will be added.
        __builtin_prefetch(last_grants.find(fnv1a(resource->name())));
    }
}

void LockTable::Core::retire_if_unused(Resource& resource) {
    if (resource.needed(now.boot) || resource.idle) return;
    const bool keeps = idle.accepts() && resource.has_slot && !resource.extra();
    if (!keeps) return remove(resource);
    Resource* const oldest = idle.add(resource);
    // A resource that is listed in `serving` is examined later.
    if (oldest == nullptr || oldest->touched || oldest->needed(now.boot)) return;
    remove(*oldest);
}

void LockTable::Core::free_unused() {
    ROCKLOCK_ASSERT(!idle.accepts());
    for (Resource* const resource : idle.take_all()) serving.add_maybe_empty(*resource);
    grants.free_empty_page();
}

void LockTable::Core::remove(Resource& resource) {
    ROCKLOCK_ASSERT(!resource.held() && !resource.dirty && !resource.idle && !resource.touched);
    ROCKLOCK_ASSERT(resource.strong() == 0 && resource.queue() == nullptr);
    if (resource.extra()) timers.closures.remove(resource.extra()->timer);
    if (resource.last().grant() != GrantId{}) {
        last_grants.keep(fnv1a(resource.name()), resource.last());
    }
    if (resource.parent() != nullptr) {
        resource.leave_parent();
        serving.add_maybe_empty(*resource.parent());
    }
    resources.erase(resource, lock_model::HashedName(resource.name()));
    Resource::destroy(&resource);
}

}  // namespace rocklock
