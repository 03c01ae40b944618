// Drafts: stored copies of writes that were refused because the client had lost its lock.
//
// A write that arrives after its lock was lost is refused, because another session may hold the
// lock. If LockClass::drafts is set for the resource, the refused write is stored as a draft of the
// principal that held the lock. The draft is stored before the client receives the error. The
// principal can read the draft, write it again under a new lock, or discard it. A draft does not
// change the item. Writes of more than 512 KB are not stored as drafts.
//
//     if (const auto saved = tables.write_item(late); !saved && saved.error().drafts > 0) {
//         for (const Draft& draft : tables.list_drafts({"ann"})->drafts) offer(draft);
//     }
//
// A draft is deleted in one of these cases: it is taken, discarded or saved again
// (WriteItem::from_draft); its age reaches Retention::draft_age; or there are
// Retention::max_principal_drafts newer drafts with the same principal and the same user
// (LockProof::user).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/identity.hpp>
#include <rocklock/items/item_requests.hpp>
#include <rocklock/types.hpp>

namespace rocklock {

// One refused write of one item. If several writes of one item are refused and present the same
// lost token, only the last of them is kept.
struct Draft {
    DraftId id{};
    // The principal that held the lost lock.
    std::string principal;
    WallTime at;
    // The token that the write presented.
    Token token{};
    // The resource to which the item belongs.
    std::string resource;
    // The write as it was requested. The members `kind`, `table`, `item`, `expected_version` and
    // `expressions` (the update and the conditions) are set.
    WriteItem write;
};

struct DraftsRequest {
    std::string principal;
    // The maximum number of drafts in the page: 1 to limits::drafts_per_principal. A page also ends
    // after 1 MB.
    std::uint32_t limit = limits::drafts_per_principal;
    // The `next` of the previous page; none for the first page.
    DraftId next{};
    // If set, only drafts that were kept for sessions that this user opened are returned. Servers
    // set it, because any client can use the name of any principal. In a request to a daemon
    // (Database::connect()), it must be none: the daemon selects the drafts by the user that opened
    // the client's session for `principal`.
    std::optional<UserId> only_of{};
};

struct DraftPage {
    std::vector<Draft> drafts;
    // None (0) on the last page.
    DraftId next{};
};

}  // namespace rocklock
