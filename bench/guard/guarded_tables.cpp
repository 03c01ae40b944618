#include "guard/guarded_tables.hpp"

#include <thread>
#include <utility>

#include "support.hpp"

namespace rocklock::bench {
namespace {

constexpr std::size_t items_of_a_thread = 64;
constexpr std::size_t items_of_a_set = 16;

std::string name_of(Table table) { return table == Table::bound ? "orders" : "notes"; }

AttributeMap key_of(std::size_t thread, std::size_t item) {
    AttributeMap key;
    key.set("customer", "customer#" + std::to_string(thread));
    key.set("order", "order#" + std::to_string(item));
    return key;
}

std::string resource_of(std::size_t thread, std::size_t item) {
    return "orders/customer#" + std::to_string(thread) + "/order#" + std::to_string(item);
}

Database open(const std::string& folder, Durability durability) {
    DatabaseOptions options;
    options.durability = durability;
    return must(folder.empty() ? Database::in_memory(options) : Database::open(folder, options),
                "open the store");
}

void create(TableService& tables, Table table) {
    CreateTable request;
    request.table = name_of(table);
    request.attributes = {{"customer", AttributeType::string}, {"order", AttributeType::string}};
    request.key = {{"customer", KeyType::hash}, {"order", KeyType::range}};
    request.billing = BillingMode::pay_per_request;
    must(tables.create_table(request), "create the table");
}

WriteItem put_of(Table table, std::size_t thread, std::size_t item) {
    constexpr std::size_t text_bytes = 130;
    WriteItem put;
    put.table = name_of(table);
    put.item = key_of(thread, item);
    put.item.set("total", *Number::parse("4711.95"));
    put.item.set("text", std::string(text_bytes, 'x'));
    return put;
}

}  // namespace

std::size_t GuardedTables::ThreadState::next() { return count++ % items_of_a_thread; }

GuardedTables::GuardedTables(const std::string& folder, Durability durability, std::size_t threads)
    : database_(open(folder, durability)), tables_(*must(database_.tables(), "open the tables")) {
    create(tables_, Table::bound);
    create(tables_, Table::unbound);
    must(database_.bind_table({name_of(Table::bound), "orders/{customer}/{order}"}),
         "bind the table");
    for (std::size_t thread = 0; thread < threads; ++thread) {
        thread_states_.push_back(
            {must(database_.open_session("clerk-" + std::to_string(thread)), "open a session"),
             {},
             std::vector<std::uint64_t>(items_of_a_thread)});
    }
    // The threads fill their items in parallel, so that commits share their syncs.
    std::vector<std::jthread> fill;
    for (std::size_t thread = 0; thread < threads; ++thread) {
        fill.emplace_back([this, thread] { fill_items(thread); });
    }
}

void GuardedTables::fill_items(std::size_t thread) {
    ThreadState& state = thread_states_[thread];
    for (std::size_t item = 0; item < items_of_a_thread; ++item) {
        state.guards.push_back(must(state.session.acquire(resource_of(thread, item)), "acquire"));
    }
    for (std::size_t item = 0; item < items_of_a_thread; ++item) {
        put_guarded(thread, item);
        put(thread, item);
    }
}

void GuardedTables::put(std::size_t thread, std::size_t item) {
    const auto written = must(tables_.write_item(put_of(Table::unbound, thread, item)), "put");
    thread_states_[thread].versions[item] = written.version;
}

void GuardedTables::put_guarded(std::size_t thread, std::size_t item) {
    auto request = put_of(Table::bound, thread, item);
    request.proof = thread_states_[thread].guards[item].proof();
    must(tables_.write_item(request), "put with a guard");
}

void GuardedTables::put_on_version(std::size_t thread) {
    auto& state = thread_states_[thread];
    const std::size_t item = state.next();
    auto& version = state.versions[item];
    auto request = put_of(Table::unbound, thread, item);
    request.expected_version = version;
    version = must(tables_.write_item(request), "put on a version").version;
}

void GuardedTables::transact(Table table, std::size_t thread) {
    TransactWrite request;
    for (std::size_t i = 0; i < items_of_a_set; ++i) {
        const std::size_t item = thread_states_[thread].next();
        request.actions.push_back(put_of(table, thread, item));
        if (table == Table::bound) {
            request.actions.back().proof = thread_states_[thread].guards[item].proof();
        }
    }
    must(tables_.transact_write(request), "write together");
}

void GuardedTables::get(Table table, std::size_t thread) {
    GetItem request;
    request.table = name_of(table);
    request.key = key_of(thread, thread_states_[thread].next());
    if (!must(tables_.get_item(request), "get").item) give_up("get", "there is no item");
}

void GuardedTables::query(Table table, std::size_t thread) {
    Query request;
    request.table = name_of(table);
    request.expressions.key_condition = "customer = :customer";
    request.expressions.placeholders.values = {
        {{":customer", "customer#" + std::to_string(thread)}}};
    const auto page = must(tables_.query(request), "query");
    if (page.count < items_of_a_thread) give_up("query", "items are missing");
}

}  // namespace rocklock::bench
