// Drafts: the stored copies of writes that were refused because the client had lost its lock.
//
// A write that arrives after its lock was lost is refused, because another session may hold the
// lock. If LockClass::drafts is set for the resource, the refused write is stored as a draft of the
// principal before the refusal is reported. The principal can read the draft, write it again under
// a new lock, or discard it. A write of more than 512 KB is refused without a draft. A draft
// changes no item.
//
//     if (const auto saved = tables.write_item(late); !saved && saved.error().drafts > 0) {
//         for (const Draft& draft : tables.list_drafts({"ann"})->drafts) offer(draft);
//     }
//
// A draft is deleted when it is taken, discarded or saved again (WriteItem::from_draft), when its
// age reaches limits::draft_age, or when its principal has limits::drafts_per_principal newer
// drafts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/items/item_requests.hpp>
#include <rocklock/types.hpp>

namespace rocklock {

// One refused write of one item. If several writes with the same lost token are refused for one
// item, only the last one is kept.
struct Draft {
    DraftId id{};
    // The principal that held the lost lock.
    std::string principal;
    WallTime at;
    // The token that the write presented.
    Token token{};
    // The resource to which the item belongs.
    std::string resource;
    // The write as it was requested: for a put, the whole item; for other writes, the key and the
    // update; and in both cases the conditions and `expected_version`. No other members are set.
    WriteItem write;
};

struct DraftsRequest {
    std::string principal;
    // The maximum number of drafts in the page: 1 to limits::drafts_per_principal. A page also ends
    // after 1 MB.
    std::uint32_t limit = limits::drafts_per_principal;
    // The `next` of the previous page; none for the first page.
    DraftId next{};
};

struct DraftPage {
    std::vector<Draft> drafts;
    // None (0) on the last page.
    DraftId next{};
};

}  // namespace rocklock
