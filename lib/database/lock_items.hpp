// What the lock manager tells, as items: the members that the protocol gives it, durations and
// tokens as numbers, times as strings.
#pragma once

#include <rocklock/items/attribute_value.hpp>
#include <rocklock/lock.hpp>

namespace rocklock {

Item item_of(const Holder& holder);
Item item_of(const SessionView& session);
Item item_of(const LockEvent& event);
Item item_of(const LockClass& lock_class);

}  // namespace rocklock
