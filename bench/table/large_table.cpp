#include "table/large_table.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "child.hpp"
#include "measure.hpp"
#include "support.hpp"

namespace rocklock::bench {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t small_item_bytes = 200;
const std::string table_name = "orders";

std::string numbered(const char* format, std::size_t number) {
    char text[40];
    std::snprintf(text, sizeof text, format, number);
    return text;
}

std::string customer_of(std::size_t item) {
    return numbered("customer#%06zu", item / orders_per_customer);
}

std::string order_name(std::size_t item) { return numbered("order#%08zu", item); }

CreateTable definition(const std::string& table) {
    CreateTable request;
    request.table = table;
    request.attributes = {{"customer", AttributeType::string}, {"order", AttributeType::string}};
    request.key = {{"customer", KeyType::hash}, {"order", KeyType::range}};
    request.billing = BillingMode::pay_per_request;
    return request;
}

Item item_of(std::size_t number, std::size_t bytes) {
    Item item = large_table_key(number);
    item.set("total", *Number::parse(numbered("%zu.95", number % 1000)));
    item.set("paid", number % 2 == 0);
    item.set("version", *Number::parse("17"));
    item.set("text", "");
    item.set("text", std::string(bytes - size_bytes(item), 'x'));
    return item;
}

double bytes_under(const std::string& folder) {
    double sum = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file()) sum += static_cast<double>(entry.file_size());
    }
    return sum;
}

void read_all(TableService& tables, const std::string& table) {
    Scan request;
    request.table = table;
    do {
        auto page = must(tables.scan(request), "scan");
        request.options.start_key = std::move(page.last_key);
    } while (request.options.start_key);
}

int child_fill_table(const std::string& folder, std::size_t items, TableEnd end) {
    Database database = open_store(folder);
    TableService& tables = *must(database.tables(), "open the tables");
    const auto start = Steady::now();
    fill(tables, table_name, items, small_item_bytes);
    const double rate = static_cast<double>(items) / seconds_since(start);
    const auto filled = static_cast<double>(resident_bytes());
    if (end == TableEnd::killed) {
        send_to_parent({rate, filled, filled});
        ::kill(::getpid(), SIGKILL);
    }
    read_all(tables, table_name);
    send_to_parent({rate, filled, static_cast<double>(resident_bytes())});
    must(database.close(), "close");
    return 0;
}

int child_table_memory(std::size_t items) {
    Database database = must(Database::in_memory(), "open in memory");
    TableService& tables = *must(database.tables(), "open the tables");
    fill(tables, "first", 1000, small_item_bytes);
    const auto before = static_cast<double>(resident_bytes());
    fill(tables, table_name, items, small_item_bytes);
    send_to_parent({(static_cast<double>(resident_bytes()) - before) / static_cast<double>(items)});
    // Skips destructors: the end of the process frees the memory faster.
    std::_Exit(0);
}

int child_open_table(const std::string& folder) {
    const auto start = Steady::now();
    Database database = open_store(folder);
    TableService& tables = *must(database.tables(), "open the tables");
    GetItem request;
    request.table = table_name;
    request.key = large_table_key(0);
    if (!must(tables.get_item(request), "get").item) give_up("get", "there is no item");
    send_to_parent({seconds_since(start)});
    std::_Exit(0);
}

}  // namespace

Database open_store(const std::string& folder) {
    DatabaseOptions options;
    options.durability = Durability::written;
    return must(Database::open(folder, options), "open");
}

void fill(TableService& tables, const std::string& table, std::size_t items,
          std::size_t item_bytes) {
    constexpr std::size_t batch_size = 25;
    must(tables.create_table(definition(table)), "create a table");
    for (std::size_t first = 0; first < items; first += batch_size) {
        BatchWrite batch;
        for (std::size_t i = first; i < std::min(first + batch_size, items); ++i) {
            WriteItem write;
            write.table = table;
            write.item = item_of(i, item_bytes);
            batch.writes.push_back(std::move(write));
        }
        must(tables.batch_write(batch), "write a batch");
    }
}

AttributeMap large_table_key(std::size_t item) {
    return {{"customer", customer_of(item)}, {"order", order_name(item)}};
}

Page page_from(TableService& tables, const std::string& table, std::size_t item,
               std::optional<std::size_t> limit) {
    Query request;
    request.table = table;
    request.expressions.key_condition = "customer = :customer AND #order >= :order";
    auto& placeholders = request.expressions.placeholders;
    placeholders.names.emplace({NamePlaceholder{"#order", "order"}});
    placeholders.values.emplace({ValuePlaceholder{":customer", customer_of(item)},
                                 ValuePlaceholder{":order", order_name(item)}});
    if (limit) request.options.limit = static_cast<std::int64_t>(*limit);
    return must(tables.query(request), "query");
}

Filled fill_table_store(const std::string& folder, std::size_t items, TableEnd end) {
    const bool killed = end == TableEnd::killed;
    const auto numbers = run_child_process(
        {"fill", folder, std::to_string(items), killed ? "killed" : "closed"}, killed);
    return {numbers[0], numbers[1], numbers[2], bytes_under(folder)};
}

double measure_memory_item(std::size_t items) {
    return run_child_process({"memory", std::to_string(items)}).front();
}

double measure_open(const std::string& folder) {
    return run_child_process({"open", folder}).front();
}

int run_table_child(int argc, char** argv) {
    const std::string_view what = argv[2];
    if (what == "open") return child_open_table(argv[3]);
    if (what == "memory") return child_table_memory(std::strtoull(argv[3], nullptr, 10));
    if (argc < 6) return 2;
    const bool killed = std::string_view(argv[5]) == "killed";
    return child_fill_table(argv[3], std::strtoull(argv[4], nullptr, 10),
                            killed ? TableEnd::killed : TableEnd::closed);
}

}  // namespace rocklock::bench
