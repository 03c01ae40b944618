#include "lock/model/held.hpp"

#include <cstring>
#include <memory>

#include "lock/model/names.hpp"

namespace rocklock::lock_model {

// ---- Grants ----

LinkedGrant* Grant::make(std::size_t hold_count) {
    ROCKLOCK_ASSERT(hold_count > 0 && hold_count <= limits::resources_per_grant);
    auto* const grant =
        new (Arena::allocate(LinkedGrant::bytes(hold_count))) LinkedGrant(hold_count);
    LinkedHold* hold = grant->linked_holds();
    for (std::size_t i = 0; i < hold_count; ++i, ++hold) (new (hold) LinkedHold)->of_grant = grant;
    return grant;
}

LinkedGrant* Grant::make_from(Grant& plain) {
    ROCKLOCK_ASSERT(plain.plain);
    LinkedGrant* const made = make(1);
    made->set_id(plain.id());
    made->set_acquired(plain.acquired());
    made->set_version(plain.version());
    made->session = plain.session;
    made->next = plain.next;
    made->previous = plain.previous;
    made->waited = plain.waited;
    made->confirmed = plain.confirmed;
    const Hold& hold = plain.holds().front();
    made->linked_holds()->mode = hold.mode;
    made->linked_holds()->subtree = hold.subtree;
    made->linked_holds()->set_before(hold.before());
    const RequestIdentity request = plain.request();
    if (plain.extra() != nullptr) {
        ResourceExtra& owner = *static_cast<PlainGrant&>(plain).resource()->extra();
        made->own_extra = owner.of_plain_grant.take();
        made->own_extra->timer.owner = static_cast<Grant*>(made);
    }
    if (request.key) made->set_request(request);
    return made;
}

void Grant::destroy(Grant* grant) {
    if (grant->plain) return static_cast<PlainGrant*>(grant)->resource()->free_slot();
    auto* const linked = static_cast<LinkedGrant*>(grant);
    const std::size_t size = LinkedGrant::bytes(grant->hold_count);
    linked->~LinkedGrant();
    Arena::free(linked, size);
}

GrantExtra& Grant::with_extra() {
    NearOwner<GrantExtra>& owner =
        plain ? static_cast<PlainGrant*>(this)->resource()->with_extra().of_plain_grant
              : static_cast<LinkedGrant*>(this)->own_extra;
    if (!owner) {
        owner = std::make_unique<GrantExtra>();
        owner->timer.owner = this;
    }
    return *owner;
}

void Grant::set_request(const RequestIdentity& request) {
    const Resource* const at = plain ? static_cast<PlainGrant*>(this)->resource() : nullptr;
    if (at != nullptr && at->has_request) {
        at->request_part().set(request);
    } else {
        with_extra().request = request;
    }
}

// ---- Resources ----

Resource* Resource::make(std::string_view name, Slot slot) {
    ROCKLOCK_ASSERT(name.size() <= limits::name_bytes);
    const bool path = parent_path(name).has_value();
    auto* const resource =
        new (Arena::allocate(bytes(name.size(), slot, path))) Resource(name, slot, path);
    if (slot == Slot::without) {
        new (resource->after(0)) ResourceLinks;
    } else {
        new (resource->after(0)) InWords<LastGrant>;
    }
    if (path) new (resource->after(slot_bytes(slot != Slot::without))) PathLinks;
    if (slot == Slot::with_request) new (&resource->request_part()) RequestPart;
    std::memcpy(const_cast<char*>(resource->name().data()), name.data(), name.size());
    return resource;
}

void Resource::destroy(Resource* resource) {
    Slot slot = resource->has_slot ? Slot::with : Slot::without;
    if (resource->has_request) slot = Slot::with_request;
    const std::size_t size = bytes(resource->name_bytes, slot, resource->has_path != 0);
    resource->~Resource();
    Arena::free(resource, size);
}

void Resource::link(LinkedHold& hold) {
    ROCKLOCK_ASSERT(hold.at == this && !hold.plain);
    LinkedHold* const before = newest_linked();
    if (before != nullptr) with_extra();
    hold.newer = nullptr;
    hold.older = before;
    if (before != nullptr) before->newer = &hold;
    set_newest_linked(&hold);
    if (extra_) {
        ++extra_->linked.count;
        if (hold.mode != Mode::read) ++extra_->linked.strong;
    }
}

void Resource::unlink(LinkedHold& hold) {
    ROCKLOCK_ASSERT(hold.at == this && !hold.plain);
    ROCKLOCK_ASSERT(linked_holds().count > 0);
    if (hold.newer != nullptr) {
        hold.newer->older = hold.older;
    } else {
        set_newest_linked(hold.older);
    }
    if (hold.older != nullptr) hold.older->newer = hold.newer;
    if (!extra_) return;
    --extra_->linked.count;
    ROCKLOCK_ASSERT(hold.mode == Mode::read || extra_->linked.strong > 0);
    if (hold.mode != Mode::read) --extra_->linked.strong;
    ROCKLOCK_ASSERT(extra_->linked.strong <= extra_->linked.count);
    ROCKLOCK_ASSERT((extra_->linked.count == 0) == (newest_linked() == nullptr));
}

void Resource::free_slot() {
    ROCKLOCK_ASSERT(slot_used);
    const LastGrant before = last();
    slot().~PlainGrant();
    slot_used = false;
    new (after(0)) InWords<LastGrant>(before);
    if (!extra_) return;
    extra_->last_grant = {};
    extra_->of_plain_grant = nullptr;
}

void Resource::set_parent(Resource& above) {
    ROCKLOCK_ASSERT(parent() == nullptr && above.name_bytes < name_bytes);
    PathLinks& own = path();
    own.parent = &above;
    own.next = above.children();
    if (own.next != nullptr) own.next->path().previous = this;
    above.set_children(this);
}

void Resource::leave_parent() {
    ROCKLOCK_ASSERT(parent() != nullptr && children() == nullptr);
    PathLinks& own = path();
    if (own.previous != nullptr) {
        own.previous->path().next = own.next;
    } else {
        own.parent->set_children(own.next);
    }
    if (own.next != nullptr) own.next->path().previous = own.previous;
}

ResourceExtra& Resource::with_extra() {
    if (!extra_) {
        auto made = std::make_unique<ResourceExtra>();
        made->timer.owner = this;
        made->linked = linked_holds();
        extra_ = std::move(made);
    }
    return *extra_;
}

}  // namespace rocklock::lock_model
