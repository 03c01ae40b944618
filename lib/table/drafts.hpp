// Writes that came too late for their locks, kept as drafts: in Family::meta, by principal, token
// and row. docs/storage_format.md, "Drafts", has each byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <rocklock/drafts.hpp>
#include <rocklock/error.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage.hpp>

#include "table/guards.hpp"

namespace rocklock::table {

// What all drafts of a principal begin with.
std::string drafts_prefix(std::string_view principal);

// Keeps the write, which shows a token; in place of the one before with this token and row.
Write keep_draft(const WriteItem& write, const LateWrite& late, std::string_view row,
                 std::uint64_t version, WallTime now);

// Errors: corrupt
Result<Draft> decode_draft(std::string_view key, std::string_view value);

// The refusal of what was kept, so many writes of it.
Error refused_but_kept(Error refusal, std::uint32_t drafts);

}  // namespace rocklock::table
