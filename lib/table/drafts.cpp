// ListDrafts, TakeDraft, DiscardDraft, and how a draft is stored.
#include "table/drafts.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "item/item_codec.hpp"
#include "table/table_store.hpp"

namespace rocklock::table {
namespace {

using Kind = WriteItem::Kind;

// No principal has the byte that follows it.
constexpr std::string_view draft_prefix = "draft ";
constexpr char end_of_principal = '\0';

void append_bytes(std::string& out, const AttributeMap& map) {
    std::string bytes;
    append_item(bytes, map);
    append_string(out, bytes);
}

void append_maybe(std::string& out, const std::optional<std::string>& text) {
    append_u8(out, text ? 1 : 0);
    if (text) append_string(out, *text);
}

void append_legacy(std::string& out, const std::vector<AttributeUpdate>& updates) {
    append_varint(out, updates.size());
    for (const AttributeUpdate& update : updates) {
        append_string(out, update.attribute);
        append_u8(out, static_cast<std::uint8_t>(update.action));
        AttributeMap value;
        if (update.value) value.set("value", *update.value);
        append_bytes(out, value);
    }
}

// Reads the parts of a record; what is not as it should be is remembered.
class DraftReader {
public:
    explicit DraftReader(std::string_view bytes) : reader_(bytes) {}

    std::uint64_t u64() { return known(reader_.u64()); }
    std::uint8_t u8(std::uint8_t last) {
        const std::uint8_t value = known(reader_.u8());
        if (value > last) damaged_ = true;
        return damaged_ ? 0 : value;
    }
    std::string text() { return std::string(known(reader_.string())); }
    std::optional<std::string> maybe() {
        if (u8(1) == 0) return std::nullopt;
        return text();
    }
    AttributeMap map() {
        auto read = decode_item(known(reader_.string()));
        if (!read) damaged_ = true;
        return read ? *std::move(read) : AttributeMap();
    }
    std::vector<AttributeUpdate> legacy() {
        std::vector<AttributeUpdate> updates;
        const auto count = known(reader_.varint());
        for (std::uint64_t i = 0; i < count && !damaged_; ++i) {
            AttributeUpdate& update = updates.emplace_back();
            update.attribute = text();
            const auto last = static_cast<std::uint8_t>(AttributeUpdate::Action::remove);
            update.action = static_cast<AttributeUpdate::Action>(u8(last));
            const AttributeMap value = map();
            if (const auto* given = value.find("value")) update.value = *given;
        }
        return updates;
    }
    bool damaged() const { return damaged_ || !reader_.done(); }

private:
    template <typename T>
    T known(const std::optional<T>& value) {
        if (!value) damaged_ = true;
        return value.value_or(T());
    }

    Reader reader_;
    bool damaged_ = false;
};

Error no_such_draft(const std::string& principal, DraftId draft) {
    return {ErrorCode::resource_not_found,
            "there is no draft " + std::to_string(number(draft)) + " of " + principal +
                ": it never was, or it was taken, discarded or kept anew"};
}

}  // namespace

std::string drafts_prefix(std::string_view principal) {
    return std::string(draft_prefix).append(principal) + end_of_principal;
}

Write keep_draft(const WriteItem& write, const LateWrite& late, std::string_view row,
                 std::uint64_t version, WallTime now) {
    std::string key = drafts_prefix(late.principal);
    append_u64(key, number(*write.proof->token));
    key += row;
    std::string value;
    append_u64(value, version);
    append_u64(value, static_cast<std::uint64_t>(now.time_since_epoch().count()));
    append_string(value, late.resource);
    append_string(value, write.table);
    append_u8(value, static_cast<std::uint8_t>(write.kind));
    append_bytes(value, write.item);
    append_maybe(value, write.expressions.update);
    append_maybe(value, write.expressions.condition);
    const Placeholders& placeholders = write.expressions.placeholders;
    AttributeMap names;
    AttributeMap values;
    if (placeholders.names) {
        for (const auto& [placeholder, name] : *placeholders.names) names.set(placeholder, name);
    }
    if (placeholders.values) {
        for (const auto& [placeholder, given] : *placeholders.values) {
            values.set(placeholder, given);
        }
    }
    append_bytes(value, names);
    append_bytes(value, values);
    const auto& legacy = write.expressions.attribute_updates;
    append_legacy(value, legacy ? *legacy : std::vector<AttributeUpdate>());
    return {Family::meta, std::move(key), std::move(value)};
}

Result<Draft> decode_draft(std::string_view key, std::string_view value) {
    Draft draft;
    const auto end = std::min(key.find(end_of_principal), key.size());
    draft.principal = key.substr(draft_prefix.size(), end - draft_prefix.size());
    DraftReader token(key.substr(std::min(end + 1, key.size())).substr(0, sizeof(std::uint64_t)));
    draft.token = Token{token.u64()};
    DraftReader reader(value);
    draft.id = DraftId{reader.u64()};
    draft.at = WallTime(std::chrono::milliseconds(static_cast<std::int64_t>(reader.u64())));
    draft.resource = reader.text();
    WriteItem& write = draft.write;
    write.table = reader.text();
    write.kind = static_cast<Kind>(reader.u8(static_cast<std::uint8_t>(Kind::remove)));
    write.item = reader.map();
    write.expressions.update = reader.maybe();
    write.expressions.condition = reader.maybe();
    const AttributeMap names = reader.map();
    const AttributeMap values = reader.map();
    auto& placeholders = write.expressions.placeholders;
    for (const Attribute& name : names) {
        const auto* text = name.value.get_if<std::string>();
        if (!placeholders.names) placeholders.names.emplace();
        if (text) placeholders.names->push_back({name.name, *text});
    }
    for (const Attribute& given : values) {
        if (!placeholders.values) placeholders.values.emplace();
        placeholders.values->push_back({given.name, given.value});
    }
    auto legacy = reader.legacy();
    if (!legacy.empty()) write.expressions.attribute_updates = std::move(legacy);
    if (token.damaged() || reader.damaged()) {
        return Error(ErrorCode::corrupt, "a draft is damaged");
    }
    return draft;
}

Error refused_but_kept(Error refusal, std::uint32_t drafts) {
    refusal.drafts = drafts;
    refusal.message += drafts == 1 ? "; what it would have written was kept as a draft"
                                   : "; what it would have written was kept as drafts";
    return refusal;
}

Result<std::vector<Draft>> TableStore::list_drafts(const std::string& principal) {
    std::vector<Draft> drafts;
    const std::string prefix = drafts_prefix(principal);
    std::string behind = prefix;
    ++behind.back();
    const auto snapshot = storage_.snapshot();
    const auto cursor = snapshot->scan(Family::meta, prefix, behind);
    for (; cursor->valid(); cursor->next()) {
        auto draft = decode_draft(cursor->key(), cursor->value());
        if (!draft) return std::move(draft).error();
        drafts.push_back(*std::move(draft));
    }
    if (const auto status = cursor->status(); !status) return Error(status.error());
    std::sort(drafts.begin(), drafts.end(), [](const Draft& left, const Draft& right) {
        return number(left.id) < number(right.id);
    });
    return drafts;
}

Result<Draft> TableStore::take_draft(const std::string& principal, DraftId draft) {
    const std::string prefix = drafts_prefix(principal);
    std::string behind = prefix;
    ++behind.back();
    const auto snapshot = storage_.snapshot();
    const auto cursor = snapshot->scan(Family::meta, prefix, behind);
    for (; cursor->valid(); cursor->next()) {
        if (version_of(cursor->value()) != number(draft)) continue;
        auto taken = decode_draft(cursor->key(), cursor->value());
        if (!taken) return taken;
        Batch batch;
        batch.preconditions.push_back({Family::meta, std::string(cursor->key()), number(draft)});
        batch.writes.push_back({Family::meta, std::string(cursor->key()), std::nullopt});
        auto removed = storage_.commit(std::move(batch), options_.durability);
        if (removed) return taken;
        // Somebody else has it, or what came later has its place.
        if (removed.error().code == ErrorCode::precondition_failed) break;
        return std::move(removed).error();
    }
    if (const auto status = cursor->status(); !status) return Error(status.error());
    return no_such_draft(principal, draft);
}

Result<void> TableStore::discard_draft(const std::string& principal, DraftId draft) {
    auto taken = take_draft(principal, draft);
    if (!taken) return std::move(taken).error();
    return {};
}

}  // namespace rocklock::table
