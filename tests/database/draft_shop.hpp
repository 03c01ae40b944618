// A shop with tables that keep drafts of refused writes.
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

// `orders` is bound, its class keeps drafts, and any session may steal its locks.
struct DraftShop : Shop {
    DraftShop() {
        bind("orders", "orders/{id}");
        LockClass kept;
        kept.pattern = "orders/*";
        kept.steal = StealPolicy::anyone;
        kept.drafts = true;
        BOOST_TEST_REQUIRE(database->put_class(kept).has_value());
    }

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
