// Drafts: what somebody wanted to write who had lost the lock.
//
// A write that comes too late is refused, for the item belongs to the next holder by then. Where
// the class of the resource has LockClass::drafts, the refusal and what was refused are one commit:
// the write lies beside the item, under the principal's name, for it to be looked at, written again
// under a new lock, or thrown away. A draft never changes an item.
//
//     if (const auto saved = tables.write_item(late); saved.error().drafts > 0) {
//         for (const Draft& draft : *tables.list_drafts("ann")) offer(draft);
//     }
#pragma once

#include <cstdint>
#include <string>

#include <rocklock/clock.hpp>
#include <rocklock/item_requests.hpp>
#include <rocklock/types.hpp>

namespace rocklock {

// Never given again.
enum class DraftId : std::uint64_t {};
constexpr std::uint64_t number(DraftId draft) { return static_cast<std::uint64_t>(draft); }

// One write of one item. Of each lost token and item there is one at most, the last.
struct Draft {
    DraftId id{};
    // Whose lock it was.
    std::string principal;
    WallTime at;
    // What the write showed.
    Token token{};
    // Which the item belongs to.
    std::string resource;
    // As it was asked for: the whole item of a put, of others the key and what was to become of the
    // item. Without proof and `by`.
    WriteItem write;
};

}  // namespace rocklock
