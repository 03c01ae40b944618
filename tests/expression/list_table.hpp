// Executes requests on tables that are lists of items. Supports requests whose results depend only
// on expressions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "expression/request.hpp"

namespace rocklock::proof {

// The outcome of a request: an error, or the relevant parts of the response.
struct Outcome {
    std::optional<std::string> error;
    // The member `Attributes` or `Item` of the response.
    std::optional<Item> item;
    std::optional<std::vector<Item>> items;
    std::size_t count = 0;
};

struct ListTable {
    expression::KeySchema schema;
    std::vector<Item> items;

    std::vector<std::string_view> keys() const;
    // Returns the position of the item with these key attributes.
    std::vector<Item>::iterator find(const Item& key);
};

class ListTables {
public:
    // Returns nullopt if the result of the request does not depend only on expressions.
    std::optional<Outcome> play(const std::string& operation, const boost::json::object& request);

private:
    using Expressions = expression::RequestExpressions;
    using Kind = expression::RequestKind;

    std::optional<Outcome> get(const boost::json::object& request, const Expressions& read);
    std::optional<Outcome> change(Kind kind, const boost::json::object& request,
                                  const Expressions& read);
    Outcome update(const std::string& wanted, const Expressions& read, const Item& old,
                   bool existed);
    std::optional<Outcome> list(Kind kind, const boost::json::object& request,
                                const Expressions& read) const;
    std::optional<std::string> read_range(const boost::json::object& request,
                                          const Expressions& read,
                                          std::optional<expression::KeyRange>& range) const;
    std::vector<Item> in_order(const std::optional<expression::KeyRange>& range) const;

    std::map<std::string, ListTable> tables_;
    ListTable* table_ = nullptr;
};

// Returns the value of a string member, or `otherwise` if there is no such member.
std::string text_member(const boost::json::object& json, std::string_view name,
                        std::string otherwise = "");

}  // namespace rocklock::proof
