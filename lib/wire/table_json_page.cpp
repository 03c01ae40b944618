#include <cstdint>
#include <limits>

#include "expression/request.hpp"
#include "wire/json/attribute_json.hpp"
#include "wire/json/expression_json.hpp"
#include "wire/table_json.hpp"

namespace rocklock::table_json {
namespace {

using expression::RequestKind;

constexpr std::int64_t max_segments = 1'000'000;

constexpr ServiceWords<Select, 4> select_words = {
    {{"SPECIFIC_ATTRIBUTES", Select::specific_attributes},
     {"COUNT", Select::count},
     {"ALL_ATTRIBUTES", Select::all_attributes},
     {"ALL_PROJECTED_ATTRIBUTES", Select::all_projected_attributes}}};

PageOptions read_options(const MemberReader& json) {
    PageOptions options;
    options.index = json.text("IndexName");
    if (options.index) {
        check_resource_name(*options.index, json.path_of("IndexName"), json.faults());
    }
    options.consistent = json.truth("ConsistentRead").value_or(false);
    options.limit = json.whole("Limit");
    check_whole(options.limit, json.path_of("Limit"), {1, std::numeric_limits<std::int64_t>::max()},
                json.faults());
    options.start_key = json.attributes("ExclusiveStartKey");
    options.select = json.word("Select", select_words);
    options.return_capacity = read_return_capacity(json);
    return options;
}

}  // namespace

Query read_query(const MemberReader& json) {
    Query request;
    request.table = required_table(json);
    request.expressions = read_parameters(json, RequestKind::query);
    request.options = read_options(json);
    request.forward = json.truth("ScanIndexForward").value_or(true);
    return request;
}

Scan read_scan(const MemberReader& json) {
    Scan request;
    request.table = required_table(json);
    request.expressions = read_parameters(json, RequestKind::scan);
    request.options = read_options(json);
    request.segment = json.whole("Segment");
    check_whole(request.segment, json.path_of("Segment"), {0, max_segments - 1}, json.faults());
    request.total_segments = json.whole("TotalSegments");
    check_whole(request.total_segments, json.path_of("TotalSegments"), {1, max_segments},
                json.faults());
    return request;
}

void write_page(JsonWriter& json, const Page& page, const PageOptions& options) {
    if (options.select != Select::count) {
        json.key("Items");
        json.begin_array();
        for (const auto& item : page.items) write_item(json, item);
        json.end_array();
    }
    json.key("Count");
    json.number(page.count);
    json.key("ScannedCount");
    json.number(page.scanned);
    if (page.last_key) {
        json.key("LastEvaluatedKey");
        write_item(json, *page.last_key);
    }
    write_consumed(json, page.consumed);
}

}  // namespace rocklock::table_json
