// Tables of the system's own: their rows lie nowhere, and are made as they are asked for. The
// tables know how to ask; `database` answers from the lock manager.
//
// They are read as any table is, with the same expressions, pages and limits, and written by
// nobody. Hash keys are strings, range keys whole numbers.
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
    // Whether SystemRow::rests_on says all that a row rests on, so that a transaction can be
    // committed on condition of it.
    bool can_be_checked = false;
};

// The places of rows in the order in which they are read.
class RowOrder {
public:
    // What all rows of the table begin with.
    explicit RowOrder(std::string prefix) : prefix_(std::move(prefix)) {}

    std::string place(std::string_view hash) const;
    std::string place(std::string_view hash, std::uint64_t range) const;

private:
    std::string prefix_;
};

// A row as it was at the moment of a look; or that there was none.
struct SystemRow {
    struct Record {
        Family family{};
        std::string key;
    };
    std::optional<Item> item;
    // As long as none of these is written, and until the moment, there is such a row, or none.
    std::vector<Record> rests_on;
    BootTime until = BootTime::max();
};

// Threads: thread-safe.
class SystemTables {
public:
    // The key of one row. Lifetime: borrows it.
    struct Key {
        // Its place among tables().
        std::size_t table = 0;
        const AttributeMap* key = nullptr;
    };
    // Rows of one table: first <= place < last; an empty `last` is no limit. Lifetime: borrows the
    // order.
    struct Range {
        std::size_t table = 0;
        const RowOrder* order = nullptr;
        // All of them have this hash key.
        std::optional<std::string> hash;
        std::string first;
        std::string last;
        bool forward = true;
        std::size_t most = 0;
    };

    SystemTables() = default;
    SystemTables(const SystemTables&) = delete;
    SystemTables& operator=(const SystemTables&) = delete;
    virtual ~SystemTables() = default;

    // Always the same.
    virtual const std::vector<SystemTable>& tables() const = 0;
    // All of them as of one instant, in the order of the keys.
    //
    // Errors: invalid_argument  one of the tables is not kept here
    //         those of the lock manager and of the storage
    virtual Result<std::vector<SystemRow>> get(const std::vector<Key>& keys) = 0;
    // The first `most` of the range, in its direction. Errors: as get().
    virtual Result<std::vector<Item>> scan(const Range& range) = 0;
};

}  // namespace rocklock
