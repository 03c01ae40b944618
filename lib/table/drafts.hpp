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

#include <rocklock/drafts.hpp>
#include <rocklock/error.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage.hpp>

#include "table/guards.hpp"
#include "table/versions.hpp"

namespace rocklock::table {

// A write that is to be kept. Lifetime: borrows the request, which shows a token.
struct KeptWrite {
    const WriteItem* request = nullptr;
    std::string row;
    LateWrite late;
};

// What keeps them: none is lost, but for those that must give way to newer ones.
//
// Errors: those of Snapshot and of Versions; corrupt
Result<Batch> keep_drafts(const Snapshot& snapshot, Versions& versions,
                          const std::vector<KeptWrite>& writes, WallTime now);
// The refusal of what was kept, so many writes of it.
Error refused_but_kept(Error refusal, std::size_t drafts);

// What lets a draft be removed only once, and removes it with the batch.
//
// Errors: resource_not_found  none of the principals has it; those of Snapshot; corrupt
Result<Draft> remove_draft(const Snapshot& snapshot, const std::vector<std::string>& principals,
                           DraftId draft, WallTime now, Batch& batch);

// From `place` on, which is none at first: throws away what is too old, and says where to go on;
// none at the end. At most `items_left` principals and drafts, which it counts down.
//
// Errors: those of Storage; corrupt
Result<std::optional<std::string>> sweep_drafts(Storage& storage, const std::string& place,
                                                WallTime now, std::size_t& items_left);

}  // namespace rocklock::table
