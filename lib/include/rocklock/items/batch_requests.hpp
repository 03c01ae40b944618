// Requests for several items: DynamoDB's operations BatchWriteItem, BatchGetItem,
// TransactWriteItems and TransactGetItems. The members correspond to DynamoDB's parameters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <rocklock/items/attribute_value.hpp>
#include <rocklock/items/expression.hpp>
#include <rocklock/items/item_requests.hpp>

namespace rocklock {

// Writes up to 25 items in one commit. If one of the writes is refused, none of them has an effect.
// Only these members of each WriteItem are used: `kind` (`put` or `remove`), `table`, `item`,
// `proof`, `expected_version` and `by`.
struct BatchWrite {
    std::vector<WriteItem> writes;
    ReturnCapacity return_capacity = ReturnCapacity::none;
    bool return_collection_metrics = false;
};

// An item collection that a request has changed. In a table with local indexes, the items with the
// same hash key are a collection. `key` contains only the hash key.
struct WrittenCollection {
    std::string table;
    AttributeMap key;
};

struct BatchWriteAnswer {
    std::vector<ConsumedCapacity> consumed;
    std::vector<WrittenCollection> collections;
    // The writes that were throttled by a Rehearsal (<rocklock/items/rehearsal.hpp>); the caller
    // must retry them. Empty without a Rehearsal.
    std::vector<WriteItem> unprocessed;
};

struct BatchGet {
    struct Keys {
        std::string table;
        std::vector<AttributeMap> keys;
        bool consistent = false;
        ExpressionParameters expressions;
    };

    std::vector<Keys> tables;
    ReturnCapacity return_capacity = ReturnCapacity::none;
    // As in GetItem. If the lock of another session forbids the read of one item, the whole request
    // fails.
    std::optional<LockProof> proof;
};

struct BatchGetAnswer {
    struct Items {
        std::string table;
        std::vector<Item> items;
    };

    // One element for each table of the request, in the order of the request. Keys for which no
    // item exists are omitted.
    std::vector<Items> tables;
    // The keys that were not read because the response reached 16 MB, or because a Rehearsal
    // throttled them. The caller must request them again.
    std::vector<BatchGet::Keys> unprocessed;
    std::vector<ConsumedCapacity> consumed;
};

struct TransactWrite {
    std::vector<WriteItem> actions;
    // The idempotency token: 1 to 36 bytes. If an equal request with the same idempotency token
    // succeeded within the last ten minutes, this request succeeds and has no effect.
    std::optional<std::string> token;
    ReturnCapacity return_capacity = ReturnCapacity::none;
    bool return_collection_metrics = false;
    // The effect of the commit on the grants that permitted the actions.
    AfterSave after = AfterSave::keep;
    // The drafts that this transaction saves; see WriteItem::from_draft. Each draft must belong to
    // a principal whose grant permits one of the actions.
    std::vector<DraftId> from_drafts;
};

struct TransactWriteAnswer {
    // The version of all items that the transaction wrote. 0 if `replayed`.
    std::uint64_t version = 0;
    std::vector<ConsumedCapacity> consumed;
    std::vector<WrittenCollection> collections;
    // Whether an equal request with the same idempotency token had already succeeded. If so, this
    // request wrote no item, and `consumed` is the capacity for reading the items.
    bool replayed = false;
};

// Reads up to 100 items from one snapshot. The members `proof` and `return_capacity` of each
// GetItem are ignored; the members of TransactGet with these names apply to all items.
struct TransactGet {
    std::vector<GetItem> gets;
    ReturnCapacity return_capacity = ReturnCapacity::none;
    // As in GetItem. If the lock of another session forbids the read of one item, the whole request
    // fails.
    std::optional<LockProof> proof;
};

struct TransactGetAnswer {
    // One element for each get, in the same order; none if the item does not exist.
    std::vector<std::optional<Item>> items;
    std::vector<ConsumedCapacity> consumed;
};

}  // namespace rocklock
