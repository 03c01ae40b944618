// Tables, items and requests in few words, for tests.
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

namespace rocklock::proof {

// A store in memory with tables on it.
struct Tables {
    testing::SimulatedClock clock;
    std::unique_ptr<Storage> storage = make_memory_storage(clock);
    std::unique_ptr<TableService> service = open_tables(*storage, clock).value();

    TableService* operator->() const { return service.get(); }
    // As a restart does, but for the storage.
    void reopen() {
        service.reset();
        service = open_tables(*storage, clock).value();
    }
    // How many rows are stored in a family.
    std::size_t rows(Family family) const;
};

// On demand. "pk S", "sk N": the hash key, and the range key if there is one.
CreateTable table_of(std::string name, std::string_view hash, std::string_view range = "");
// Adds the attribute's definition too.
void add_index(CreateTable& table, std::string name, std::string_view hash,
               std::string_view range = "");

AttributeValue number(std::int64_t value);

WriteItem put(std::string table, Item item);
WriteItem remove(std::string table, Item key);
WriteItem update(std::string table, Item key, std::string expression,
                 std::vector<ValuePlaceholder> values = {});
// With a condition; its values go with those that are there.
WriteItem provided(WriteItem write, std::string condition,
                   std::vector<ValuePlaceholder> values = {});
GetItem get(std::string table, Item key);

// Runs the work so often at a time, each with its number.
void in_threads(int count, const std::function<void(int)>& work);

// The code and the text of an error, as "condition_failed: The conditional request failed"; empty
// where there is none.
std::string error_text(const Error& error);
template <typename T>
std::string error_of(const Result<T>& result) {
    return result ? "" : error_text(Error(result.error()));
}

}  // namespace rocklock::proof
