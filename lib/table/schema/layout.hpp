// The keys of stored data, and the encoding of items. docs/storage_format.md, "Tables", describes
// each byte.
//
//     items   table, 4 bytes │ partition │ range key                      version │ [writer] │ item
//     index   table, 4 bytes │ index, 2 bytes │ partition │ range key
//             │ hash key of the table │ range key of the table            version │ entry
//     meta    "table " name                                               version │ definition
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

#include "table/schema/schema.hpp"

namespace rocklock::table {

std::string table_record_key(std::string_view table);
inline constexpr std::string_view table_record_prefix = "table ";
// Returns the key of the record of a pending deletion. The record is written when a table or an
// index is deleted, and removed after the rows are removed. `index` is 0 for a whole table.
std::string pending_deletion_key(std::uint32_t table, std::uint16_t index);
inline constexpr std::string_view pending_deletion_prefix = "data leavings ";
// The keys of the next free version and of the next free table number.
inline constexpr std::string_view versions_key = "data versions";
inline constexpr std::string_view tables_key = "data tables";
// The key of the counts of rows; see item_counts.hpp.
inline constexpr std::string_view item_counts_key = "data figures";

// Returns the prefix of all rows of a table or of one of its indexes.
std::string row_prefix(const Schema& schema, const IndexSchema* index);
std::string row_prefix(std::uint32_t table, std::uint16_t index);
inline Family row_family(const IndexSchema* index) { return index ? Family::index : Family::items; }

// Returns the key of a row. `item` must have the key attributes, and can have others.
std::string row_key(const Schema& schema, const IndexSchema* index, const Item& item);

struct StoredItem {
    std::uint64_t version = 0;
    Item item;
    std::optional<LastWrite> last_write{};
    // size_bytes() of the item.
    std::size_t bytes = 0;
};

// The metadata that is stored with an item.
struct Stamp {
    std::uint64_t version = 0;
    std::optional<LastWrite> last_write{};
};

std::string encode_stored(std::uint64_t version, const Item& item);
std::string encode_stored(const Stamp& stamp, const Item& item);
// Errors: corrupt, newer_format
Result<StoredItem> decode_stored(std::string_view value);
// As decode_stored(), but leaves last_write empty, which takes less time.
Result<StoredItem> decode_without_last_write(std::string_view value);
// As decode_stored(), but leaves the item empty. `bytes` is set.
Result<StoredItem> measure_stored(std::string_view value);
Result<std::optional<StoredItem>> decode_stored(const std::optional<std::string>& value);

}  // namespace rocklock::table
