// Writes that came too late for their locks, kept as drafts in Family::meta:
//
//     draft <principal> <number>          the draft
//     draft-of <principal> <token> <row>  its number: the one of a token and a row
//     drafts <principal>                  changes with each draft that is kept
//
// Whoever keeps a draft does it on condition that the last of them is as it was, so that a
// principal never has more than limits::drafts_per_principal. docs/storage_format.md has each byte.
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

// Whether it is small enough to be kept: most of what is larger could never be saved.
bool fits_draft(const WriteItem& write);

// What a refusal says of the drafts that were kept; nothing of none.
std::string describe_drafts(std::uint32_t count);

// A write that is to be kept. Lifetime: borrows the request, which shows a token.
struct KeptWrite {
    const WriteItem* request = nullptr;
    std::string row;
    LateWrite late;
};

// What decisions about drafts are made on. Lifetime: borrows all.
struct DraftMoment {
    const Snapshot& snapshot;
    Versions& versions;
    UserData& users;
    WallTime now;
};

// Counts the drafts that are stored towards their users, as the store is opened. Errors: those of
// Snapshot; corrupt
Result<void> count_drafts(const Snapshot& snapshot, UserData& users);

// What is committed in the place of what `refused` says that it was refused: the drafts of what
// came too late, of which none is lost but those that must give way to newer ones. `refused` tells
// of them then, or that they are beyond the limits of the user. Where nothing came too late, it is
// the error.
//
// Errors: `refused`; those of Snapshot and of Versions; corrupt
Result<Decision> keep_instead(const DraftMoment& moment, const std::vector<KeptWrite>& writes,
                              std::optional<Error>& refused);

// What lets a draft be removed only once, and removes it with the decision.
//
// Errors: resource_not_found  none of the principals has it; those of Snapshot; corrupt
Result<Draft> remove_draft(const DraftMoment& moment, const std::vector<std::string>& principals,
                           DraftId draft, Decision& decision);

// From `place` on, which is none at first: throws away what is too old, and says where to go on;
// none at the end. At most `items_left` principals and drafts, which it counts down.
//
// Errors: those of Storage; corrupt
Result<std::optional<std::string>> sweep_drafts(Storage& storage, UserData& users,
                                                const std::string& place, WallTime now,
                                                std::size_t& items_left);

}  // namespace rocklock::table
