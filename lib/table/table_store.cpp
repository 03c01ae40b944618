#include "table/table_store.hpp"

#include <utility>

#include "table/faults.hpp"

namespace rocklock {

Result<std::unique_ptr<TableService>> open_tables(Storage& storage, Clock& clock,
                                                  const TableOptions& options) {
    auto store = std::make_unique<table::TableStore>(storage, clock, options);
    if (auto opened = store->open(); !opened) return std::move(opened).error();
    return std::unique_ptr<TableService>(std::move(store));
}

namespace table {
namespace {

// So often a write tries its luck before it takes a turn.
constexpr int attempts_without_turn = 2;

}  // namespace

Result<void> TableStore::open() {
    if (auto opened = versions_.open(clock_.now().wall); !opened) return opened;
    if (auto opened = catalog_.open(); !opened) return opened;
    const auto leavings = catalog_.leavings();
    if (!leavings) return Error(leavings.error());
    for (const auto& left : *leavings) {
        if (auto cleared = catalog_.clear(left); !cleared) return cleared;
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

Result<SchemaPointer> TableStore::schema(const std::string& table) const {
    auto found = catalog_.find(table);
    if (!found) return no_such_resource();
    return found;
}

Result<std::optional<StoredItem>> TableStore::read_row(const std::string& row) const {
    auto value = storage_.get(Family::items, row);
    if (!value) return std::move(value).error();
    return decode_stored(*value);
}

Result<void> TableStore::commit_decision(const std::vector<std::string>& rows,
                                         Durability durability,
                                         const std::function<Result<Batch>()>& decide) {
    std::vector<std::size_t> places;
    for (const auto& row : rows) places.push_back(Turns::place_of(row));
    std::optional<Turns::Turn> turn;
    for (int attempt = 0;; ++attempt) {
        if (!turn && (attempt >= attempts_without_turn || turns_.is_crowded(places))) {
            turns_.take(places, turn);
        }
        auto batch = decide();
        if (!batch) return std::move(batch).error();
        if (batch->writes.empty()) return {};
        auto committed = storage_.commit(*std::move(batch), durability);
        if (committed || committed.error().code != ErrorCode::precondition_failed) return committed;
    }
}

}  // namespace table
}  // namespace rocklock
