#include "table/write/request_token.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "base/hmac.hpp"
#include "item/item_codec.hpp"
#include "item/key_codec.hpp"

namespace rocklock::table {
namespace {

constexpr std::string_view token_prefix = "data token ";
// Keys that are ordered by the time of use, oldest first.
constexpr std::string_view age_prefix = "data token-age ";
constexpr std::chrono::minutes memory{10};
constexpr int forgotten_at_once = 3;
constexpr std::size_t fingerprint_bytes = 32;

std::uint64_t milliseconds(WallTime time) {
    const auto count = time.time_since_epoch().count();
    return static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0));
}

std::string age_key(std::uint64_t used_at, std::string_view token) {
    std::string key(age_prefix);
    append_u64(key, used_at);
    key += token;
    return key;
}

void append_text(std::string& out, const std::optional<std::string>& text) {
    append_u8(out, text ? 1 : 0);
    if (text) append_string(out, *text);
}

void append_placeholders(std::string& out, const Placeholders& placeholders) {
    AttributeMap names;
    AttributeMap values;
    if (placeholders.names) {
        for (const auto& [placeholder, name] : *placeholders.names) names.set(placeholder, name);
    }
    if (placeholders.values) {
        for (const auto& [placeholder, value] : *placeholders.values) {
            values.set(placeholder, value);
        }
    }
    append_item(out, names);
    append_item(out, values);
}

// The stored use of a token. Its version is the time of the use.
struct Use {
    std::uint64_t used_at = 0;
    std::string fingerprint;
};

Result<std::optional<Use>> find_use(const Snapshot& snapshot, const std::string& key) {
    auto value = snapshot.get(Family::meta, key);
    if (!value) return std::move(value).error();
    if (!*value) return std::optional<Use>();
    if ((*value)->size() != sizeof(std::uint64_t) + fingerprint_bytes) {
        return Error(ErrorCode::corrupt, "the record of a client request token is damaged");
    }
    return std::optional(Use{version_of(**value), (*value)->substr(sizeof(std::uint64_t))});
}

Result<void> forget_old(const Snapshot& snapshot, std::uint64_t oldest, Batch& batch) {
    const auto cursor = snapshot.scan(Family::meta, age_prefix, age_key(oldest, ""));
    for (int i = 0; i < forgotten_at_once && cursor->valid(); ++i, cursor->next()) {
        const auto token = cursor->key().substr(age_prefix.size() + sizeof(std::uint64_t));
        const std::string key = token_key(token);
        const auto use = find_use(snapshot, key);
        if (!use) return Error(use.error());
        batch.writes.push_back({Family::meta, std::string(cursor->key()), std::nullopt});
        // The token may have been used again since.
        if (!*use || (*use)->used_at >= oldest) continue;
        batch.preconditions.push_back({Family::meta, key, (*use)->used_at});
        batch.writes.push_back({Family::meta, key, std::nullopt});
    }
    return cursor->status();
}

}  // namespace

std::string token_key(std::string_view token) {
    return std::string(token_prefix) + std::string(token);
}

std::string fingerprint(const std::vector<WriteItem>& actions, const std::vector<DraftId>& drafts) {
    std::string bytes;
    for (const WriteItem& action : actions) {
        append_u8(bytes, static_cast<std::uint8_t>(action.kind));
        append_u8(bytes, action.return_item_on_failure ? 1 : 0);
        append_string(bytes, action.table);
        append_item(bytes, action.item);
        append_text(bytes, action.expressions.condition);
        append_text(bytes, action.expressions.update);
        append_placeholders(bytes, action.expressions.placeholders);
    }
    // Without drafts, the fingerprint is the same as in versions that did not know drafts.
    for (const DraftId draft : drafts) append_u64(bytes, number(draft));
    const auto digest = hmac_sha256("rocklock transaction", bytes);
    return {digest.begin(), digest.end()};
}

Result<TokenState> use_token(const Snapshot& snapshot, std::string_view token,
                             const std::string& request_fingerprint, WallTime now, Batch& batch) {
    ROCKLOCK_ASSERT(!token.empty() && request_fingerprint.size() == fingerprint_bytes);
    const std::string key = token_key(token);
    const auto use = find_use(snapshot, key);
    if (!use) return Error(use.error());
    const std::uint64_t oldest = milliseconds(now - memory);
    if (*use && (*use)->used_at >= oldest) {
        if ((*use)->fingerprint == request_fingerprint) return TokenState::done;
        return Error(ErrorCode::parameter_mismatch,
                     "The provided client token was used with another request");
    }
    batch.preconditions.push_back({Family::meta, key, std::nullopt});
    if (*use) batch.preconditions.back().version = (*use)->used_at;
    // The version must change with every write, even if the clock was set back.
    const std::uint64_t used_at = std::max(milliseconds(now), *use ? (*use)->used_at + 1 : 0);
    ROCKLOCK_ASSERT(!*use || used_at > (*use)->used_at);
    std::string value;
    append_u64(value, used_at);
    value += request_fingerprint;
    batch.writes.push_back({Family::meta, key, std::move(value)});
    batch.writes.push_back({Family::meta, age_key(used_at, token), std::string(8, '\0')});
    return TokenState::unknown;
}

Result<void> forget_old_tokens(Storage& storage, WallTime now) {
    Batch forgotten;
    auto found = forget_old(*storage.snapshot(), milliseconds(now - memory), forgotten);
    if (!found || forgotten.writes.empty()) return found;
    auto done = storage.commit(std::move(forgotten), Durability::deferred);
    if (!done && done.error().code == ErrorCode::precondition_failed) return {};
    return done;
}

}  // namespace rocklock::table
