// Converts values of the lock manager to items. The items have the members that these values have
// in the protocol. Durations and tokens become numbers; times become strings.
#pragma once

#include <rocklock/items/attribute_value.hpp>
#include <rocklock/lock.hpp>

namespace rocklock {

Item item_of(const Holder& holder);
Item item_of(const SessionView& session);
Item item_of(const LockEvent& event);
Item item_of(const LockClass& lock_class);

}  // namespace rocklock
