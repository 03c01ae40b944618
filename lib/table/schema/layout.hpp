// Where things lie in storage, and the form of a stored item. docs/storage_format.md, "Tables",
// has each byte.
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
// Written before the rows of a deleted table are removed, and removed behind them; the number of an
// index is 0 where the whole table goes.
std::string leavings_key(std::uint32_t table, std::uint16_t index);
inline constexpr std::string_view leavings_prefix = "data leavings ";
// The numbers that are taken: of versions, of tables.
inline constexpr std::string_view versions_key = "data versions";
inline constexpr std::string_view tables_key = "data tables";
// How many rows there are: figures.hpp.
inline constexpr std::string_view item_counts_key = "data figures";

// What all rows of a table, or of one of its indexes, begin with.
std::string row_prefix(const Schema& schema, const IndexSchema* index);
std::string row_prefix(std::uint32_t table, std::uint16_t index);
inline Family row_family(const IndexSchema* index) { return index ? Family::index : Family::items; }

// Of an item, by it or by its key; it has the attributes of the key.
std::string row_key(const Schema& schema, const IndexSchema* index, const Item& item);

struct StoredItem {
    std::uint64_t version = 0;
    Item item;
    std::optional<LastWrite> last_write{};
};

// What an item is written with.
struct Stamp {
    std::uint64_t version = 0;
    std::optional<LastWrite> last_write{};
};

std::string encode_stored(std::uint64_t version, const Item& item);
std::string encode_stored(const Stamp& stamp, const Item& item);
// Errors: corrupt, newer_format
Result<StoredItem> decode_stored(std::string_view value);
Result<std::optional<StoredItem>> decode_stored(const std::optional<std::string>& value);

}  // namespace rocklock::table
