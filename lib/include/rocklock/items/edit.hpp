// The items in the request and in the result of Session::begin_edit(), which locks and reads the
// items that a user is going to edit. docs/editing.md describes the steps of an edit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/error.hpp>
#include <rocklock/items/attribute_value.hpp>
#include <rocklock/types.hpp>

namespace rocklock {

// An item of a bound table that is to be locked and read.
struct ItemToLock {
    std::string table;
    AttributeMap key;
    // At most one of `mode` and `to` may be set. If neither is set, `to` is Intent::edit.
    std::optional<Mode> mode{};
    std::optional<Intent> to{};
};

// An item as it was read under its lock.
struct ItemUnderLock {
    std::string table;
    AttributeMap key;
    // None if the item does not exist.
    std::optional<AttributeMap> item;
    // The version of the item, which a later write can present as WriteItem::expected_version. 0 if
    // the item does not exist.
    std::uint64_t version = 0;
    // The principal and the time of the last write, if that write named its principal.
    std::optional<LastWrite> last_write;
};

}  // namespace rocklock
