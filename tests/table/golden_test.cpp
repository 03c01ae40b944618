// The recorded answers of the service (tests/golden), as far as single requests for tables and
// items go.
#include <algorithm>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "support/golden_records.hpp"
#include "support/typed_json.hpp"
#include "table/golden_requests.hpp"
#include "table/make.hpp"

namespace rocklock::proof {

namespace {

using boost::json::object;
using boost::json::value;

std::string_view exception_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::invalid_argument:
            return "ValidationException";
        case ErrorCode::condition_failed:
            return "ConditionalCheckFailedException";
        case ErrorCode::resource_not_found:
            return "ResourceNotFoundException";
        case ErrorCode::resource_in_use:
            return "ResourceInUseException";
        case ErrorCode::limit_exceeded:
            return "LimitExceededException";
        default:
            return "";
    }
}

std::string error_difference(const Played& played, const object& record) {
    const object& response = record.at("response").as_object();
    const std::string wanted = text_at(response, "message") + text_at(response, "Message");
    if (!played.error) return "no error, but wanted: " + wanted;
    const std::string type = text_at(response, "__type");
    if (type.substr(type.find('#') + 1) != exception_of(played.error->code)) {
        return "another error: " + error_text(*played.error);
    }
    const value* item = response.if_contains("Item");
    if ((item != nullptr) != (played.error->item != nullptr)) return "an item, or none";
    if (item && item_from_json(*item) != *played.error->item) return "another item";
    if (text_at(record, "msg") == "any" || played.error->message == wanted) return "";
    return "\n  is:     " + played.error->message + "\n  wanted: " + wanted;
}

std::string page_difference(const Page& page, const object& record) {
    const object& response = record.at("response").as_object();
    if (page.count != response.at("Count").to_number<std::size_t>()) return "another Count";
    if (page.scanned != response.at("ScannedCount").to_number<std::size_t>()) {
        return "another ScannedCount";
    }
    std::optional<AttributeMap> last;
    if (const value* key = response.if_contains("LastEvaluatedKey")) {
        // Of a scan the service's own order decides.
        if (key->is_string()) last = page.last_key;
        if (key->is_object()) last = item_from_json(*key);
    }
    if (page.last_key != last) return "another LastEvaluatedKey";
    std::vector<Item> items;
    if (const value* list = response.if_contains("Items")) {
        if (!list->is_array()) return "";
        for (const value& element : list->as_array()) items.push_back(*item_from_json(element));
    }
    const bool same =
        record.contains("unordered")
            ? std::is_permutation(items.begin(), items.end(), page.items.begin(), page.items.end())
            : items == page.items;
    return same ? "" : "other Items";
}

// How it differs from what was recorded; empty when it does not.
std::string difference(const Played& played, const object& record) {
    if (record.at("status").to_number<int>() != 200) return error_difference(played, record);
    if (played.error) return "error: " + played.error->message;
    const object& response = record.at("response").as_object();
    if (const value* consumed = response.if_contains("ConsumedCapacity")) {
        if (!played.units) return "no ConsumedCapacity";
        const value& units = consumed->as_object().at("CapacityUnits");
        if (units.is_number() && units.to_number<double>() != *played.units) {
            return "CapacityUnits of " + std::to_string(*played.units);
        }
    }
    if (played.page) return page_difference(*played.page, record);
    std::optional<Item> item;
    for (const auto* name : {"Attributes", "Item"}) {
        if (const value* found = response.if_contains(name)) item = item_from_json(*found);
    }
    return played.item == item ? "" : "another item";
}

// Of requests that say more than typed ones can, and of operations of several items, nothing is
// compared; nor is what was recorded otherwise than the service's documentation has it: an update
// without an Action puts the value.
bool is_left_out(const object& record) {
    if (!record.contains("request") || record.contains("segments")) return true;
    if (record.contains("paginate")) return true;
    // What base64 is, is for whoever reads JSON to say.
    if (text_at(record, "case").starts_with("types-numbers/serialization-")) return true;
    return text_at(record, "case") == "legacy/attribute-updates-02" &&
           record.at("step").to_number<int>() >= 2;
}

const auto files = boost::unit_test::data::make({"conditions", "errors", "index", "legacy",
                                                 "projection", "put-get", "query", "scan", "tables",
                                                 "ttl", "types-numbers", "update-expressions"});

}  // namespace

BOOST_AUTO_TEST_SUITE(table)
BOOST_AUTO_TEST_SUITE(a_recorded_request)

BOOST_DATA_TEST_CASE(is_answered_as_the_service_did, files, file) {
    std::optional<Tables> tables;
    std::string current;
    int compared = 0;
    for (const object& record : golden_records(file)) {
        // Each case begins with the tables that it makes.
        if (const auto name = text_at(record, "case"); name != current || !tables) {
            current = name;
            tables.emplace();
        }
        if (is_left_out(record)) continue;
        const object& request = record.at("request").as_object();
        const auto played = play(*tables->service, text_at(record, "op"), request);
        if (!played) continue;
        const std::string differs = difference(*played, record);
        BOOST_TEST(differs.empty(), current << ", step " << record.at("step").to_number<int>()
                                            << ": " << differs << "\n"
                                            << boost::json::serialize(request).substr(0, 400));
        ++compared;
    }
    BOOST_TEST(compared >= 10);
    BOOST_TEST_MESSAGE(file << ": " << compared << " compared");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
