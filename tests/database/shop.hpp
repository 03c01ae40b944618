// A database with two tables and two sessions. A test can stop its writes of items.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>
#include <rocklock/items/table.hpp>

#include "database/orders.hpp"
#include "database/pausing_storage.hpp"
#include "database/simulated_database.hpp"

namespace rocklock::testing {

// The tables are `orders` and `lines`. `lines` has an index on the attribute `article`.
struct Shop {
    explicit Shop(std::size_t events_kept = 0, const UserLimits& user_limits = {}) {
        auto memory = std::make_unique<PausingStorage>(make_test_store(clock));
        storage = memory.get();
        DatabaseOptions options = simulated(clock);
        options.events_kept = events_kept;
        options.user_limits = user_limits;
        auto opened = Database::open_on(std::move(memory), std::move(options)).value();
        database.emplace(host.connect_to(std::move(opened), clock, false));
        tables = database->tables().value();
        create_orders(*tables);
        CreateTable lines = orders_table();
        lines.table = "lines";
        lines.attributes = {{"order", AttributeType::string},
                            {"line", AttributeType::number},
                            {"article", AttributeType::string}};
        lines.key = {{"order", KeyType::hash}, {"line", KeyType::range}};
        lines.global_indexes = {{{"by-article",
                                  {{"article", KeyType::hash}},
                                  IndexProjection{ProjectionType::all, {}},
                                  {}}}};
        BOOST_TEST_REQUIRE(tables->create_table(lines).has_value());
        ann = database->open_session("ann", with_lease(10s)).value();
        bob = database->open_session("bob", with_lease(10s)).value();
    }

    static SessionOptions with_lease(milliseconds lease) {
        SessionOptions options;
        options.lease = lease;
        return options;
    }
    void bind(std::string table, std::string resource, bool strict = false) const {
        const TableBinding binding{std::move(table), std::move(resource), strict};
        BOOST_TEST_REQUIRE(tables->bind_table(binding).has_value());
    }
    static Guard lock(Session& session, std::string resource, Mode mode = Mode::write) {
        return session.acquire({lock_of(std::move(resource), mode)}).value();
    }
    // Advances the clock without renewing any session.
    void sleep(milliseconds time) { clock.advance(time); }

    SimulatedClock clock;
    PausingStorage* storage = nullptr;
    Hosted host;
    std::optional<Database> database;
    TableService* tables = nullptr;
    Session ann;
    Session bob;
};

inline ItemToLock order_to_lock(std::string id) {
    ItemToLock item;
    item.table = "orders";
    item.key = AttributeMap{{"id", std::move(id)}};
    return item;
}

inline WriteItem order(std::string id, std::string text, std::optional<LockProof> proof = {}) {
    WriteItem write;
    write.table = "orders";
    write.item = Item{{"id", std::move(id)}, {"text", std::move(text)}};
    write.proof = proof;
    return write;
}

inline WriteItem line(std::string id, std::int64_t number, std::optional<LockProof> proof = {}) {
    WriteItem write;
    write.table = "lines";
    write.item = Item{
        {"order", std::move(id)}, {"line", AttributeValue(Number(number))}, {"article", "nails"}};
    write.proof = proof;
    return write;
}

inline std::string text_of(const Shop& shop, std::string id, std::optional<LockProof> proof = {}) {
    GetItem get;
    get.table = "orders";
    get.key = AttributeMap{{"id", std::move(id)}};
    get.proof = proof;
    const auto answer = shop.tables->get_item(get);
    if (!answer) return std::string(to_string(answer.error().code));
    if (!answer->item) return "none";
    return *answer->item->find("text")->get_if<std::string>();
}

inline LockProof session_of(const Session& session) { return {session.id(), {}}; }

// Returns the error code, or "done".
template <typename T>
std::string outcome(const Result<T>& result) {
    return result ? "done" : std::string(to_string(result.error().code));
}

}  // namespace rocklock::testing
