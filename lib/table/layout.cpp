#include "table/layout.hpp"

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "item/item_codec.hpp"
#include "item/key_codec.hpp"

namespace rocklock::table {
namespace {

const AttributeValue& part_of(const Item& item, const AttributeDefinition& part) {
    const auto* value = item.find(part.name);
    ROCKLOCK_ASSERT(value != nullptr && value->type() == part.type);
    return *value;
}

}  // namespace

std::string table_record_key(std::string_view table) {
    return std::string(table_record_prefix) + std::string(table);
}

std::string leavings_key(std::uint32_t table, std::uint16_t index) {
    std::string key(leavings_prefix);
    append_u32(key, table);
    append_u16(key, index);
    return key;
}

std::string row_prefix(std::uint32_t table, std::uint16_t index) {
    std::string prefix;
    append_u32(prefix, table);
    if (index != 0) append_u16(prefix, index);
    return prefix;
}

std::string row_prefix(const Schema& schema, const IndexSchema* index) {
    return row_prefix(schema.number, index ? index->number : std::uint16_t{0});
}

std::string row_key(const Schema& schema, const IndexSchema* index, const Item& item) {
    std::string key = row_prefix(schema, index);
    const KeyParts& parts = index ? index->key : schema.key;
    append_partition(key, part_of(item, parts.hash));
    if (parts.range) append_key_value(key, part_of(item, *parts.range));
    if (!index) return key;
    append_key_value(key, part_of(item, schema.key.hash));
    if (schema.key.range) append_key_value(key, part_of(item, *schema.key.range));
    return key;
}

std::string encode_stored(std::uint64_t version, const Item& item) {
    std::string value;
    append_u64(value, version);
    append_item(value, item);
    return value;
}

Result<StoredItem> decode_stored(std::string_view value) {
    if (value.size() < sizeof(std::uint64_t)) {
        return Error(ErrorCode::corrupt, "a stored item is shorter than its version");
    }
    auto item = decode_item(value.substr(sizeof(std::uint64_t)));
    if (!item) return std::move(item).error();
    return StoredItem{version_of(value), *std::move(item)};
}

Result<std::optional<StoredItem>> decode_stored(const std::optional<std::string>& value) {
    if (!value) return std::optional<StoredItem>();
    auto stored = decode_stored(std::string_view(*value));
    if (!stored) return std::move(stored).error();
    return std::optional(*std::move(stored));
}

}  // namespace rocklock::table
