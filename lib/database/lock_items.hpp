// Converts values of the lock manager to items, with the same members as in the protocol. Durations
// and tokens are numbers; times are strings.
#pragma once

#include <rocklock/items/attribute_value.hpp>
#include <rocklock/lock.hpp>

namespace rocklock {

Item item_of(const Holder& holder);
Item item_of(const SessionView& session);
Item item_of(const LockEvent& event);
Item item_of(const LockClass& lock_class);

}  // namespace rocklock
