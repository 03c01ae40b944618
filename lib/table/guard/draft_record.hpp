// The stored form of drafts in Family::meta: their keys and the encoding of a draft.
// docs/storage_format.md describes each byte.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <rocklock/items/drafts.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

#include "table/guard/drafts.hpp"

namespace rocklock::table {

// The prefixes of the keys of drafts, of their locations and of the marks of principals; see
// drafts.hpp.
inline constexpr std::string_view draft_prefix = "draft ";
inline constexpr std::string_view location_prefix = "draft-of ";
inline constexpr std::string_view mark_prefix = "drafts ";
inline constexpr std::string_view marks_end = "drafts!";
// Ends a principal in a key. No principal contains this byte.
inline constexpr char end_of_principal = '\0';

std::string drafts_prefix(std::string_view principal);
std::string draft_key(std::string_view principal, std::uint64_t draft);
std::string locations_prefix(std::string_view principal);
std::string location_key(std::string_view principal, Token token, std::string_view row);
std::string mark_key(std::string_view principal);

struct StoredDraft {
    Draft draft;
    std::string row;
};

// The location of a draft: the record for its token and row. Contains the draft's number and the
// user that the draft is counted towards.
struct DraftLocation {
    std::uint64_t draft = 0;
    // None if the draft is counted towards no user. Older versions did not store the user.
    std::optional<std::uint32_t> user{};
    // The size of the draft.
    std::int64_t bytes = 0;
};

std::string encode_location(const DraftLocation& location);
// Errors: corrupt
Result<DraftLocation> decode_location(std::string_view value);

std::string encode_draft(const KeptWrite& kept, std::uint64_t draft, WallTime now);
// Errors: corrupt
Result<StoredDraft> decode_draft(std::string_view principal, std::string_view value);

// Returns whether a draft is older than the time for which drafts are kept.
bool is_too_old(const Draft& draft, WallTime now);

Error no_such_draft(const std::string& principal, DraftId draft);

}  // namespace rocklock::table
