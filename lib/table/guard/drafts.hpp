// Drafts: refused writes of sessions that had lost their locks, stored in Family::meta:
//
//     draft <principal> <number>          the draft
//     draft-of <principal> <token> <row>  its location: the draft's number for a token and a row
//     drafts <principal>                  its mark: changes with each draft that is stored
//
// A draft is stored on condition that the mark has not changed, so that a principal never has more
// than limits::drafts_per_principal drafts. docs/storage_format.md describes each byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/error.hpp>
#include <rocklock/items/drafts.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

#include "table/guard/guards.hpp"
#include "table/schema/item_counts.hpp"
#include "table/schema/user_data.hpp"
#include "table/schema/versions.hpp"

namespace rocklock::table {

// Returns whether the write is small enough for a draft. Most larger writes could never be saved.
bool fits_draft(const WriteItem& write);

// Returns the part of an error message that reports the stored drafts; empty if `count` is 0.
std::string describe_drafts(std::uint32_t count);

// A write to store as a draft. Lifetime: borrows the request, which has a token.
struct KeptWrite {
    const WriteItem* request = nullptr;
    std::string row;
    LateWrite late;
};

// The inputs of decisions on drafts. Lifetime: borrows all of them.
struct DraftMoment {
    const Snapshot& snapshot;
    Versions& versions;
    UserData& users;
    WallTime now;
};

// Counts all stored drafts towards their users. Called when the store is opened. Errors: those of
// Snapshot; corrupt
Result<void> count_drafts(const Snapshot& snapshot, UserData& users);

// Returns the decision that stores the refused writes as drafts. If a principal then has too many
// drafts, its oldest ones are deleted. Adds the number of drafts to `refused`, or the reason why
// they exceed the user's limits. If no write can be stored, returns `refused` as the error.
//
// Errors: `refused`; those of Snapshot and of Versions; corrupt
Result<Decision> keep_instead(const DraftMoment& moment, const std::vector<KeptWrite>& writes,
                              std::optional<Error>& refused);

// Finds a draft among those of `principals`, in this order, and returns it. Adds its removal to the
// decision, on condition that no other commit has removed it.
//
// Errors: resource_not_found if none of the principals has it; those of Snapshot; corrupt
Result<Draft> remove_draft(const DraftMoment& moment, const std::vector<std::string>& principals,
                           DraftId draft, Decision& decision);

// Deletes outdated drafts, beginning at the key `first_key`; if it is empty, at the first one.
// Returns the key at which to continue, or nullopt at the end. Visits at most `items_left`
// principals and drafts, and decrements it.
//
// Errors: those of Storage; corrupt
Result<std::optional<std::string>> sweep_drafts(Storage& storage, UserData& users,
                                                const std::string& first_key, WallTime now,
                                                std::size_t& items_left);

}  // namespace rocklock::table
