// Tokens of transactions: the same request sent twice is done once.
//
// A token is written in the transaction's own commit, and remembered for ten minutes. Two requests
// with one token that meet are one after the other, as any two writes of one key are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/items/batch_requests.hpp>
#include <rocklock/items/drafts.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

namespace rocklock::table {

std::string token_key(std::string_view token);

// What the request is, whatever the order of its members: 32 bytes.
std::string fingerprint(const std::vector<WriteItem>& actions, const std::vector<DraftId>& drafts);

enum class TokenState : std::uint8_t { unknown, done };

// Looks for the token, and where it is unknown adds to the batch what remembers it.
//
// Errors: parameter_mismatch  it is known with another fingerprint; corrupt; those of Snapshot
Result<TokenState> use_token(const Snapshot& snapshot, std::string_view token,
                             const std::string& print, WallTime now, Batch& batch);

// Forgets a few that are too old, in a commit of its own: who shares no token with others is not in
// their way. Those that another has forgotten, or that were used again meanwhile, are left to the
// next time.
//
// Errors: corrupt; those of the storage
Result<void> forget_old_tokens(Storage& storage, WallTime now);

}  // namespace rocklock::table
