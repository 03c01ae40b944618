// The recorded requests (tests/golden) as typed ones, and what came of them as the recorded answers
// have it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include <rocklock/table.hpp>

namespace rocklock::proof {

// What of an answer is compared.
struct Played {
    std::optional<Error> error;
    // Attributes or Item.
    std::optional<Item> item;
    std::optional<Page> page;
    std::optional<double> units;
};

// Nothing where the request cannot be said in typed requests (a member of a wrong type), or where
// its operation is not offered.
std::optional<Played> play(TableService& service, const std::string& operation,
                           const boost::json::object& request);

}  // namespace rocklock::proof
