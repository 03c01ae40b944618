// Drafts: what somebody wanted to write who had lost the lock.
//
// A write that comes too late is refused, for the item belongs to the next holder by then. Where
// the class of the resource has LockClass::drafts, the refusal and what was refused are one commit:
// the write lies beside the item, under the principal's name, to be looked at, written again under
// a new lock, or thrown away; up to 512 KB of it, more is refused only. A draft changes no item.
//
//     if (const auto saved = tables.write_item(late); !saved && saved.error().drafts > 0) {
//         for (const Draft& draft : tables.list_drafts({"ann"})->drafts) offer(draft);
//     }
//
// It stays until it is taken, discarded, or saved again (WriteItem::from_draft); for
// limits::draft_age at most, and until its principal has limits::drafts_per_principal newer ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/items/item_requests.hpp>
#include <rocklock/types.hpp>

namespace rocklock {

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
    // item; its conditions and its `expected_version`. Nothing else.
    WriteItem write;
};

struct DraftsRequest {
    std::string principal;
    // 1 to limits::drafts_per_principal. A page also ends behind 1 MB.
    std::uint32_t limit = limits::drafts_per_principal;
    // What the page before gave as `next`; none at first.
    DraftId next{};
};

struct DraftPage {
    std::vector<Draft> drafts;
    // None (0) on the last page.
    DraftId next{};
};

}  // namespace rocklock
