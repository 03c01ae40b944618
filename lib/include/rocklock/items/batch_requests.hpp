// Several items in one request: BatchWriteItem, BatchGetItem, TransactWriteItems and
// TransactGetItems. The names are those of DynamoDB's parameters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <rocklock/items/attribute_value.hpp>
#include <rocklock/items/expression.hpp>
#include <rocklock/items/item_requests.hpp>

namespace rocklock {

// Of writes only kind, table, item and guards count: `put` or `remove`. One that is refused refuses
// all.
struct BatchWrite {
    std::vector<WriteItem> writes;
    ReturnCapacity return_capacity = ReturnCapacity::none;
    bool return_collection_metrics = false;
};

// A hash key whose items were written, of a table with local indexes.
struct WrittenCollection {
    std::string table;
    AttributeMap key;
};

struct BatchWriteAnswer {
    std::vector<ConsumedCapacity> consumed;
    std::vector<WrittenCollection> collections;
    // What was throttled in a rehearsal, to be asked for again; without one nothing ever is.
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
    // As that of GetItem; one item that is locked refuses all.
    std::optional<LockProof> proof;
};

struct BatchGetAnswer {
    struct Items {
        std::string table;
        std::vector<Item> items;
    };

    // One for each of the request, in its order.
    std::vector<Items> tables;
    // What did not fit into 16 MB, to be asked for again.
    std::vector<BatchGet::Keys> unprocessed;
    std::vector<ConsumedCapacity> consumed;
};

struct TransactWrite {
    std::vector<WriteItem> actions;
    // 1 to 36 characters. The same request with the same token does nothing within ten minutes of
    // its success.
    std::optional<std::string> token;
    ReturnCapacity return_capacity = ReturnCapacity::none;
    bool return_collection_metrics = false;
    // What becomes of the grants that let its actions in.
    AfterSave after = AfterSave::keep;
    // As WriteItem::from_draft, of principals whose grants let its actions in.
    std::vector<DraftId> from_drafts;
};

struct TransactWriteAnswer {
    // That all items have now which were written. 0 where the token was known, and nothing done.
    std::uint64_t version = 0;
    std::vector<ConsumedCapacity> consumed;
    std::vector<WrittenCollection> collections;
    // The token was known, and nothing was done: `consumed` is what it cost to read the items.
    bool replayed = false;
};

// Of gets not their proofs: there is one for all.
struct TransactGet {
    std::vector<GetItem> gets;
    ReturnCapacity return_capacity = ReturnCapacity::none;
    // As that of GetItem; one item that is locked refuses all.
    std::optional<LockProof> proof;
};

struct TransactGetAnswer {
    // One for each of the request, in its order.
    std::vector<std::optional<Item>> items;
    std::vector<ConsumedCapacity> consumed;
};

}  // namespace rocklock
