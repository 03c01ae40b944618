#include <algorithm>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "table/make.hpp"

namespace rocklock::proof {

namespace {

struct WithItems : Tables {
    // "a" has range keys -2 to 12; "b" and "c" have one item each.
    WithItems() {
        auto wanted = table_of("orders", "pk S", "sk N");
        add_index(wanted, "gidx", "g S", "v N");
        wanted.global_indexes->back().projection = IndexProjection{ProjectionType::keys_only, {}};
        SecondaryIndex local;
        local.name = "lidx";
        local.key = {{"pk", KeyType::hash}, {"v", KeyType::range}};
        local.projection = IndexProjection{ProjectionType::keys_only, {}};
        wanted.local_indexes = {local};
        service->create_table(wanted).value();
        for (int i = -2; i <= 12; ++i) {
            Item item{{"pk", "a"}, {"sk", number(i)}, {"v", number(-i)}, {"s", "x"}};
            if (i % 2 == 0) item.set("g", "even");
            service->write_item(put("orders", item)).value();
        }
        service->write_item(put("orders", {{"pk", "b"}, {"sk", number(1)}})).value();
        service->write_item(put("orders", {{"pk", "c"}, {"sk", number(1)}})).value();
    }

    Query query(std::string condition, std::vector<ValuePlaceholder> values) {
        Query request;
        request.table = "orders";
        request.expressions.key_condition = std::move(condition);
        request.expressions.placeholders.values = std::move(values);
        return request;
    }
};

std::string keys(const Page& page, const char* name = "sk") {
    std::string text;
    for (const Item& item : page.items) {
        text += (text.empty() ? "" : " ") + item.find(name)->get_if<Number>()->to_string();
    }
    return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(table)
BOOST_FIXTURE_TEST_SUITE(a_query, WithItems)

BOOST_AUTO_TEST_CASE(finds_the_items_of_a_hash_key_in_the_order_of_their_range_keys) {
    auto request = query("pk = :p", {{":p", "a"}});
    BOOST_TEST(keys(service->query(request).value()) == "-2 -1 0 1 2 3 4 5 6 7 8 9 10 11 12");
    request.forward = false;
    BOOST_TEST(keys(service->query(request).value()) == "12 11 10 9 8 7 6 5 4 3 2 1 0 -1 -2");
    BOOST_TEST(service->query(query("pk = :p", {{":p", "z"}})).value().count == 0U);
}

BOOST_AUTO_TEST_CASE(returns_only_items_in_the_range) {
    const auto found = [this](const std::string& range, std::vector<ValuePlaceholder> values) {
        values.push_back({":p", "a"});
        return keys(service->query(query("pk = :p AND sk " + range, values)).value());
    };
    BOOST_TEST(found("> :s", {{":s", number(9)}}) == "10 11 12");
    BOOST_TEST(found(">= :s", {{":s", number(10)}}) == "10 11 12");
    BOOST_TEST(found("< :s", {{":s", number(0)}}) == "-2 -1");
    BOOST_TEST(found("<= :s", {{":s", number(0)}}) == "-2 -1 0");
    BOOST_TEST(found("= :s", {{":s", number(5)}}) == "5");
    BOOST_TEST(found("BETWEEN :s AND :t", {{":s", number(-1)}, {":t", number(1)}}) == "-1 0 1");
}

BOOST_AUTO_TEST_CASE(that_only_counts_ends_its_pages_at_the_same_items) {
    for (const bool forward : {true, false}) {
        for (const auto& index :
             {std::optional<std::string>(), std::optional<std::string>("lidx")}) {
            auto request = query("pk = :p", {{":p", "a"}});
            request.forward = forward;
            request.options.index = index;
            request.options.limit = 4;
            request.options.return_capacity = ReturnCapacity::total;
            for (bool more = true; more;) {
                request.options.select = std::nullopt;
                const auto items = service->query(request).value();
                request.options.select = Select::count;
                const auto counted = service->query(request).value();
                BOOST_TEST(counted.items.empty());
                BOOST_TEST(counted.count == items.count);
                BOOST_TEST(counted.scanned == items.scanned);
                BOOST_TEST((counted.last_key == items.last_key));
                BOOST_TEST(counted.consumed->units == items.consumed->units);
                request.options.start_key = counted.last_key;
                more = counted.last_key.has_value();
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(reads_page_by_page_in_both_directions) {
    for (const bool forward : {true, false}) {
        auto request = query("pk = :p AND sk > :s", {{":p", "a"}, {":s", number(0)}});
        request.forward = forward;
        request.options.limit = 5;
        std::string all;
        int pages = 0;
        do {
            const auto page = service->query(request).value();
            all += keys(page) + " ";
            request.options.start_key = page.last_key;
            ++pages;
        } while (request.options.start_key);
        BOOST_TEST(all ==
                   (forward ? "1 2 3 4 5 6 7 8 9 10 11 12 " : "12 11 10 9 8 7 6 5 4 3 2 1 "));
        BOOST_TEST(pages == 3);
    }
    // The limit equals the number of items, so the page ended because of the limit.
    auto request = query("pk = :p", {{":p", "b"}});
    request.options.limit = 1;
    const auto page = service->query(request).value();
    BOOST_TEST((page.last_key == AttributeMap{{"pk", "b"}, {"sk", number(1)}}));
    request.options.start_key = page.last_key;
    BOOST_TEST(service->query(request).value().count == 0U);
}

BOOST_AUTO_TEST_CASE(filters_after_it_has_read_the_page) {
    auto request = query("pk = :p", {{":p", "a"}, {":g", "even"}});
    request.expressions.filter = "g = :g";
    request.expressions.projection = "sk";
    request.options.limit = 6;
    auto page = service->query(request).value();
    BOOST_TEST(keys(page) == "-2 0 2");
    BOOST_TEST(page.count == 3U);
    BOOST_TEST(page.scanned == 6U);
    BOOST_TEST(page.items.at(0).size() == 1U);
    request.expressions.projection.reset();
    request.options.select = Select::count;
    page = service->query(request).value();
    BOOST_TEST(page.items.empty());
    BOOST_TEST(page.count == 3U);
}

BOOST_AUTO_TEST_CASE(ends_a_page_at_one_megabyte_with_the_item_that_crosses_it) {
    for (int i = 0; i < 5; ++i) {
        service
            ->write_item(
                put("orders", {{"pk", "d"}, {"sk", number(i)}, {"s", std::string(300'000, 'x')}}))
            .value();
    }
    auto request = query("pk = :p", {{":p", "d"}});
    const auto page = service->query(request).value();
    BOOST_TEST(page.scanned == 4U);
    BOOST_TEST(page.last_key.has_value());
    request.options.start_key = page.last_key;
    BOOST_TEST(keys(service->query(request).value()) == "4");
}

BOOST_AUTO_TEST_CASE(reads_indexes_with_both_keys_in_their_last_key) {
    auto request = query("g = :g AND v < :v", {{":g", "even"}, {":v", number(-3)}});
    request.options.index = "gidx";
    request.options.limit = 2;
    auto page = service->query(request).value();
    BOOST_TEST(keys(page, "v") == "-12 -10");
    BOOST_TEST((page.last_key ==
                AttributeMap{{"g", "even"}, {"v", number(-10)}, {"pk", "a"}, {"sk", number(10)}}));
    // The index contains keys only.
    BOOST_TEST(page.items.at(0).size() == 4U);
    request.options.start_key = page.last_key;
    BOOST_TEST(keys(service->query(request).value(), "v") == "-8 -6");
    // A local index, and attributes that it does not contain.
    request = query("pk = :p", {{":p", "a"}});
    request.options.index = "lidx";
    request.options.limit = 2;
    page = service->query(request).value();
    BOOST_TEST(keys(page, "v") == "-12 -11");
    BOOST_TEST(!page.items.at(0).contains("s"));
    request.options.select = Select::all_attributes;
    request.options.return_capacity = ReturnCapacity::indexes;
    page = service->query(request).value();
    BOOST_TEST(page.items.at(0).contains("s"));
    BOOST_TEST(page.consumed->units == 1.5);
    BOOST_TEST(page.consumed->local_indexes.at("lidx") == 0.5);
}

// This applies to the key of the table and of all its indexes, even those that are not read.
BOOST_AUTO_TEST_CASE(refuses_paths_into_a_key_attribute) {
    const std::string scalars =
        "invalid_argument: Key attributes must be scalars; list random access '[]' and map lookup "
        "'.' are not allowed: ";
    const auto projected = [&](const std::string& text) {
        auto request = query("pk = :p", {{":p", "a"}});
        request.expressions.projection = text;
        Scan scan;
        scan.table = "orders";
        scan.expressions.projection = text;
        BatchGet batch;
        batch.tables.push_back({"orders", {{{"pk", "a"}, {"sk", number(1)}}}, false, {}});
        batch.tables[0].expressions.projection = text;
        auto one = get("orders", {{"pk", "a"}, {"sk", number(1)}});
        one.expressions.projection = text;
        std::string error = error_of(service->query(request));
        BOOST_TEST(error_of(service->scan(scan)) == error);
        BOOST_TEST(error_of(service->get_item(one)) == error);
        BOOST_TEST(error_of(service->batch_get(batch)) == error);
        const auto together = service->transact_get({{one}, {}, {}});
        const std::string reason =
            together ? "" : "invalid_argument: " + together.error().reasons.at(0).message;
        BOOST_TEST(reason == error);
        return error;
    };
    BOOST_TEST(projected("s, pk.x") == scalars + "Key: pk");
    BOOST_TEST(projected("sk[0], s") == scalars + "Key: sk");
    BOOST_TEST(projected("g.x") == scalars + "IndexKey: g");
    BOOST_TEST(projected("v[1].y") == scalars + "IndexKey: v");
    BOOST_TEST(projected("s.x, w.pk, pk, g") == "");
    const auto filtered = [&](const std::string& filter,
                              const std::optional<std::string>& index = {}) {
        auto request = query(index ? "g = :p" : "pk = :p", {{":p", "a"}, {":x", "x"}});
        request.expressions.filter = filter;
        request.options.index = index;
        Scan scan;
        scan.table = "orders";
        scan.options.index = index;
        scan.expressions.filter = filter;
        scan.expressions.placeholders = request.expressions.placeholders;
        scan.expressions.placeholders.values->erase(scan.expressions.placeholders.values->begin());
        std::string error = error_of(service->query(request));
        BOOST_TEST(error_of(service->scan(scan)) == error);
        return error;
    };
    BOOST_TEST(filtered("g.x = :x") == scalars + "IndexKey: g");
    BOOST_TEST(filtered("s = :x OR contains(pk.x, :x)") == scalars + "Key: pk");
    BOOST_TEST(filtered("g.x = :x", "gidx") == scalars + "IndexKey: g");
    BOOST_TEST(filtered("size(v[0]) > :x", "gidx") == scalars + "IndexKey: v");
    BOOST_TEST(filtered("attribute_exists(sk.x) OR g = :x", "gidx") == scalars + "Key: sk");
    BOOST_TEST(filtered("s.x = :x") == "");
}

BOOST_AUTO_TEST_CASE(is_refused_in_the_words_of_the_service) {
    const auto refusal = [this](const Query& request) {
        const auto text = error_of(service->query(request));
        return text.substr(text.find(' ') + 1);
    };
    auto request = query("pk = :p", {{":p", "a"}});
    request.options.index = "nosuch";
    BOOST_TEST(refusal(request) == "The table does not have the specified index: nosuch");
    request = query("g = :p", {{":p", "a"}});
    request.options.index = "gidx";
    request.options.consistent = true;
    BOOST_TEST(refusal(request) ==
               "Consistent reads are not supported on global secondary indexes");
    request.options.consistent = false;
    request.expressions.projection = "s";
    BOOST_TEST(refusal(request) ==
               "One or more parameter values were invalid: Global secondary index gidx does not "
               "project [s]");
    request = query("pk = :p", {{":p", "a"}});
    request.options.start_key = AttributeMap{{"pk", "b"}, {"sk", number(3)}};
    BOOST_TEST(
        refusal(request) ==
        "The provided starting key is outside query boundaries based on provided conditions");
    request.options.start_key = AttributeMap{{"x", "b"}, {"y", number(3)}};
    BOOST_TEST(refusal(request) == "The provided starting key is invalid");
    request = query("pk = :p AND sk > :s", {{":p", "a"}, {":s", number(2)}});
    request.options.start_key = AttributeMap{{"pk", "a"}, {"sk", number(-9)}};
    BOOST_TEST(refusal(request) ==
               "The provided starting key does not match the range key predicate");
    request = query("sk = :s", {{":s", number(2)}});
    BOOST_TEST(refusal(request) == "Query condition missed key schema element: pk");
    request = query("pk = :p", {{":p", "a"}});
    request.options.limit = 0;
    BOOST_TEST(refusal(request) ==
               "1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: "
               "Member must have value greater than or equal to 1");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_scan, WithItems)

BOOST_AUTO_TEST_CASE(continues_in_the_segment_in_which_it_stopped) {
    service->create_table(table_of("many", "pk S")).value();
    for (int i = 0; i < 50; ++i) {
        service->write_item(put("many", {{"pk", std::to_string(i)}})).value();
    }
    Scan request;
    request.table = "many";
    request.segment = 1;
    request.total_segments = 3;
    request.options.limit = 2;
    request.options.start_key = service->scan(request).value().last_key;
    BOOST_TEST(error_of(service->scan(request)) == "");
    request.segment = 2;
    BOOST_TEST(error_of(service->scan(request)) ==
               "invalid_argument: The provided starting key is invalid: Invalid ExclusiveStartKey. "
               "Please use ExclusiveStartKey with correct Segment. TotalSegments: 3 Segment: 2");
    request.segment.reset();
    request.total_segments.reset();
    BOOST_TEST(error_of(service->scan(request)) == "");
}

BOOST_AUTO_TEST_CASE(finds_every_item_once_page_by_page_and_segment_by_segment) {
    for (int i = 0; i < 50; ++i) {
        service->write_item(put("orders", {{"pk", std::to_string(i)}, {"sk", number(0)}})).value();
    }
    for (const std::int64_t segments : {1, 3, 16}) {
        std::vector<std::string> seen;
        for (std::int64_t segment = 0; segment < segments; ++segment) {
            Scan request;
            request.table = "orders";
            request.options.limit = 4;
            if (segments > 1) {
                request.segment = segment;
                request.total_segments = segments;
            }
            do {
                const auto page = service->scan(request).value();
                for (const Item& item : page.items) {
                    seen.push_back(*item.find("pk")->get_if<std::string>() + "/" +
                                   item.find("sk")->get_if<Number>()->to_string());
                }
                request.options.start_key = page.last_key;
            } while (request.options.start_key);
        }
        BOOST_TEST(seen.size() == 67U);
        std::sort(seen.begin(), seen.end());
        BOOST_TEST((std::adjacent_find(seen.begin(), seen.end()) == seen.end()));
    }
}

BOOST_AUTO_TEST_CASE(finds_the_entries_of_an_index) {
    Scan request;
    request.table = "orders";
    request.options.index = "gidx";
    BOOST_TEST(keys(service->scan(request).value()) == "12 10 8 6 4 2 0 -2");
}

BOOST_AUTO_TEST_CASE(is_refused_in_the_words_of_the_service) {
    Scan request;
    request.table = "orders";
    request.segment = 4;
    BOOST_TEST(error_of(service->scan(request)) ==
               "invalid_argument: The TotalSegments parameter is required but was not present in "
               "the request when Segment parameter is present");
    request.total_segments = 4;
    BOOST_TEST(error_of(service->scan(request)) ==
               "invalid_argument: The Segment parameter is zero-based and must be less than "
               "parameter TotalSegments: Segment: 4 is not less than TotalSegments: 4");
    request.segment.reset();
    request.total_segments.reset();
    request.options.select = Select::specific_attributes;
    BOOST_TEST(error_of(service->scan(request)) ==
               "invalid_argument: Must specify the AttributesToGet or ProjectionExpression when "
               "choosing to get SPECIFIC_ATTRIBUTES");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_FIXTURE_TEST_SUITE(a_page, Tables)

BOOST_AUTO_TEST_CASE(has_at_most_20000_items_of_any_size) {
    service->create_table(table_of("orders", "pk S", "sk N")).value();
    constexpr int items = 20'010;
    BatchWrite batch;
    for (int i = 0; i < items; ++i) {
        batch.writes.push_back(put("orders", {{"pk", "a"}, {"sk", number(i)}}));
        if (batch.writes.size() < 25 && i + 1 < items) continue;
        service->batch_write(batch).value();
        batch.writes.clear();
    }
    Query query;
    query.table = "orders";
    query.expressions.key_condition = "pk = :p";
    query.expressions.placeholders.values = {{{":p", "a"}}};
    auto page = service->query(query).value();
    BOOST_TEST(page.count == 20'000U);
    query.options.start_key = page.last_key;
    page = service->query(query).value();
    BOOST_TEST(page.count == 10U);
    BOOST_TEST(!page.last_key);
    // Items that a filter removes cost capacity, too.
    Scan scan;
    scan.table = "orders";
    scan.expressions.filter = "attribute_exists(nosuch)";
    page = service->scan(scan).value();
    BOOST_TEST(page.count == 0U);
    BOOST_TEST(page.scanned == 20'000U);
    BOOST_TEST(page.last_key.has_value());
}

BOOST_AUTO_TEST_CASE(ends_after_1_mb_with_or_without_a_filter) {
    service->create_table(table_of("orders", "pk S", "sk N")).value();
    for (int i = 0; i < 30; ++i) {
        service
            ->write_item(
                put("orders", {{"pk", "a"}, {"sk", number(i)}, {"v", std::string(100'000, 'x')}}))
            .value();
    }
    Scan scan;
    scan.table = "orders";
    BOOST_TEST(service->scan(scan).value().count == 11U);
    scan.expressions.filter = "attribute_exists(nosuch)";
    const auto page = service->scan(scan).value();
    BOOST_TEST(page.count == 0U);
    BOOST_TEST(page.scanned == 11U);
    BOOST_TEST(page.last_key.has_value());
}

// The index entries contain keys only and are small, but their items are large.
BOOST_AUTO_TEST_CASE(ends_with_1_mb_of_items_that_an_index_was_completed_from) {
    auto wanted = table_of("orders", "pk S", "sk N");
    SecondaryIndex local;
    local.name = "lidx";
    local.key = {{"pk", KeyType::hash}, {"n", KeyType::range}};
    local.projection = IndexProjection{ProjectionType::keys_only, {}};
    wanted.local_indexes = {local};
    wanted.attributes.push_back({"n", AttributeType::number});
    service->create_table(wanted).value();
    for (int i = 0; i < 30; ++i) {
        service
            ->write_item(put("orders", {{"pk", "a"},
                                        {"sk", number(i)},
                                        {"n", number(-i)},
                                        {"v", std::string(100'000, 'x')}}))
            .value();
    }
    Query query;
    query.table = "orders";
    query.options.index = "lidx";
    query.options.select = Select::all_attributes;
    query.expressions.key_condition = "pk = :p";
    query.expressions.placeholders.values = {{{":p", "a"}}};
    std::size_t found = 0;
    std::size_t pages = 0;
    while (true) {
        const auto page = service->query(query).value();
        BOOST_TEST(page.count <= 11U);
        found += page.count;
        ++pages;
        if (!page.last_key) break;
        query.options.start_key = page.last_key;
    }
    BOOST_TEST(found == 30U);
    BOOST_TEST(pages == 3U);
    query.options.start_key.reset();
    query.options.select = Select::all_projected_attributes;
    BOOST_TEST(service->query(query).value().count == 30U);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
