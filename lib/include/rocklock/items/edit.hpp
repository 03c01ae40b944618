// Items that somebody edits for minutes, under their locks: what is asked for, and what is there
// then. Session::begin_edit() is how; docs/editing.md tells the whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/error.hpp>
#include <rocklock/items/attribute_value.hpp>
#include <rocklock/types.hpp>

namespace rocklock {

// An item of a bound table that is wanted with its lock.
struct ItemToLock {
    std::string table;
    AttributeMap key;
    // At most one of `mode` and `to`; neither means `to` edit.
    std::optional<Mode> mode{};
    std::optional<Intent> to{};
};

// An item as it is while its lock is held.
struct ItemUnderLock {
    std::string table;
    AttributeMap key;
    // Nothing: there is none.
    std::optional<AttributeMap> item;
    // For WriteItem::expected_version; 0: there is none.
    std::uint64_t version = 0;
    // Who wrote it last, where the write said so.
    std::optional<LastWrite> last_write;
};

}  // namespace rocklock
