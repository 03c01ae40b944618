// Short functions that make tables, items and requests for tests.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocklock/items/table.hpp>
#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "support/stores/test_store.hpp"

namespace rocklock::proof {

// A table service on an empty store.
struct Tables {
    testing::SimulatedClock clock;
    std::unique_ptr<Storage> storage = testing::make_test_store(clock);
    std::unique_ptr<TableService> service = open_tables(*storage, clock).value();

    TableService* operator->() const { return service.get(); }
    // Restarts the table service on the same storage.
    void reopen() {
        service.reset();
        service = open_tables(*storage, clock).value();
    }
    // Returns the number of rows in a family.
    std::size_t rows(Family family) const;
};

// Returns a table with on-demand billing. `hash` and `range` define the keys, as in "pk S" and "sk
// N". If `range` is empty, the table has no range key.
CreateTable table_of(std::string name, std::string_view hash, std::string_view range = "");
// Adds an index. Also adds the definitions of its key attributes.
void add_index(CreateTable& table, std::string name, std::string_view hash,
               std::string_view range = "");

AttributeValue number(std::int64_t value);

WriteItem put(std::string table, Item item);
WriteItem remove(std::string table, Item key);
WriteItem update(std::string table, Item key, std::string expression,
                 std::vector<ValuePlaceholder> values = {});
// Adds a condition to `write`. The values are added to the existing ones.
WriteItem provided(WriteItem write, std::string condition,
                   std::vector<ValuePlaceholder> values = {});
GetItem get(std::string table, Item key);

// Calls `work` in `count` threads, each time with the number of the thread.
void in_threads(int count, const std::function<void(int)>& work);

// Returns the code and the message of an error, for example "condition_failed: The conditional
// request failed".
std::string error_text(const Error& error);
template <typename T>
std::string error_of(const Result<T>& result) {
    return result ? "" : error_text(Error(result.error()));
}

}  // namespace rocklock::proof
