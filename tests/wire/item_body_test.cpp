// The direct reader accepts only requests that the general reader reads in the same way.
#include "wire/json/item_body.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "item/random_values.hpp"
#include "wire/json/json_writer.hpp"
#include "wire/json/member_reader.hpp"
#include "wire/table_call.hpp"
#include "wire/table_json.hpp"

namespace rocklock {
namespace {

using table_json::read_usual_get;
using table_json::read_usual_write;
using Kind = WriteItem::Kind;

// Reads the request with `read` through a tree of JSON values. Returns nullopt if it has a fault.
template <typename Read>
auto read_in_general(std::string_view body, const Read& read) {
    using Request = decltype(read(std::declval<const MemberReader&>()));
    const auto parsed = TableBody::parse(body);
    if (!parsed) return std::optional<Request>();
    RequestFaults faults;
    std::optional<Request> request = read(MemberReader(parsed->members(), {}, faults));
    if (faults.first()) request.reset();
    return request;
}

std::optional<WriteItem> read_write_in_general(std::string_view body, Kind kind) {
    return read_in_general(
        body, [kind](const MemberReader& json) { return table_json::read_write(json, kind); });
}

std::optional<GetItem> read_get_in_general(std::string_view body) {
    return read_in_general(body, table_json::read_get);
}

// Returns whether the two requests are equal. The members that the direct reader cannot set must
// have their defaults.
bool are_equal(const WriteItem& left, const WriteItem& right) {
    return left.kind == right.kind && left.table == right.table && left.item == right.item &&
           !right.expressions.condition && !right.expressions.placeholders.names &&
           !right.expressions.placeholders.values && !right.expressions.expected &&
           !right.expressions.conditional_operator && right.return_values == ReturnValues::none &&
           !right.return_item_on_failure && right.return_capacity == ReturnCapacity::none &&
           !right.return_collection_metrics;
}

bool are_equal(const GetItem& left, const GetItem& right) {
    return left.table == right.table && left.key == right.key &&
           left.consistent == right.consistent && !right.expressions.projection &&
           !right.expressions.placeholders.names && right.return_capacity == ReturnCapacity::none;
}

// Checks that the direct reader refuses the body or reads it as the general reader does. Returns
// whether it accepts the body.
bool is_read_alike(std::string_view body, Kind kind) {
    const auto direct = read_usual_write(body, kind);
    if (!direct) return false;
    const auto general = read_write_in_general(body, kind);
    BOOST_TEST((general && are_equal(*direct, *general)), body);
    return true;
}

bool is_read_alike(std::string_view body) {
    const auto direct = read_usual_get(body);
    if (!direct) return false;
    const auto general = read_get_in_general(body);
    BOOST_TEST((general && are_equal(*direct, *general)), body);
    return true;
}

// Random requests of the kinds that the direct reader accepts.
class Requests {
public:
    explicit Requests(std::uint64_t seed) : random_(seed) {}

    std::uint64_t below(std::uint64_t limit) { return random_.below(limit); }

    std::string write(std::string_view attributes_key) {
        const std::string table = gap() + R"("TableName")" + gap() + ":" + gap() + R"("a.b-c_9")";
        const std::string item =
            gap() + '"' + std::string(attributes_key) + '"' + gap() + ":" + map(3);
        const bool swapped = below(2) == 0;
        return gap() + "{" + (swapped ? item : table) + gap() + "," + (swapped ? table : item) +
               gap() + "}" + gap();
    }

private:
    std::string gap() {
        constexpr std::string_view spaces = " \n\r\t";
        std::string gap;
        for (auto size = below(8); size > 5; --size) gap += spaces[below(spaces.size())];
        return gap;
    }

    std::string text() {
        std::string text(below(40), '\0');
        for (char& byte : text) {
            do {
                byte = static_cast<char>(' ' + below(96));
            } while (byte == '"' || byte == '\\');
        }
        return '"' + text + '"';
    }

    std::string map(std::size_t levels) {
        std::string map = gap() + "{";
        // Also more attributes than the direct reader accepts.
        const auto size = below(40) == 0 ? below(100) : below(8);
        for (std::uint64_t i = 0; i < size; ++i) {
            map += (i > 0 ? "," : "") + gap() + text() + gap() + ":" + value(levels);
        }
        return map + gap() + "}" + gap();
    }

    std::string value(std::size_t levels) {
        return gap() + "{" + gap() + typed(levels) + gap() + "}" + gap();
    }

    std::string typed(std::size_t levels) {
        const auto colon = gap() + ":" + gap();
        switch (below(levels > 1 ? 6 : 4)) {
            case 0:
                return R"("S")" + colon + text();
            case 1:
                return R"("N")" + colon + '"' + random_.number().to_string() + '"';
            case 2:
                return R"("BOOL")" + colon + (below(2) == 0 ? "true" : "false");
            case 3:
                return R"("NULL")" + colon + "true";
            case 4:
                return R"("M")" + colon + map(levels - 1);
            default:
                break;
        }
        std::string list = R"("L")" + colon + "[";
        const auto size = below(4);
        for (std::uint64_t i = 0; i < size; ++i) list += (i > 0 ? "," : "") + value(levels - 1);
        return list + gap() + "]";
    }

    testing::RandomValues random_;
};

std::string put_of(const std::string& item) {
    return R"({"TableName":"table","Item":)" + item + "}";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_usual_request_for_one_item)

BOOST_AUTO_TEST_CASE(is_read_as_the_general_reader_reads_it) {
    Requests requests(1);
    std::size_t accepted = 0;
    constexpr std::size_t count = 2'000;
    for (std::size_t i = 0; i < count; ++i) {
        accepted += is_read_alike(requests.write("Item"), Kind::put) ? 1 : 0;
        accepted += is_read_alike(requests.write("Key"), Kind::remove) ? 1 : 0;
        accepted += is_read_alike(requests.write("Key")) ? 1 : 0;
    }
    // Only a name that occurs twice, or too many names, are reasons for a refusal.
    BOOST_TEST(accepted > 3 * count * 8 / 10);
    BOOST_TEST(accepted < 3 * count);
}

BOOST_AUTO_TEST_CASE(with_a_wrong_byte_is_refused_or_read_alike) {
    Requests requests(2);
    constexpr std::string_view likely = "\"\\{}[]:, 0eSNLMB\x1f\x7f\x80";
    std::size_t accepted = 0;
    for (int i = 0; i < 1'000; ++i) {
        const auto body = requests.write("Item");
        for (int change = 0; change < 20; ++change) {
            auto changed = body;
            char& byte = changed[requests.below(changed.size())];
            byte = requests.below(4) == 0 ? static_cast<char>(requests.below(256))
                                          : likely[requests.below(likely.size())];
            accepted += is_read_alike(changed, Kind::put) ? 1 : 0;
        }
        for (int cut = 0; cut < 5; ++cut) {
            BOOST_TEST(!read_usual_write(body.substr(0, requests.below(body.find_last_of('}'))),
                                         Kind::put));
        }
    }
    BOOST_TEST(accepted > 0);
}

BOOST_AUTO_TEST_CASE(has_all_its_members) {
    const auto write = read_usual_write(
        R"({"TableName":"table","Item":{"id":{"S":"a"},"b":{"N":"1.50"},"a":{"BOOL":true}}})",
        Kind::put);
    BOOST_TEST_REQUIRE(write.has_value());
    BOOST_TEST(write->table == "table");
    BOOST_TEST((write->kind == Kind::put));
    BOOST_TEST(
        (write->item == Item{{"id", "a"}, {"b", Number::parse("1.5").value()}, {"a", true}}));

    const auto remove =
        read_usual_write(R"({"Key":{"id":{"S":""}},"TableName":"abc"})", Kind::remove);
    BOOST_TEST_REQUIRE(remove.has_value());
    BOOST_TEST((remove->kind == Kind::remove));
    BOOST_TEST((remove->item == Item{{"id", ""}}));

    const auto get =
        read_usual_get(R"({"TableName":"abc","Key":{"id":{"S":"a"}},"ConsistentRead":true})");
    BOOST_TEST_REQUIRE(get.has_value());
    BOOST_TEST(get->consistent);
    BOOST_TEST(is_read_alike(R"({"TableName":"abc","Key":{},"ConsistentRead":false})"));
}

BOOST_AUTO_TEST_CASE(that_is_faulty_is_refused) {
    for (const std::string& body : {
             std::string(),
             std::string("{}"),
             std::string("[]"),
             std::string(R"({"TableName":"abc"})"),
             std::string(R"({"Item":{}})"),
             std::string(R"({"TableName":"ab","Item":{}})"),
             std::string(R"({"TableName":"a b c","Item":{}})"),
             R"({"TableName":")" + std::string(256, 'a') + R"(","Item":{}})",
             std::string(R"({"TableName":5,"Item":{}})"),
             std::string(R"({"TableName":"abc","Item":[]})"),
             put_of(R"({"a":{}})"),
             put_of(R"({"a":{"S":"x","N":"1"}})"),
             put_of(R"({"a":{"S":5}})"),
             put_of(R"({"a":{"N":"x"}})"),
             put_of(R"({"a":{"N":5}})"),
             put_of(R"({"a":{"NULL":false}})"),
             put_of(R"({"a":{"BOOL":"x"}})"),
             put_of(R"({"a":{"s":"x"}})"),
             put_of("{\"a\":{\"S\":\"\xff\"}}"),
             put_of("{\"a\":{\"S\":\"\n\"}}"),
             put_of(R"({"a":{"S":"x"}},)"),
             put_of(R"({"a":{"S":"x"},})"),
             put_of("{}") + "x",
             put_of(R"({"a":{"BOOL":truely}})"),
         }) {
        BOOST_TEST(!read_usual_write(body, Kind::put), body);
        BOOST_TEST(!read_write_in_general(body, Kind::put), body);
    }
}

BOOST_AUTO_TEST_CASE(that_is_unusual_is_left_to_the_general_reader) {
    std::string deep = R"({"S":"x"})";
    for (int level = 0; level < 20; ++level) deep = R"({"L":[)" + deep + "]}";
    for (const std::string& body : {
             std::string(
                 R"({"TableName":"arn:aws:dynamodb:local:000000000000:table/abc","Item":{}})"),
             std::string(R"({"TableName":"abc","TableName":"abd","Item":{}})"),
             std::string(R"({"TableName":"abc","Item":{},"Item":{}})"),
             std::string(R"({"TableName":"abc","Item":{},"Other":1})"),
             std::string(R"({"TableName":"abc","Item":{},"ReturnValues":"ALL_OLD"})"),
             put_of(R"({"a":{"S":"x"},"a":{"S":"y"}})"),
             put_of(R"({"b":{"S":"x"},"a":{"S":"y"},"b":{"S":"z"}})"),
             put_of(R"({"a":{"S":"\n"}})"),
             put_of("{\"a\":{\"S\":\"\xC3\xA9\"}}"),
             put_of(R"({"a":{"B":"eA=="}})"),
             put_of(R"({"a":{"SS":["x"]}})"),
             put_of(R"({"a":{"BOOL":"true"}})"),
             put_of(R"({"a":{"S":"x","N":null}})"),
             put_of(R"({"a":)" + deep + "}"),
         }) {
        BOOST_TEST(!read_usual_write(body, Kind::put), body);
        BOOST_TEST(read_write_in_general(body, Kind::put).has_value(), body);
    }
    BOOST_TEST(!read_usual_get(R"({"TableName":"abc","Key":{},"ProjectionExpression":"a"})"));
    BOOST_TEST(!read_usual_get(
        R"({"TableName":"abc","Key":{},"ConsistentRead":true,"ConsistentRead":false})"));
}

BOOST_AUTO_TEST_CASE(is_one_of_three_operations) {
    const auto is_usual = [](std::string_view operation, std::string_view body) {
        return read_usual_call(*find_table_operation(operation), body).has_value();
    };
    BOOST_TEST(is_usual("GetItem", R"({"TableName":"abc","Key":{}})"));
    BOOST_TEST(is_usual("DeleteItem", R"({"TableName":"abc","Key":{}})"));
    BOOST_TEST(is_usual("PutItem", R"({"TableName":"abc","Item":{}})"));
    BOOST_TEST(!is_usual("PutItem", R"({"TableName":"abc","Key":{}})"));
    BOOST_TEST(!is_usual("UpdateItem", R"({"TableName":"abc","Key":{}})"));
    BOOST_TEST(!is_usual("Query", R"({"TableName":"abc","Key":{}})"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
