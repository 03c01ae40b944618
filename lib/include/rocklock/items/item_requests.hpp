// Requests that write or read single items, and requests that read several items by their keys:
// PutItem, UpdateItem, DeleteItem, GetItem, Query and Scan. The names are those of DynamoDB's
// parameters.
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

// Whether a response reports the capacity that the request would have consumed: `total` for each
// table, `indexes` also for each index.
enum class ReturnCapacity : std::uint8_t { none, total, indexes };

// In DynamoDB's capacity units. `table_units` and the units by index name are set only if the
// request asked for `indexes`.
struct ConsumedCapacity {
    std::string table;
    double units = 0;
    std::optional<double> table_units;
    std::map<std::string, double> local_indexes;
    std::map<std::string, double> global_indexes;
};

enum class ReturnValues : std::uint8_t { none, all_old, updated_old, all_new, updated_new };

// PutItem, UpdateItem and DeleteItem; in a transaction also ConditionCheck.
//
// The key names one item. The condition is evaluated on this item, and the item is then replaced,
// changed or deleted, in one atomic step.
struct WriteItem {
    enum class Kind : std::uint8_t { put, update, remove, check };

    Kind kind = Kind::put;
    std::string table;
    // For `put` the whole item, otherwise the key.
    AttributeMap item;
    ExpressionParameters expressions;
    ReturnValues return_values = ReturnValues::none;
    // If the condition fails, whether the error contains the item.
    bool return_item_on_failure = false;
    ReturnCapacity return_capacity = ReturnCapacity::none;
    bool return_collection_metrics = false;
    // If the proof has a token, the write is committed only if its grant is live and has mode
    // `write` or `exclusive`; for a bound table, the grant must also cover the item. A proof
    // without a token is used for bound tables only.
    std::optional<LockProof> proof;
    // The version that the item must have, as an earlier response reported it; 0 if the item must
    // not exist. If the version differs, the write fails with condition_failed.
    std::optional<std::uint64_t> expected_version;
    // The principal that writes. It is stored with the item and reported to clients that find the
    // item changed. At most limits::name_bytes. If a grant permits the write, the principal of the
    // grant's session is stored instead.
    std::string by;
    // The effect of the commit on the grant that permitted the write. In a transaction,
    // TransactWrite::after applies instead.
    AfterSave after = AfterSave::keep;
    // The draft that this write saves: the same commit deletes it. It must belong to the principal
    // whose grant permits the write. If it does not exist any more, the write fails with
    // resource_not_found. In a transaction, TransactWrite::from_drafts applies instead; in a batch,
    // it is ignored.
    std::optional<DraftId> from_draft;
};

struct WriteAnswer {
    // The attributes that `return_values` selects; none if it selects no attribute.
    std::optional<Item> attributes;
    // The version of the item after this write. Every write increases it. 0 if the item does not
    // exist now.
    std::uint64_t version = 0;
    std::optional<ConsumedCapacity> consumed;
    // The hash key, if the request asked for metrics and the table has local indexes.
    std::optional<AttributeMap> collection_key;
};

struct GetItem {
    std::string table;
    AttributeMap key;
    // Affects only the reported capacity: every read returns the latest committed state.
    bool consistent = false;
    ExpressionParameters expressions{};
    ReturnCapacity return_capacity = ReturnCapacity::none;
    // For bound tables: the session of the proof may read the items that it holds in mode
    // `exclusive`.
    std::optional<LockProof> proof{};
};

struct GetAnswer {
    // None if the item does not exist.
    std::optional<Item> item;
    // The version of the item; 0 if it does not exist.
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

// The options that Query and Scan have in common.
struct PageOptions {
    std::optional<std::string> index;
    // As in GetItem; must be false for a global index.
    bool consistent = false;
    // The maximum number of items that are read, before the filter is applied.
    std::optional<std::int64_t> limit;
    // The `last_key` of the previous page; none for the first page.
    std::optional<AttributeMap> start_key;
    std::optional<Select> select;
    ReturnCapacity return_capacity = ReturnCapacity::none;
    // As in GetItem. If another session's lock forbids the read of one item, the whole request
    // fails.
    std::optional<LockProof> proof;
};

// Reads the items of one hash key in the ascending order of their range keys, or in descending
// order if `forward` is false.
struct Query {
    std::string table;
    ExpressionParameters expressions;
    PageOptions options;
    bool forward = true;
};

// Reads all items of a table or an index, or those of one of `total_segments` segments (`segment`
// counts from 0). Items with the same hash key are adjacent.
struct Scan {
    std::string table;
    ExpressionParameters expressions;
    PageOptions options;
    std::optional<std::int64_t> segment;
    std::optional<std::int64_t> total_segments;
};

// A page ends at PageOptions::limit, after 1 MB of items, or after 20,000 items (2,000 items of a
// system table).
struct Page {
    // Empty if the request selected only the count.
    std::vector<Item> items;
    // The number of items that passed the filter, and the number of items that were read.
    std::size_t count = 0;
    std::size_t scanned = 0;
    // If the page ended before the end of the range was reached: the key of the last item that was
    // read. Otherwise none. If the last item of the range fills the page, `last_key` is set and the
    // next page is empty.
    std::optional<AttributeMap> last_key;
    std::optional<ConsumedCapacity> consumed;
};

}  // namespace rocklock
