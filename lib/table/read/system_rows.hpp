// Reads rows of system tables, for operations that also read rows of stored tables. The rows of
// stored tables are read from a snapshot, which does not contain the rows of system tables; see
// schema/system_tables.hpp.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/items/item_requests.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

#include "table/read/page.hpp"
#include "table/schema/catalog.hpp"
#include "table/schema/layout.hpp"
#include "table/schema/system_tables.hpp"

namespace rocklock::table {

// Returns the definitions of the system tables, which are not stored. `created` is the creation
// time in descriptions.
std::vector<SchemaPointer> system_schemas(const SystemTables& tables, WallTime created);

// Checks a request for a system table; for other tables, returns nullopt. Returns an error if the
// request is a write, if it is a condition check and SystemTable::can_be_checked is false, or if it
// expects a version of a row.
std::optional<Error> check_writable(const Schema& schema, const WriteItem& request);

// The rows of system tables that one request reads by their keys. Lifetime: borrows the source and
// the keys.
class SystemRows {
public:
    // `source` may be null if the request names no system table.
    explicit SystemRows(SystemTables* source) : source_(source) {}

    // Adds a row that read() is to read. Ignores rows of stored tables.
    void want(const Schema& schema, const std::string& row, const AttributeMap& key);
    bool any() const { return !keys_.empty(); }
    // Reads all added rows at one instant. A second call reads them again.
    //
    // Errors: as SystemTables::get()
    Result<void> read();
    // Returns a row that was added with want() and read with read().
    const SystemRow& at(const std::string& row) const;
    std::optional<StoredItem> item_at(const std::string& row) const;
    // Adds preconditions to the batch, so that its commit is refused if the row has changed since
    // read(). `before` is a snapshot that was taken before read(). When the batch is committed,
    // each record on which the row depends must still have its version in `before`, and the time
    // must not be after SystemRow::until.
    //
    // Errors: those of Snapshot
    Result<void> add_terms(const std::string& row, const Snapshot& before, Batch& batch) const;
    // As above, for all rows.
    Result<void> add_terms(const Snapshot& before, Batch& batch) const;

private:
    SystemTables* source_;
    std::vector<SystemTables::Key> keys_;
    std::map<std::string, std::size_t> indexes_;
    std::vector<SystemRow> rows_;
};

// Returns whether the preconditions of the batch `terms` hold in the snapshot `moment`, and `now`
// is not after the deadline of the batch.
// Errors: those of Snapshot
Result<bool> still_holds(const Batch& terms, const Snapshot& moment, BootTime now);

// Returns an item of a stored table or a system table.
//
// Errors: those of Snapshot; corrupt
Result<std::optional<StoredItem>> read_item(const Snapshot& moment, const SystemRows& system,
                                            const Schema& schema, const std::string& row);

// Returns a snapshot from which one page of a system table can be read. Lifetime: borrows source
// and plan.
std::shared_ptr<const Snapshot> system_moment(SystemTables& source, const PagePlan& plan);

}  // namespace rocklock::table
