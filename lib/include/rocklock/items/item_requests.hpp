// Reading and writing single items, and reading many by their keys: PutItem, UpdateItem,
// DeleteItem, GetItem, Query and Scan. The names are those of DynamoDB's parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/error.hpp>
#include <rocklock/items/attribute_value.hpp>
#include <rocklock/items/expression.hpp>
#include <rocklock/lock_proof.hpp>

namespace rocklock {

// Whether an answer tells what the request would have cost, with the parts of indexes or without.
enum class ReturnCapacity : std::uint8_t { none, total, indexes };

// In units of DynamoDB. Tables and indexes are filled in where `indexes` was asked for.
struct ConsumedCapacity {
    std::string table;
    double units = 0;
    std::optional<double> table_units;
    std::map<std::string, double> local_indexes;
    std::map<std::string, double> global_indexes;
};

enum class ReturnValues : std::uint8_t { none, all_old, updated_old, all_new, updated_new };

// PutItem, UpdateItem and DeleteItem; in a transaction ConditionCheck too.
//
// Its key names one item, which the condition is asked about, and which is then replaced, changed
// or deleted, in one step that no other write comes between.
struct WriteItem {
    enum class Kind : std::uint8_t { put, update, remove, check };

    Kind kind = Kind::put;
    std::string table;
    // The whole item for `put`, else the key.
    AttributeMap item;
    ExpressionParameters expressions;
    ReturnValues return_values = ReturnValues::none;
    // Whether the error of a failed condition has the item.
    bool return_item_on_failure = false;
    ReturnCapacity return_capacity = ReturnCapacity::none;
    bool return_collection_metrics = false;
    // With a token: the write is committed only while its grant lives and covers the item. Where
    // the table is not bound that is any item. Without one it counts for bound tables alone.
    std::optional<LockProof> proof;
    // The item must have this version, as an answer told it; 0: there must be none. Otherwise
    // condition_failed.
    std::optional<std::uint64_t> expected_version;
    // Who writes: kept with the item, and told to whoever finds that it has changed. At most
    // limits::name_bytes. Of a write that a grant lets in it is the principal of its session.
    std::string by;
    // What becomes of the grant that lets it in. In a transaction TransactWrite::after counts.
    AfterSave after = AfterSave::keep;
    // The draft that is saved with it, which its commit removes: one of the principal whose grant
    // lets the write in. If it is not there any more, nothing is written: resource_not_found. In a
    // transaction TransactWrite::from_drafts counts, in a batch there is none.
    std::optional<DraftId> from_draft;
};

struct WriteAnswer {
    // As `return_values` asked; nothing where that selects nothing.
    std::optional<Item> attributes;
    // Of the item as it is now; rises with each write of it. 0 where there is none.
    std::uint64_t version = 0;
    std::optional<ConsumedCapacity> consumed;
    // The hash key, of a table with local indexes, if metrics were asked for.
    std::optional<AttributeMap> collection_key;
};

struct GetItem {
    std::string table;
    AttributeMap key;
    // Only the cost depends on it: reads are always of the latest.
    bool consistent = false;
    ExpressionParameters expressions{};
    ReturnCapacity return_capacity = ReturnCapacity::none;
    // Of a bound table: lets read what its session holds in exclusive.
    std::optional<LockProof> proof{};
};

struct GetAnswer {
    std::optional<Item> item;
    // Of the item; 0 where there is none.
    std::uint64_t version = 0;
    std::optional<LastWrite> last_write;
    std::optional<ConsumedCapacity> consumed;
};

enum class Select : std::uint8_t {
    all_attributes,
    all_projected_attributes,
    count,
    specific_attributes,
};

// What Query and Scan have in common.
struct PageOptions {
    std::optional<std::string> index;
    bool consistent = false;
    // So many items are read, before the filter.
    std::optional<std::int64_t> limit;
    // The last key of the page before.
    std::optional<AttributeMap> start_key;
    std::optional<Select> select;
    ReturnCapacity return_capacity = ReturnCapacity::none;
    // As that of GetItem; one item that is locked refuses the page.
    std::optional<LockProof> proof;
};

// The items of one hash key, in order of their range keys.
struct Query {
    std::string table;
    ExpressionParameters expressions;
    PageOptions options;
    bool forward = true;
};

// All items, or those of one segment of so many, the items of a hash key together.
struct Scan {
    std::string table;
    ExpressionParameters expressions;
    PageOptions options;
    std::optional<std::int64_t> segment;
    std::optional<std::int64_t> total_segments;
};

struct Page {
    // Empty where only the count was asked for.
    std::vector<Item> items;
    // Behind the filter, and before.
    std::size_t count = 0;
    std::size_t scanned = 0;
    // Where the page ended before the items did: of the last one read.
    std::optional<AttributeMap> last_key;
    std::optional<ConsumedCapacity> consumed;
};

}  // namespace rocklock
