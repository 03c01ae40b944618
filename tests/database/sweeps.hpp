// Expired items, and sweeps that remove them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>
#include <rocklock/items/table.hpp>

#include "base/time_format.hpp"
#include "database/orders.hpp"
#include "database/shop.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing::fences {

using Kind = WriteItem::Kind;

// Runs one complete sweep. Returns the number of removed items.
inline std::size_t sweep(Shop& shop) {
    shop.sleep(60s);
    return shop.tables->sweep_expired({}).value().removed;
}

inline void write_expired(Shop& shop, std::string id) {
    const auto now = shop.clock.now().wall.time_since_epoch();
    WriteItem write = order(std::move(id), "old");
    write.item.set(
        "until", AttributeValue(Number(std::chrono::floor<std::chrono::seconds>(now).count() - 1)));
    BOOST_TEST_REQUIRE(shop.tables->write_item(write).has_value());
}

// Writes `count` expired orders, named from 1 on.
inline void write_expired(Shop& shop, int count) {
    BOOST_TEST_REQUIRE(shop.tables->update_time_to_live({"orders", "until", true}).has_value());
    for (int i = 1; i <= count; ++i) write_expired(shop, std::to_string(i));
}

}  // namespace rocklock::testing::fences
