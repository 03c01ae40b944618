#include "table/store/table_store.hpp"

#include <algorithm>
#include <mutex>
#include <tuple>
#include <utility>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "table/rehearsal/rehearsed_tables.hpp"
#include "table/schema/validation.hpp"
#include "table/store/confirmed_tables.hpp"

namespace rocklock {

bool is_region(std::string_view text) {
    constexpr std::size_t max_bytes = 63;
    return !text.empty() && text.size() <= max_bytes &&
           std::all_of(text.begin(), text.end(), [](char byte) {
               return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-';
           });
}

Result<std::unique_ptr<TableService>> open_tables(Storage& storage, Clock& clock,
                                                  const TableOptions& options) {
    const Rehearsal& rehearsal = options.rehearsal;
    if (rehearsal.throttle_percent > 100 || rehearsal.conflict_percent > 100) {
        return Error(ErrorCode::invalid_argument,
                     "throttle_percent and conflict_percent must be at most 100");
    }
    if (!is_region(options.region)) {
        return Error(
            ErrorCode::invalid_argument,
            "the region is '" + options.region +
                "': write 1 to 63 lower-case letters, digits and hyphens, as in eu-west-1");
    }
    auto store = std::make_unique<table::TableStore>(storage, clock, options);
    if (auto opened = store->open(); !opened) return std::move(opened).error();
    std::unique_ptr<TableService> tables = std::move(store);
    if (storage.must_confirm()) {
        tables = std::make_unique<table::ConfirmedTables>(std::move(tables), storage);
    }
    if (!rehearsal.is_on()) return tables;
    return std::unique_ptr<TableService>(
        std::make_unique<table::RehearsedTables>(std::move(tables), clock, options));
}

namespace table {
namespace {

// The number of attempts of a write before it takes a slot.
constexpr int attempts_without_slot = 2;
// The maximum number of rows that a description counts if the counts are not exact.
constexpr std::size_t rows_counted_at_once = 1'000;

}  // namespace

Result<void> TableStore::open() {
    ROCKLOCK_ASSERT(!opened_ && !closing_);
    if (auto opened = versions_.open(clock_.now().wall); !opened) return opened;
    if (auto opened = catalog_.open(); !opened) return opened;
    if (options_.system != nullptr) {
        catalog_.add_system(system_schemas(*options_.system, clock_.now().wall));
    }
    if (auto counted = count_drafts(*storage_.snapshot(), users_); !counted) return counted;
    auto stored_counts = storage_.get(Family::meta, item_counts_key);
    if (!stored_counts) return std::move(stored_counts).error();
    if (auto read = decode_item_counts(*stored_counts, catalog_.all()); !read) return read;
    // Stores the counts as not exact, in case the process ends without close(). Ignores the error:
    // if the store cannot be written, the counts do not change either.
    if (*stored_counts) static_cast<void>(store_item_counts(false));
    opened_ = true;
    const auto deletions = catalog_.pending_deletions();
    if (!deletions) return Error(deletions.error());
    for (const auto& deletion : *deletions) {
        if (auto cleared = catalog_.clear(deletion); !cleared) return cleared;
    }
    for (const auto& schema : catalog_.all()) {
        for (const IndexSchema& index : schema->indexes) {
            if (index.status == IndexStatus::active) continue;
            if (auto filled = fill_index(schema->name, index.number); !filled) {
                return std::move(filled).error();
            }
        }
    }
    return {};
}

// If this fails, the counts are computed again after the next start.
TableStore::~TableStore() { std::ignore = close(); }

Result<void> TableStore::close() {
    // Set first, because a shared_mutex may prefer readers, and a stream of commits would block
    // close().
    closing_ = true;
    const std::unique_lock alone(committing_);
    if (!std::exchange(opened_, false)) return {};
    return store_item_counts(queued_ == 0);
}

Result<void> TableStore::store_item_counts(bool exact) {
    const auto version = versions_.next();
    if (!version) return Error(version.error());
    std::string record;
    append_u64(record, *version);
    record += encode_item_counts(catalog_.all(), exact);
    Batch batch;
    batch.writes.push_back({Family::meta, std::string(item_counts_key), std::move(record)});
    return storage_.commit(std::move(batch), Durability::written);
}

Result<void> TableStore::count_if_small(const SchemaPointer& schema) {
    if (schema->item_counts->exact) return {};
    std::size_t rows_left = rows_counted_at_once;
    const auto counted = RowCounter(storage_, schema).step(rows_left);
    if (!counted) return Error(counted.error());
    return {};
}

Result<void> TableStore::change_schema(const std::string& table,
                                       const std::function<Result<bool>(Schema&)>& change) {
    while (true) {
        const auto before = catalog_.find(table);
        if (!before) return no_such_table(table);
        if (before->is_system()) return only_read(before->name);
        Schema after = *before;
        const auto changed = change(after);
        if (!changed) return Error(changed.error());
        if (!*changed) return {};
        const auto replaced = catalog_.replace(before, std::move(after));
        if (replaced) return {};
        if (replaced.error().code != ErrorCode::precondition_failed) {
            return Error(replaced.error());
        }
    }
}

Result<SchemaPointer> TableStore::schema(const std::string& table) const {
    auto found = catalog_.find(table);
    if (!found) return no_such_resource();
    return found;
}

std::shared_ptr<const Snapshot> TableStore::snapshot_for(const PagePlan& plan) const {
    ROCKLOCK_ASSERT(!plan.schema->is_system() || options_.system != nullptr);
    if (plan.schema->is_system()) return system_moment(*options_.system, plan);
    const bool global = plan.index && plan.index->kind == IndexKind::global;
    if (global && index_lag_) return index_lag_->moment();
    return storage_.snapshot();
}

Result<std::optional<StoredItem>> TableStore::read_one(const ReadGet& read,
                                                       const AttributeMap& key) const {
    ROCKLOCK_ASSERT(read.schema != nullptr && !read.row.empty());
    if (!read.schema->is_system()) return read_row(read.row);
    SystemRows rows(options_.system);
    rows.want(*read.schema, read.row, key);
    if (auto found = rows.read(); !found) return std::move(found).error();
    return rows.item_at(read.row);
}

Result<std::optional<StoredItem>> TableStore::read_row(const std::string& row) const {
    auto value = storage_.get(Family::items, row);
    if (!value) return std::move(value).error();
    return decode_stored(*value);
}

Result<void> TableStore::commit_decision(const std::vector<std::string>& rows,
                                         Durability durability,
                                         const std::function<Result<Decision>()>& decide) {
    std::vector<std::size_t> buckets;
    for (const auto& row : rows) buckets.push_back(RetryQueue::index_of(row));
    std::optional<RetryQueue::Slot> slot;
    for (int attempt = 0;; ++attempt) {
        if (!slot && (attempt >= attempts_without_slot || retry_queue_.is_contended(buckets))) {
            retry_queue_.take(buckets, slot);
        }
        auto decision = decide();
        if (!decision) return std::move(decision).error();
        if (decision->batch.writes.empty()) return {};
        if (closing_) return Error(ErrorCode::closing, "the tables are closed");
        const std::shared_lock open_until_counted(committing_);
        if (!opened_) return Error(ErrorCode::closing, "the tables are closed");
        if (index_lag_) index_lag_->before_write();
        auto committed = storage_.commit(std::move(decision->batch), durability);
        if (index_lag_) index_lag_->after_write();
        if (committed) apply(decision->count_changes);
        if (committed || committed.error().code != ErrorCode::precondition_failed) return committed;
    }
}

}  // namespace table
}  // namespace rocklock
