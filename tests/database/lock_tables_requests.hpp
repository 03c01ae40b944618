// Short functions for requests to the system tables, which show the state of the lock table.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>
#include <rocklock/items/change_set.hpp>
#include <rocklock/items/table.hpp>

#include "database/shop.hpp"

namespace rocklock::testing::lock_tables {

using Kind = WriteItem::Kind;

inline constexpr std::size_t some_events = 10'000;

inline std::string text_at(const Item& item, std::string_view name) {
    const auto* value = item.find(name);
    if (value == nullptr) return "none";
    if (const auto* text = value->get_if<std::string>()) return *text;
    if (const auto* number = value->get_if<Number>()) return number->to_string();
    return "other";
}

inline std::vector<std::string> all_at(const std::vector<Item>& items, std::string_view name) {
    std::vector<std::string> texts;
    for (const Item& item : items) texts.push_back(text_at(item, name));
    return texts;
}

inline std::vector<std::string> names_of(const Item& item) {
    std::vector<std::string> names;
    for (const Attribute& attribute : item) names.push_back(attribute.name);
    return names;
}

inline AttributeMap lock_key(std::string resource, GrantId grant) {
    return {{"Resource", std::move(resource)}, {"Grant", AttributeValue(Number(number(grant)))}};
}

inline GetItem get_of(std::string table, AttributeMap key) {
    GetItem get;
    get.table = std::move(table);
    get.key = std::move(key);
    return get;
}

inline std::optional<Item> item_at(const Shop& shop, std::string table, AttributeMap key) {
    return shop.tables->get_item(get_of(std::move(table), std::move(key))).value().item;
}

inline Query query_of(std::string table, std::string resource) {
    Query query;
    query.table = std::move(table);
    query.expressions.key_condition = "#r = :r";
    query.expressions.placeholders.names = std::vector{NamePlaceholder{"#r", "Resource"}};
    query.expressions.placeholders.values = {{":r", AttributeValue(std::move(resource))}};
    return query;
}

inline Scan scan_of(std::string table) {
    Scan scan;
    scan.table = std::move(table);
    return scan;
}

// Returns the items of all pages, with at most `limit` items per page.
template <typename Request, typename Ask>
std::vector<Item> all_pages(Request request, std::int64_t limit, const Ask& ask) {
    std::vector<Item> items;
    request.options.limit = limit;
    for (int pages = 0; pages < 10'000; ++pages) {
        Page page = ask(request).value();
        BOOST_TEST(page.scanned <= static_cast<std::size_t>(limit));
        std::move(page.items.begin(), page.items.end(), std::back_inserter(items));
        if (!page.last_key) return items;
        request.options.start_key = page.last_key;
    }
    BOOST_FAIL("the pages do not end");
    return items;
}

inline std::vector<Item> scanned(const Shop& shop, const std::string& table) {
    return shop.tables->scan(scan_of(table)).value().items;
}

// Returns a condition check that the grant holds the resource in `mode`.
inline WriteItem check_of(std::string resource, GrantId grant, std::string mode) {
    WriteItem check;
    check.kind = Kind::check;
    check.table = "rocklock.locks";
    check.item = lock_key(std::move(resource), grant);
    check.expressions.condition = "#m = :m";
    check.expressions.placeholders.names = std::vector{NamePlaceholder{"#m", "Mode"}};
    check.expressions.placeholders.values = {{":m", AttributeValue(std::move(mode))}};
    return check;
}

inline WriteItem check_absent(std::string table, AttributeMap key) {
    WriteItem check;
    check.kind = Kind::check;
    check.table = std::move(table);
    check.expressions.condition = "attribute_not_exists(#k)";
    check.expressions.placeholders.names = std::vector{NamePlaceholder{"#k", key.begin()->name}};
    check.item = std::move(key);
    return check;
}

// Returns the codes of the cancellation reasons, or "done".
inline std::string reasons_of(const Result<TransactWriteAnswer>& result) {
    if (result) return "done";
    if (result.error().reasons.empty()) return std::string(to_string(result.error().code));
    std::string text;
    for (const auto& reason : result.error().reasons) {
        text += text.empty() ? "" : " ";
        text += reason.code ? to_string(*reason.code) : "-";
    }
    return text;
}

}  // namespace rocklock::testing::lock_tables
