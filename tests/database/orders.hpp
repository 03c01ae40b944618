// The table that the tests of locks together with data use.
#pragma once

#include <boost/test/unit_test.hpp>

#include <rocklock/items/table.hpp>

namespace rocklock::testing {

// Returns the table `orders` with the key `id`.
inline CreateTable orders_table() {
    CreateTable orders;
    orders.table = "orders";
    orders.attributes = {{"id", AttributeType::string}};
    orders.key = {{"id", KeyType::hash}};
    orders.billing = BillingMode::pay_per_request;
    return orders;
}

inline void create_orders(TableService& tables) {
    BOOST_TEST_REQUIRE(tables.create_table(orders_table()).has_value());
}

// Binds the table to the resources orders/<id>.
inline void bind_orders(TableService& tables, bool strict = false) {
    BOOST_TEST_REQUIRE(tables.bind_table({"orders", "orders/{id}", strict}).has_value());
}

}  // namespace rocklock::testing
