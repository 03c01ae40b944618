// Requests for several items: BatchWriteItem, BatchGetItem, TransactWriteItems and
// TransactGetItems. The names are those of DynamoDB's parameters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <rocklock/items/attribute_value.hpp>
#include <rocklock/items/expression.hpp>
#include <rocklock/items/item_requests.hpp>

namespace rocklock {

// Writes up to 25 items in one commit. If one of the writes is refused, none has an effect. Only
// these members of a WriteItem are used: `kind` (`put` or `remove`), `table`, `item`, `proof`,
// `expected_version` and `by`.
struct BatchWrite {
    std::vector<WriteItem> writes;
    ReturnCapacity return_capacity = ReturnCapacity::none;
    bool return_collection_metrics = false;
};

// The hash key of written items, in a table that has local indexes.
struct WrittenCollection {
    std::string table;
    AttributeMap key;
};

struct BatchWriteAnswer {
    std::vector<ConsumedCapacity> consumed;
    std::vector<WrittenCollection> collections;
    // The writes that were throttled; the caller must retry them. Always empty without a Rehearsal.
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
    // As in GetItem. If another session's lock forbids the read of one item, the whole request
    // fails.
    std::optional<LockProof> proof;
};

struct BatchGetAnswer {
    struct Items {
        std::string table;
        std::vector<Item> items;
    };

    // One element for each table of the request, in the same order. Keys without an item are
    // omitted.
    std::vector<Items> tables;
    // The keys that were not read because the response reached 16 MB; the caller must request them
    // again.
    std::vector<BatchGet::Keys> unprocessed;
    std::vector<ConsumedCapacity> consumed;
};

struct TransactWrite {
    std::vector<WriteItem> actions;
    // The idempotency token: 1 to 36 characters. If an equal request with the same token succeeded
    // within the last ten minutes, this request succeeds and has no effect.
    std::optional<std::string> token;
    ReturnCapacity return_capacity = ReturnCapacity::none;
    bool return_collection_metrics = false;
    // The effect of the commit on the grants that permitted the actions.
    AfterSave after = AfterSave::keep;
    // As WriteItem::from_draft. Each draft must belong to a principal whose grant permitted an
    // action.
    std::vector<DraftId> from_drafts;
};

struct TransactWriteAnswer {
    // The version of all items that the transaction wrote. 0 if `replayed`.
    std::uint64_t version = 0;
    std::vector<ConsumedCapacity> consumed;
    std::vector<WrittenCollection> collections;
    // Whether an equal request with the same token had already succeeded. If so, no item was
    // written, and `consumed` is the capacity for reading the items.
    bool replayed = false;
};

// Reads up to 100 items from one snapshot. The members `proof` and `return_capacity` of each
// GetItem are ignored; the members of this request apply to all of them.
struct TransactGet {
    std::vector<GetItem> gets;
    ReturnCapacity return_capacity = ReturnCapacity::none;
    // As in GetItem. If another session's lock forbids the read of one item, the whole request
    // fails.
    std::optional<LockProof> proof;
};

struct TransactGetAnswer {
    // One element for each get, in the same order; none if the item does not exist.
    std::vector<std::optional<Item>> items;
    std::vector<ConsumedCapacity> consumed;
};

}  // namespace rocklock
