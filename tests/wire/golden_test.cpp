// Sends the recorded requests (tests/golden) as JSON to tables in memory and compares the
// responses. tests/daemon/items/golden_replay_test.py does the same over sockets.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "support/golden_records.hpp"
#include "support/stores/test_store.hpp"
#include "support/typed_json.hpp"
#include "wire/table_call.hpp"

namespace rocklock::proof {

namespace {

using boost::json::object;
using boost::json::value;

value parsed(std::string_view text) {
    boost::json::parse_options options;
    options.max_depth = 256;
    return boost::json::parse({text.data(), text.size()}, {}, options);
}

// The result of one request.
struct Played {
    bool failed = false;
    value answer;
};

struct Tables {
    testing::SimulatedClock clock;
    std::unique_ptr<Storage> storage = testing::make_test_store(clock);
    std::unique_ptr<TableService> service = open_tables(*storage, clock).value();

    // Reads the request as the daemon does: directly if possible.
    static Result<TableCall> read_call(const TableOperation& operation, const std::string& request,
                                       const TableBody& body) {
        if (auto usual = read_usual_call(operation, request)) return *std::move(usual);
        return read_table_call(operation, body);
    }

    Played play(const std::string& operation, const std::string& request) const {
        const auto body = TableBody::parse(request);
        if (!body) return {true, parsed(write_table_error(body.error()))};
        auto call = read_call(*find_table_operation(operation), request, *body);
        if (!call) return {true, parsed(write_table_error(call.error()))};
        const auto answer = (*call)(*service, {});
        if (!answer) return {true, parsed(write_table_error(answer.error()))};
        return {false, parsed(answer->body.empty() ? "{}" : answer->body)};
    }
};

std::string exception_of(const object& response) {
    const std::string type = text_at(response, "__type");
    return type.substr(type.find('#') + 1);
}

std::string message_of(const object& response) {
    return text_at(response, "message") + text_at(response, "Message");
}

std::optional<Item> item_at(const object& response, std::string_view name) {
    const value* found = response.if_contains(name);
    return found && found->is_object() ? item_from_json(*found) : std::nullopt;
}

std::string error_difference(const object& answer, const object& record) {
    const object& response = record.at("response").as_object();
    if (exception_of(answer) != exception_of(response)) return "another exception";
    if (item_at(answer, "Item") != item_at(response, "Item")) return "another item";
    if (text_at(record, "msg") == "any") return "";
    const value* reasons = response.if_contains("CancellationReasons");
    const value* received = answer.if_contains("CancellationReasons");
    if ((reasons != nullptr) != (received != nullptr)) return "reasons, or none";
    if (reasons && reasons->as_array().size() != received->as_array().size())
        return "other reasons";
    for (std::size_t i = 0; reasons && i < reasons->as_array().size(); ++i) {
        const object& one = received->as_array()[i].as_object();
        const object& other = reasons->as_array()[i].as_object();
        if (text_at(one, "Code") != text_at(other, "Code") ||
            (text_at(other, "Message") != "*" &&
             text_at(one, "Message") != text_at(other, "Message")) ||
            item_at(one, "Item") != item_at(other, "Item")) {
            return "another reason";
        }
    }
    return message_of(answer) == message_of(response) ? "" : "another text";
}

std::vector<Item> items_at(const object& response) {
    std::vector<Item> items;
    const value* list = response.if_contains("Items");
    if (!list || !list->is_array()) return items;
    for (const value& element : list->as_array()) items.push_back(*item_from_json(element));
    return items;
}

std::string page_difference(const object& answer, const object& record) {
    const object& response = record.at("response").as_object();
    for (const auto* name : {"Count", "ScannedCount"}) {
        if (response.contains(name) && answer.at(name) != response.at(name)) return name;
    }
    const value* last = response.if_contains("LastEvaluatedKey");
    if (last == nullptr && answer.contains("LastEvaluatedKey")) return "a LastEvaluatedKey";
    // The end of a page of a scan depends on the service's own order.
    if (last && last->is_object() && item_at(answer, "LastEvaluatedKey") != item_from_json(*last)) {
        return "another LastEvaluatedKey";
    }
    if (const value* list = response.if_contains("Items"); list && list->is_string()) return "";
    const auto wanted = items_at(response);
    const auto found = items_at(answer);
    const bool same =
        record.contains("unordered")
            ? std::is_permutation(wanted.begin(), wanted.end(), found.begin(), found.end())
            : wanted == found;
    return same ? "" : "other Items";
}

std::string capacity_difference(const object& answer, const object& response) {
    const value* consumed = response.if_contains("ConsumedCapacity");
    const value* received = answer.if_contains("ConsumedCapacity");
    if ((consumed != nullptr) != (received != nullptr)) return "a ConsumedCapacity, or none";
    if (!consumed || !consumed->is_object()) return "";
    const value& units = consumed->as_object().at("CapacityUnits");
    if (!units.is_number()) return "";
    return received->at("CapacityUnits").to_number<double>() == units.to_number<double>()
               ? ""
               : "other CapacityUnits";
}

// Returns the difference from the recorded response. Empty if there is none.
std::string difference(const Played& played, const object& record) {
    const bool failed = record.at("status").to_number<int>() != 200;
    if (played.failed != failed) return failed ? "no error" : "an error";
    const object& answer = played.answer.as_object();
    if (failed) return error_difference(answer, record);
    if (!record.at("response").is_object()) return "";
    const object& response = record.at("response").as_object();
    for (const auto* name : {"Attributes", "Item"}) {
        if (item_at(answer, name) != item_at(response, name)) return std::string("another ") + name;
    }
    if (auto differs = capacity_difference(answer, response); !differs.empty()) return differs;
    return answer.contains("Count") ? page_difference(answer, record) : "";
}

// Records that need HTTP, and records that combine several responses.
bool is_left_out(const object& record) {
    if (!record.contains("request") || record.contains("segments")) return true;
    return record.contains("paginate") || find_table_operation(text_at(record, "op")) == nullptr;
}

const auto files = boost::unit_test::data::make(
    {"batch", "conditions", "errors", "index", "legacy", "projection", "put-get", "query", "scan",
     "tables", "transact", "ttl", "types-numbers", "update-expressions"});

}  // namespace

BOOST_AUTO_TEST_SUITE(a_recorded_request)

BOOST_DATA_TEST_CASE(is_answered_like_the_service, files, file) {
    std::optional<Tables> tables;
    std::string current;
    int compared = 0;
    for (const object& record : golden_records(file)) {
        // Each case begins without tables and creates its own.
        if (const auto name = text_at(record, "case"); name != current || !tables) {
            current = name;
            tables.emplace();
        }
        if (is_left_out(record)) continue;
        const auto request = boost::json::serialize(record.at("request"));
        const auto played = tables->play(text_at(record, "op"), request);
        const std::string differs = difference(played, record);
        BOOST_TEST(differs.empty(),
                   current << ", step " << record.at("step").to_number<int>() << ": " << differs
                           << "\n  of " << request.substr(0, 400) << "\n  is "
                           << boost::json::serialize(played.answer).substr(0, 400));
        ++compared;
    }
    BOOST_TEST(compared >= 10);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
