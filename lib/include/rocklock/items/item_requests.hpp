// Requests that write or read single items, and requests that read the items of a range: DynamoDB's
// operations PutItem, UpdateItem, DeleteItem, GetItem, Query and Scan. The members correspond to
// DynamoDB's parameters.
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

// Whether a response reports the capacity that the request would have consumed in DynamoDB: `none`
// does not, `total` reports it for each table, and `indexes` also for each index.
enum class ReturnCapacity : std::uint8_t { none, total, indexes };

// The consumed capacity of one table, in DynamoDB's capacity units. The two maps contain the units
// of each index by the index's name. `table_units` and the maps are set only if the request has
// ReturnCapacity::indexes.
struct ConsumedCapacity {
    std::string table;
    double units = 0;
    std::optional<double> table_units;
    std::map<std::string, double> local_indexes;
    std::map<std::string, double> global_indexes;
};

enum class ReturnValues : std::uint8_t { none, all_old, updated_old, all_new, updated_new };

// The operations PutItem, UpdateItem and DeleteItem; in a transaction also a ConditionCheck.
//
// The key identifies one item. In one atomic step, the condition is evaluated on this item, and the
// item is then replaced, changed or deleted. A ConditionCheck only evaluates the condition.
struct WriteItem {
    enum class Kind : std::uint8_t { put, update, remove, check };

    Kind kind = Kind::put;
    std::string table;
    // For `put`, the whole item; for the other kinds, the key.
    AttributeMap item;
    ExpressionParameters expressions;
    ReturnValues return_values = ReturnValues::none;
    // Whether the error contains the item if the condition fails.
    bool return_item_on_failure = false;
    ReturnCapacity return_capacity = ReturnCapacity::none;
    bool return_collection_metrics = false;
    // The proof of the lock under which the item is written. If the proof has a token, the write is
    // committed only if the token's grant has not ended and has mode `write` or `exclusive`. For a
    // bound table, the grant must also cover the item. If the proof has no token, it is ignored
    // unless the table is bound.
    std::optional<LockProof> proof;
    // The version that the item must have: a version that an earlier response contained, or 0 if
    // the item must not exist. If the item has another version, the write fails with
    // condition_failed.
    std::optional<std::uint64_t> expected_version;
    // The principal that writes. It is stored with the item, and reported to clients that find the
    // item changed. At most limits::name_bytes. If a grant permits the write, the principal of the
    // grant's session is used instead.
    std::string by;
    // The effect of the commit on the grant that permitted the write. In a transaction,
    // TransactWrite::after applies instead.
    AfterSave after = AfterSave::keep;
    // The draft that this write saves; the commit of the write also deletes the draft. The draft
    // must belong to the principal whose grant permits the write. If the draft does not exist any
    // more, the write fails with resource_not_found. In a transaction, TransactWrite::from_drafts
    // applies instead. In a batch, this member is ignored.
    std::optional<DraftId> from_draft;
};

struct WriteAnswer {
    // The attributes that WriteItem::return_values selects; none if it selects no attribute.
    std::optional<Item> attributes;
    // The version of the item after this write. Every write increases the version of its item. 0 if
    // the item does not exist after this write.
    std::uint64_t version = 0;
    std::optional<ConsumedCapacity> consumed;
    // The hash key of the item, if WriteItem::return_collection_metrics is set and the table has
    // local indexes.
    std::optional<AttributeMap> collection_key;
};

struct GetItem {
    std::string table;
    AttributeMap key;
    // Affects only the reported capacity. Every read returns the latest committed state.
    bool consistent = false;
    ExpressionParameters expressions{};
    ReturnCapacity return_capacity = ReturnCapacity::none;
    // For bound tables: the proof of a lock. The session in the proof can read items whose
    // resources it holds in mode `exclusive`.
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
    // As in GetItem. Must be false for a global index.
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

// Reads all items of a table or of an index, or one of `total_segments` segments of them; the first
// segment has the number 0. Items with the same hash key are adjacent.
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
    // Empty if the request has Select::count.
    std::vector<Item> items;
    // `count` is the number of items that passed the filter, `scanned` the number of items that
    // were read.
    std::size_t count = 0;
    std::size_t scanned = 0;
    // The key of the last item that was read, if the page ended before the end of the range was
    // reached; otherwise none. If the last item of the range fills the page, `last_key` is set, and
    // the next page is empty.
    std::optional<AttributeMap> last_key;
    std::optional<ConsumedCapacity> consumed;
};

}  // namespace rocklock
