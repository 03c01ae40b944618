// Tokens of transactions. If the same request is sent twice with the same token, it is executed
// once.
//
// A token is stored in the commit of its transaction and kept for ten minutes. Two concurrent
// requests with the same token are serialized, like any two writes of one key.
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

// Returns 32 bytes that identify the request. They depend on the order of `actions` and `drafts`,
// but not on the order of attributes, of the members of sets, or of placeholders.
std::string fingerprint(const std::vector<WriteItem>& actions, const std::vector<DraftId>& drafts);

enum class TokenState : std::uint8_t { unknown, done };

// Looks up the token. If it is unknown, adds the writes that store it to the batch.
//
// Errors: parameter_mismatch if the token is stored with another fingerprint; corrupt; those of
//         Snapshot
Result<TokenState> use_token(const Snapshot& snapshot, std::string_view token,
                             const std::string& request_fingerprint, WallTime now, Batch& batch);

// Deletes a few outdated tokens. This uses a separate commit, so that transactions with different
// tokens do not conflict. If one of the tokens was deleted or used again at the same time, deletes
// none, and the next call tries again.
//
// Errors: corrupt; those of the storage
Result<void> forget_old_tokens(Storage& storage, WallTime now);

}  // namespace rocklock::table
