// The stored form of drafts in Family::meta: their keys and the encoding of a draft.
// docs/storage_format.md describes each byte.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <rocklock/identity.hpp>
#include <rocklock/items/drafts.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

#include "table/guard/drafts.hpp"

namespace rocklock::table {

// The prefixes of the keys of drafts, of the locations of drafts, and of the marks of principals.
// drafts.hpp describes these keys.
inline constexpr std::string_view draft_prefix = "draft ";
inline constexpr std::string_view location_prefix = "draft-of ";
inline constexpr std::string_view mark_prefix = "drafts ";
inline constexpr std::string_view marks_end = "drafts!";
// Follows after the principal in a key. No principal contains this byte.
inline constexpr char end_of_principal = '\0';

std::string drafts_prefix(std::string_view principal);
std::string draft_key(std::string_view principal, std::uint64_t draft);
std::string locations_prefix(std::string_view principal);
std::string location_key(std::string_view principal, Token token, std::string_view row);
std::string mark_key(std::string_view principal);

struct StoredDraft {
    Draft draft;
    std::string row;
    // The uid of the user that opened the session which lost the lock. nullopt in a draft of an
    // older version, which did not store the uid.
    std::optional<UserId> owner{};
};

// The location of a draft: the record through which a draft is found by its token and row. It
// contains the number of the draft and the user towards which the draft is counted.
struct DraftLocation {
    std::uint64_t draft = 0;
    // nullopt if the draft is counted towards no user, as in records of older versions, which did
    // not store the user.
    std::optional<UserId> user{};
    // The size of the draft.
    std::int64_t bytes = 0;
};

std::string encode_location(const DraftLocation& location);
// Errors: corrupt
Result<DraftLocation> decode_location(std::string_view value);

std::string encode_draft(const KeptWrite& kept, std::uint64_t draft, WallTime now);
// Errors: corrupt
Result<StoredDraft> decode_draft(std::string_view principal, std::string_view value);

// Returns whether a draft has reached `age`, the time for which drafts are kept.
bool is_too_old(const Draft& draft, WallTime now, std::chrono::milliseconds age);

// Returns whether a client may see this draft. If `only_of` is set, the client may see only the
// drafts of the user with this uid.
bool may_see(const std::optional<UserId>& only_of, const StoredDraft& stored);

Error no_such_draft(const std::string& principal, DraftId draft);

}  // namespace rocklock::table
