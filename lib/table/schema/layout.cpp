#include "table/schema/layout.hpp"

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "item/item_codec.hpp"
#include "item/key_codec.hpp"

namespace rocklock::table {
namespace {

// Stored instead of item_format if the writer of an item is stored before it. Older versions that
// do not store writers report it as a newer format.
constexpr char writer_mark = 0x40;
static_assert(writer_mark > item_format);

// Most keys of rows have at most this number of bytes.
constexpr std::size_t usual_key_bytes = 64;
constexpr std::size_t usual_row_bytes = 256;

const AttributeValue& part_of(const Item& item, const AttributeDefinition& part) {
    const auto* value = item.find(part.name);
    ROCKLOCK_ASSERT(value != nullptr && value->type() == part.type);
    return *value;
}

enum class LastWriteNeeded { yes, no };

// `read_item` reads the encoded item into an Item, and returns its size.
template <typename ReadItem>
Result<StoredItem> read_stored(std::string_view value, LastWriteNeeded last_write,
                               const ReadItem& read_item) {
    if (value.size() < sizeof(std::uint64_t)) {
        return Error(ErrorCode::corrupt, "a stored item is shorter than its version");
    }
    StoredItem stored;
    std::string_view rest = value.substr(sizeof(std::uint64_t));
    if (rest.starts_with(writer_mark)) {
        Reader reader(rest.substr(1));
        const auto at = reader.u64();
        const auto by = reader.string();
        if (!by) return Error(ErrorCode::corrupt, "the writer of a stored item is damaged");
        if (last_write == LastWriteNeeded::yes) {
            const std::chrono::milliseconds since_1970{static_cast<std::int64_t>(*at)};
            stored.last_write = LastWrite{std::string(*by), WallTime(since_1970)};
        }
        rest = reader.rest();
    }
    const auto bytes = read_item(rest, stored.item);
    if (!bytes) return Error(bytes.error());
    stored.version = version_of(value);
    stored.bytes = *bytes;
    return stored;
}

}  // namespace

std::string table_record_key(std::string_view table) {
    return std::string(table_record_prefix) + std::string(table);
}

std::string pending_deletion_key(std::uint32_t table, std::uint16_t index) {
    std::string key(pending_deletion_prefix);
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
    key.reserve(usual_key_bytes);
    const KeyParts& parts = index ? index->key : schema.key;
    append_partition(key, part_of(item, parts.hash));
    if (parts.range) append_key_value(key, part_of(item, *parts.range));
    ROCKLOCK_ASSERT(key.size() > sizeof(schema.number));
    if (!index) return key;
    append_key_value(key, part_of(item, schema.key.hash));
    if (schema.key.range) append_key_value(key, part_of(item, *schema.key.range));
    return key;
}

std::string encode_stored(std::uint64_t version, const Item& item) {
    return encode_stored(Stamp{version}, item);
}

std::string encode_stored(const Stamp& stamp, const Item& item) {
    ROCKLOCK_ASSERT(!stamp.last_write || stamp.version != 0);
    std::string value;
    value.reserve(usual_row_bytes);
    append_u64(value, stamp.version);
    if (stamp.last_write) {
        append_u8(value, writer_mark);
        append_u64(value,
                   static_cast<std::uint64_t>(stamp.last_write->at.time_since_epoch().count()));
        append_string(value, stamp.last_write->by);
    }
    append_item(value, item);
    return value;
}

Result<StoredItem> decode_stored(std::string_view value) {
    return read_stored(value, LastWriteNeeded::yes,
                       [](std::string_view bytes, Item& item) { return decode_item(bytes, item); });
}

Result<StoredItem> decode_without_last_write(std::string_view value) {
    return read_stored(value, LastWriteNeeded::no,
                       [](std::string_view bytes, Item& item) { return decode_item(bytes, item); });
}

Result<StoredItem> measure_stored(std::string_view value) {
    return read_stored(value, LastWriteNeeded::yes,
                       [](std::string_view bytes, Item& /*item*/) { return measure_item(bytes); });
}

Result<std::optional<StoredItem>> decode_stored(const std::optional<std::string>& value) {
    if (!value) return std::optional<StoredItem>();
    auto stored = decode_stored(std::string_view(*value));
    if (!stored) return std::move(stored).error();
    return std::optional(*std::move(stored));
}

}  // namespace rocklock::table
