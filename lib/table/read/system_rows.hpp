// Rows of the system's own tables, where the operations read others from a snapshot.
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

// Their definitions, in no store. `created` is what descriptions tell.
std::vector<SchemaPointer> system_schemas(const SystemTables& tables, WallTime created);

// The fault of a write of what is only read, or of a condition that nothing holds up to the commit.
std::optional<Error> check_writable(const Schema& schema, const WriteItem& request);

// Those rows that one request asks for by their keys. Lifetime: borrows the source and the keys.
class SystemRows {
public:
    // `source` may be none where no table is a system's.
    explicit SystemRows(SystemTables* source) : source_(source) {}

    // Passes over rows of other tables.
    void want(const Schema& schema, const std::string& row, const AttributeMap& key);
    bool any() const { return !keys_.empty(); }
    // Looks at all of them, as of one instant; again, when it is called again.
    //
    // Errors: as SystemTables::get()
    Result<void> read();
    // Which was wanted, and looked at.
    const SystemRow& at(const std::string& row) const;
    std::optional<StoredItem> item_at(const std::string& row) const;
    // Makes the commit rest on what was seen of the row: on its records as they are at a moment
    // from before the look.
    //
    // Errors: those of Snapshot
    Result<void> add_terms(const std::string& row, const Snapshot& before, Batch& batch) const;
    // Of all rows.
    Result<void> add_terms(const Snapshot& before, Batch& batch) const;

private:
    SystemTables* source_;
    std::vector<SystemTables::Key> keys_;
    std::map<std::string, std::size_t> places_;
    std::vector<SystemRow> rows_;
};

// Whether what a batch rests on is so at that moment and time. Errors: those of Snapshot
Result<bool> is_so(const Batch& terms, const Snapshot& moment, BootTime now);

// An item of a table, whosoever it is.
//
// Errors: those of Snapshot; corrupt
Result<std::optional<StoredItem>> read_item(const Snapshot& moment, const SystemRows& system,
                                            const Schema& schema, const std::string& row);

// What one page of a system's table is read from. Lifetime: borrows source and plan.
std::shared_ptr<const Snapshot> system_moment(SystemTables& source, const PagePlan& plan);

}  // namespace rocklock::table
