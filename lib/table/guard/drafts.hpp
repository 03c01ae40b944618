// Drafts: writes that were refused because their sessions had lost their locks. They are stored in
// Family::meta:
//
//     draft <principal> <number>          the draft
//     draft-of <principal> <token> <row>  the location of the draft: its number
//     drafts <principal>                  the mark of the principal
//
// Each stored draft changes the mark of its principal. A draft is stored only if the mark has not
// changed since the decision. Therefore, concurrent commits cannot exceed
// DraftRetention::per_principal. docs/storage_format.md describes each byte.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/error.hpp>
#include <rocklock/identity.hpp>
#include <rocklock/items/drafts.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

#include "table/guard/guards.hpp"
#include "table/schema/item_counts.hpp"
#include "table/schema/user_data.hpp"
#include "table/schema/versions.hpp"

namespace rocklock::table {

// Returns whether the write is small enough for a draft. A larger write usually contains an item
// that exceeds the maximum size of items, so the write would be refused even with its lock.
bool fits_draft(const WriteItem& write);

// Returns the part of an error message that reports `count` stored drafts, or an empty string if
// `count` is 0.
std::string describe_drafts(std::uint32_t count);

// A write to store as a draft. `request` must present a token. Lifetime: borrows `request`.
struct KeptWrite {
    const WriteItem* request = nullptr;
    std::string row;
    LateWrite late;
};

// Limits of the age and the number of stored drafts.
struct DraftRetention {
    std::chrono::milliseconds age = limits::draft_age;
    // The maximum number of drafts of a principal. If several users have sent writes as the same
    // principal, each of these users can have this number of drafts.
    std::uint32_t per_principal = limits::drafts_per_principal;
};

// The inputs of decisions about drafts. Lifetime: borrows all objects that its members refer to.
struct DraftMoment {
    const Snapshot& snapshot;
    Versions& versions;
    UserData& users;
    WallTime now;
    DraftRetention retention;
};

// Counts all stored drafts towards their users. Called when the store is opened. Errors: those of
// Snapshot; corrupt
Result<void> count_drafts(const Snapshot& snapshot, UserData& users);

// Returns the decision that stores the refused writes as drafts, and adds the number of drafts to
// the error `refused`. If the sender then has more than `per_principal` drafts of a principal, the
// decision also deletes the oldest of these drafts.
//
// If `writes` is empty, returns `refused` as the error. If the drafts would exceed a limit of the
// sender, adds the reason to `refused` and returns `refused` as the error.
//
// Errors: `refused`; those of Snapshot and of Versions; corrupt
Result<Decision> keep_instead(const DraftMoment& moment, const std::vector<KeptWrite>& writes,
                              std::optional<Error>& refused);

// The drafts that a client may see: those of `principal`. If `only_of` is set, the client may see
// only drafts of sessions that the user with this uid has opened.
struct DraftAccess {
    std::string principal;
    std::optional<UserId> only_of{};

    friend bool operator==(const DraftAccess&, const DraftAccess&) = default;
};

// Searches the drafts of `owners`, in this order, for the draft with this id, and returns it. Adds
// its removal to the decision, with the precondition that no other commit has removed it.
//
// Errors: resource_not_found if none of the owners has the draft; those of Snapshot; corrupt
Result<Draft> remove_draft(const DraftMoment& moment, const std::vector<DraftAccess>& owners,
                           DraftId draft, Decision& decision);

// The inputs of a sweep. Lifetime: borrows `users`.
struct DraftSweep {
    UserData& users;
    WallTime now;
    DraftRetention retention;
};

// One step of a sweep over all drafts. Deletes drafts that are too old. If a principal has too many
// drafts, also deletes the oldest of its drafts.
//
// Begins at the key `first_key`, or at the first draft if `first_key` is empty. Returns the key at
// which to continue, or nullopt at the end. Visits at most `items_left` principals and drafts, and
// subtracts their number from `items_left`.
//
// Errors: those of Storage; corrupt
Result<std::optional<std::string>> sweep_drafts(Storage& storage, const DraftSweep& sweep,
                                                const std::string& first_key,
                                                std::size_t& items_left);

}  // namespace rocklock::table
