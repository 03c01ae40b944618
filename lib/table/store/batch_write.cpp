// BatchWriteItem.
#include <optional>
#include <utility>

#include "base/assert.hpp"
#include "table/guard/drafts.hpp"
#include "table/schema/request_limits.hpp"
#include "table/schema/validation.hpp"
#include "table/store/table_store.hpp"
#include "table/write/multi_write.hpp"

namespace rocklock::table {
namespace {

std::optional<Error> check_batch(const BatchWrite& request) {
    if (request.writes.empty()) {
        return constraint("{}", "requestItems",
                          "Member must have length greater than or equal to 1");
    }
    if (request.writes.size() > max_batch_writes) {
        return validation_error("Too many items requested for the BatchWriteItem call");
    }
    for (const WriteItem& write : request.writes) {
        if (write.kind == WriteItem::Kind::put || write.kind == WriteItem::Kind::remove) continue;
        return validation_error("A batch may contain only puts and deletes");
    }
    return std::nullopt;
}

// In a batch, errors in the key of a put are reported as for a delete.
std::optional<Error> check_keys(const MultiWrite& writes) {
    ROCKLOCK_ASSERT(writes.schemas.size() == writes.reads.size());
    for (std::size_t i = 0; i < writes.reads.size(); ++i) {
        const Item& item = writes.reads[i].request->item;
        AttributeMap key;
        for (const KeyAttribute& part : writes.schemas[i]->key.list()) {
            if (const auto* value = item.find(part.name)) key.set(part.name, *value);
        }
        auto checked = check_key(key, writes.schemas[i]->key.list());
        if (!checked) return std::move(checked).error();
    }
    return std::nullopt;
}

// A delete of an absent item in a batch consumes one unit more than alone. Recorded from DynamoDB.
void count_deletes_of_missing_items(const MultiWrite& writes, DecidedWrites& decided) {
    ROCKLOCK_ASSERT(decided.answers.size() == decided.found.size());
    ROCKLOCK_ASSERT(decided.answers.size() == writes.reads.size());
    for (std::size_t i = 0; i < decided.answers.size(); ++i) {
        auto& consumed = decided.answers[i].consumed;
        const bool deletes = writes.reads[i].request->kind == WriteItem::Kind::remove;
        if (!deletes || decided.found[i] || !consumed) continue;
        consumed->units += 1;
        if (consumed->table_units) *consumed->table_units += 1;
    }
}

}  // namespace

Result<BatchWriteAnswer> TableStore::batch_write(const BatchWrite& request) {
    if (auto error = check_batch(request)) return *std::move(error);
    std::vector<WriteItem> requests;
    for (const WriteItem& write : request.writes) {
        WriteItem& plain = requests.emplace_back();
        plain.kind = write.kind;
        plain.table = write.table;
        plain.item = write.item;
        plain.proof = write.proof;
        plain.expected_version = write.expected_version;
        plain.by = write.by;
        plain.return_capacity = request.return_capacity;
        plain.return_collection_metrics = request.return_collection_metrics;
    }
    auto writes = read_writes(requests);
    if (!writes) return std::move(writes).error();

    std::vector<WriteAnswer> answers;
    AfterCommit after(options_.gate, AfterSave::keep);
    const auto bind = [&]() -> Result<void> {
        if (is_bound(*writes, catalog_)) return {};
        if (auto found = find_tables(*writes, catalog_); !found) return found;
        if (auto error =
                check_together(*writes, "Provided list of item keys contains duplicates")) {
            return *std::move(error);
        }
        if (auto error = check_keys(*writes)) return *std::move(error);
        std::size_t at = 0;
        return bind_writes(*writes, at);
    };
    // Set if a write is refused. Late writes are then stored as drafts instead of the whole batch.
    std::optional<Error> refused;
    const auto decide = [&]() -> Result<Decision> {
        refused.reset();
        if (auto bound = bind(); !bound) return std::move(bound).error();
        const auto snapshot = storage_.snapshot();
        const auto version = versions_.next();
        if (!version) return Error(version.error());
        auto decided =
            decide_writes(*writes, {options_.gate, *snapshot, *version, clock_.now().wall, after});
        if (!decided) return std::move(decided).error();
        if (decided->refused) {
            refused = std::move(decided->refused);
            return keep_instead(draft_moment(*snapshot), decided->late, refused);
        }
        const Decision& whole = decided->decision;
        if (auto over = users_.check(whole.batch.writes, whole.count_changes)) {
            return *std::move(over);
        }
        count_deletes_of_missing_items(*writes, *decided);
        answers = std::move(decided->answers);
        return std::move(decided->decision);
    };
    if (auto bound = bind(); !bound) return std::move(bound).error();
    if (auto committed = commit_decision(writes->rows(), options_.durability, decide); !committed) {
        return std::move(committed).error();
    }
    if (refused) return *std::move(refused);
    return BatchWriteAnswer{consumed_by(answers, 1), collections_of(*writes, answers), {}};
}

}  // namespace rocklock::table
