// System tables. Their rows are not stored, but computed when they are read. This interface defines
// how to query system tables. `lib/database` implements it with data from the lock manager.
//
// System tables are read like any other table, with the same expressions, pages and limits, and
// cannot be written. Their hash keys are strings, and their range keys are integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/items/attribute_value.hpp>
#include <rocklock/items/table_schema.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

namespace rocklock {

struct SystemTable {
    // Begins with "rocklock.".
    std::string name;
    AttributeDefinition hash;
    std::optional<AttributeDefinition> range;
    // If true, SystemRow::depends_on contains all records that a row depends on. A transaction can
    // then have a condition on the row.
    bool can_be_checked = false;
};

// Computes the positions of rows. Rows are read in the order of their positions.
class RowOrder {
public:
    // `prefix` is the common prefix of all rows of the table.
    explicit RowOrder(std::string prefix) : prefix_(std::move(prefix)) {}

    std::string position(std::string_view hash) const;
    std::string position(std::string_view hash, std::uint64_t range) const;

private:
    std::string prefix_;
};

// A row at the time of the query, or the information that the row did not exist.
struct SystemRow {
    struct Record {
        Family family{};
        std::string key;
    };
    std::optional<Item> item;
    // The row does not change before `until` unless one of these records is written.
    std::vector<Record> depends_on;
    BootTime until = BootTime::max();
};

// Threads: thread-safe.
class SystemTables {
public:
    // The key of one row. Lifetime: borrows it.
    struct Key {
        // The index of the table in tables().
        std::size_t table = 0;
        const AttributeMap* key = nullptr;
    };
    // The rows of one table with first <= position < last. If `last` is empty, there is no upper
    // limit. Lifetime: borrows the order.
    struct Range {
        std::size_t table = 0;
        const RowOrder* order = nullptr;
        // If set, all rows have this hash key.
        std::optional<std::string> hash;
        std::string first;
        std::string last;
        bool forward = true;
        std::size_t max_rows = 0;
    };

    SystemTables() = default;
    SystemTables(const SystemTables&) = delete;
    SystemTables& operator=(const SystemTables&) = delete;
    virtual ~SystemTables() = default;

    // Always returns the same list.
    virtual const std::vector<SystemTable>& tables() const = 0;
    // Returns the rows at one instant, in the order of the keys.
    //
    // Errors: invalid_argument  one of the tables does not exist here
    //         those of the lock manager and of the storage
    virtual Result<std::vector<SystemRow>> get(const std::vector<Key>& keys) = 0;
    // Returns the first `max_rows` rows of the range, in the direction of the range. Errors: as
    // get().
    virtual Result<std::vector<Item>> scan(const Range& range) = 0;
};

}  // namespace rocklock
