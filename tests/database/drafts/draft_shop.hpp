// A Shop (tests/database/shop.hpp) whose tables keep drafts of refused writes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/testing/faulty_storage.hpp>

#include "database/orders.hpp"
#include "database/shop.hpp"

namespace rocklock::testing::drafts {

// Binds the table `orders`, and lets the class of its resources keep drafts. Any session may steal
// the locks of this class.
inline void keep_drafts_of_orders(Shop& shop) {
    shop.bind("orders", "orders/{id}");
    LockClass kept;
    kept.pattern = "orders/*";
    kept.steal = StealPolicy::anyone;
    kept.drafts = true;
    BOOST_TEST_REQUIRE(shop.database->put_class(kept).has_value());
}

struct DraftShop : Shop {
    DraftShop() { keep_drafts_of_orders(*this); }

    std::vector<Draft> drafts_of(const std::string& principal) const {
        return tables->list_drafts({principal}).value().drafts;
    }
};

inline std::string draft_text(const Draft& draft) {
    return *draft.write.item.find("text")->get_if<std::string>();
}

inline TransactWrite all_of(std::vector<WriteItem> actions) {
    TransactWrite request;
    request.actions = std::move(actions);
    return request;
}

}  // namespace rocklock::testing::drafts
