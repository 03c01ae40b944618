// bench_table: the speed of tables in an embedded store. Measures pages of a table with a large
// number of items, the memory and the opening time of such a table, and items of the maximum size.
//
//     bench_table [--quick] [--json] [--rounds N] [--items N] [--directory DIR] [--only WORD]
//
// docs/performance.md explains the rows and has the latest results.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "child.hpp"
#include "measure.hpp"
#include "report.hpp"
#include "support.hpp"
#include "table/large_table.hpp"

namespace rocklock::bench {
namespace {

using Steady = std::chrono::steady_clock;

class Bench {
public:
    Bench(const CommonOptions& options, std::size_t items)
        : options_(options), items_(items), report_(options_) {}

    void run();

private:
    void add(const std::string& name, const std::string& unit, const Spread& value,
             std::optional<double> at_most = std::nullopt);
    // Adds two rows: the median time of an operation in milliseconds, and the 99th percentile.
    void time_row(const std::string& name, std::optional<double> at_most,
                  const std::function<void(std::size_t count)>& once);
    void size_rows();
    void page_rows(std::size_t items, std::size_t item_bytes);
    void large_item_rows(const std::string& how, Durability durability);
    void open_rows(TableEnd end, const std::string& how);

    const CommonOptions options_;
    const std::size_t items_;
    // The number of operations in a round.
    const std::size_t times_ = options_.quick ? 5 : 200;
    Report report_;
};

void Bench::add(const std::string& name, const std::string& unit, const Spread& value,
                std::optional<double> at_most) {
    Row row;
    row.name = name;
    row.unit = unit;
    row.ours = value;
    row.target = at_most;
    row.less_is_better = true;
    report_.add(std::move(row));
}

void Bench::time_row(const std::string& name, std::optional<double> at_most,
                     const std::function<void(std::size_t count)>& once) {
    if (!report_.wanted(name)) return;
    std::vector<double> medians;
    std::vector<double> slow;
    std::size_t count = 0;
    for (std::size_t round = 0; round <= options_.rounds; ++round) {
        std::vector<double> times;
        for (std::size_t i = 0; i < times_; ++i) {
            const auto start = Steady::now();
            once(count++);
            times.push_back(
                std::chrono::duration<double, std::milli>(Steady::now() - start).count());
        }
        if (round == 0) continue;
        std::sort(times.begin(), times.end());
        medians.push_back(times[times.size() / 2]);
        slow.push_back(times[times.size() * 99 / 100]);
    }
    add(name, "ms", spread_of(std::move(medians)), at_most);
    add(name + ", one of a hundred", "ms", spread_of(std::move(slow)));
}

void Bench::size_rows() {
    const std::string items = std::to_string(items_) + " items";
    if (report_.wanted("resident memory, " + items)) {
        const Folder few_folder(options_.directory);
        const auto few = fill_table_store(few_folder.path(), items_ / 10, TableEnd::closed);
        const Folder folder(options_.directory);
        const auto all = fill_table_store(folder.path(), items_, TableEnd::closed);
        const auto megabytes = [](double bytes) { return spread_of({bytes / 1e6}); };
        add("filling in batches of 25, written, " + items, "items/s",
            spread_of({all.items_a_second}));
        add("on disk, " + items, "MB", megabytes(all.bytes_on_disk));
        add("resident memory, " + std::to_string(items_ / 10) + " items written", "MB",
            megabytes(few.resident_bytes));
        add("resident memory, " + items + " written", "MB", megabytes(all.resident_bytes));
        add("resident memory, all of them read too", "MB", megabytes(all.resident_bytes_read));
    }
    if (report_.wanted("memory of an item in memory")) {
        add("memory of an item in memory, 200 bytes", "bytes",
            spread_of({measure_memory_item(items_ / 10)}));
    }
}

void Bench::page_rows(std::size_t items, std::size_t item_bytes) {
    constexpr std::size_t prime = 7919;
    const std::string of = " items of " + std::to_string(item_bytes) + " bytes";
    const std::string short_name = "page of 100" + of;
    const std::string long_name = "page of 1 MB," + of;
    if (!report_.wanted(short_name) && !report_.wanted(long_name)) return;
    const Folder folder(options_.directory);
    Database database = open_store(folder.path());
    TableService& tables = *must(database.tables(), "open the tables");
    fill(tables, "orders", items, item_bytes);
    // Chooses positions throughout the table that are followed by at least a megabyte of the same
    // customer's orders.
    const std::size_t positions = orders_per_customer - 1'000'000 / item_bytes - 100;
    const auto read = [&](std::size_t count, std::optional<std::size_t> limit) {
        const std::size_t customer = count * prime % (items / orders_per_customer);
        const std::size_t item = customer * orders_per_customer + count * prime % positions;
        const auto page = page_from(tables, "orders", item, limit);
        if (page.count < limit.value_or(1'000'000 / item_bytes)) give_up("query", "a short page");
    };
    time_row(short_name, 2, [&](std::size_t count) { read(count, 100); });
    time_row(long_name, 2, [&](std::size_t count) { read(count, std::nullopt); });
    must(database.close(), "close");
}

void Bench::large_item_rows(const std::string& how, Durability durability) {
    if (!report_.wanted("item of 400 KB, " + how)) return;
    const Folder folder(options_.directory);
    DatabaseOptions options;
    options.durability = durability;
    Database database = must(Database::open(folder.path(), options), "open");
    TableService& tables = *must(database.tables(), "open the tables");
    const std::string table = "large";
    fill(tables, table, 0, 0);
    WriteItem put;
    put.table = table;
    const auto item = [](std::size_t count) {
        Item made = large_table_key(count % 16);
        made.set("text", std::string(400 * 1024 - 100, 'x'));
        return made;
    };
    time_row("item of 400 KB, " + how + ", put", std::nullopt, [&](std::size_t count) {
        put.item = item(count);
        must(tables.write_item(put), "put");
    });
    GetItem get;
    get.table = table;
    time_row("item of 400 KB, " + how + ", get", std::nullopt, [&](std::size_t count) {
        get.key = large_table_key(count % 16);
        if (!must(tables.get_item(get), "get").item) give_up("get", "there is no item");
    });
    must(database.close(), "close");
}

void Bench::open_rows(TableEnd end, const std::string& how) {
    const std::string name =
        "open, to the first item, " + std::to_string(items_) + " items, " + how;
    if (!report_.wanted(name)) return;
    const Folder folder(options_.directory);
    fill_table_store(folder.path(), items_, end);
    std::vector<double> times;
    for (std::size_t round = 0; round < options_.rounds; ++round) {
        // Opens a copy, so that each round finds the store as it was left.
        const Folder copy(options_.directory);
        std::filesystem::copy(folder.path(), copy.path(),
                              std::filesystem::copy_options::recursive |
                                  std::filesystem::copy_options::overwrite_existing);
        times.push_back(measure_open(copy.path()));
    }
    add(name, "s", spread_of(std::move(times)), 1);
}

void Bench::run() {
    size_rows();
    page_rows(items_, 200);
    page_rows(std::max(items_ / 10, orders_per_customer), 1000);
    large_item_rows("written", Durability::written);
    large_item_rows("durable", Durability::durable);
    open_rows(TableEnd::closed, "after a close");
    open_rows(TableEnd::killed, "after a kill -9");
    report_.finish();
}

}  // namespace
}  // namespace rocklock::bench

int main(int argc, char** argv) {
    using namespace rocklock::bench;
    if (is_child(argc, argv)) return run_table_child(argc, argv);
    std::optional<std::size_t> items;
    const auto options = read_arguments(
        argc, argv, "[--items N]", [&](std::string_view word, const NextValue& value) {
            if (word != "--items") return false;
            items = std::max<std::size_t>(std::strtoull(value(), nullptr, 10), orders_per_customer);
            return true;
        });
    Bench(options, items.value_or(options.quick ? orders_per_customer : 1'000'000)).run();
    return 0;
}
