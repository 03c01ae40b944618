#include <utility>

#include "wire/table_json.hpp"

namespace rocklock::table_json {
namespace {

void write_time_to_live(JsonWriter& json, bool enabled, const std::string& attribute) {
    json.key("TimeToLiveStatus");
    json.string(enabled ? "ENABLED" : "DISABLED");
    if (!enabled) return;
    json.key("AttributeName");
    json.string(attribute);
}

}  // namespace

UpdateTimeToLive read_update_time_to_live(const MemberReader& json) {
    UpdateTimeToLive request;
    request.table = required_table(json);
    json.require("TimeToLiveSpecification");
    if (const auto given = json.structure("TimeToLiveSpecification")) {
        given->require("Enabled");
        request.enabled = given->truth("Enabled").value_or(false);
        request.attribute = given->required_text("AttributeName");
    }
    return request;
}

void write_specification(JsonWriter& json, const UpdateTimeToLive& specification) {
    json.key("TimeToLiveSpecification");
    json.begin_object();
    json.key("Enabled");
    json.boolean(specification.enabled);
    json.key("AttributeName");
    json.string(specification.attribute);
    json.end_object();
}

void write_description(JsonWriter& json, const TimeToLive& described) {
    json.key("TimeToLiveDescription");
    json.begin_object();
    write_time_to_live(json, described.enabled, described.attribute);
    json.end_object();
}

Tags read_tags(const MemberReader& json) {
    Tags tags;
    const auto given = json.structures("Tags");
    if (!given) return tags;
    for (const auto& entry : *given) {
        auto key = entry.required_text("Key");
        const auto [it, added] = tags.emplace(key, entry.required_text("Value"));
        if (!added) {
            json.faults().invalid("Duplicate Tag Keys provided as input: Duplicate Tag Key found " +
                                  key);
        }
    }
    return tags;
}

TagResource read_tag_resource(const MemberReader& json) {
    auto resource = json.required_text("ResourceArn");
    json.require("Tags");
    return {std::move(resource), read_tags(json)};
}

UntagResource read_untag_resource(const MemberReader& json) {
    auto resource = json.required_text("ResourceArn");
    json.require("TagKeys");
    return {std::move(resource), json.texts("TagKeys").value_or(std::vector<std::string>())};
}

ListTagsOfResource read_list_tags(const MemberReader& json) {
    return {json.required_text("ResourceArn"), json.text("NextToken")};
}

void write_tags(JsonWriter& json, const TagPage& page) {
    json.key("Tags");
    json.begin_array();
    for (const auto& [key, value] : page.tags) {
        json.begin_object();
        json.key("Key");
        json.string(key);
        json.key("Value");
        json.string(value);
        json.end_object();
    }
    json.end_array();
    if (!page.next_token) return;
    json.key("NextToken");
    json.string(*page.next_token);
}

void write_limits(JsonWriter& json, const ServiceLimits& limits) {
    json.key("AccountMaxReadCapacityUnits");
    json.number(limits.account_read_units);
    json.key("AccountMaxWriteCapacityUnits");
    json.number(limits.account_write_units);
    json.key("TableMaxReadCapacityUnits");
    json.number(limits.table_read_units);
    json.key("TableMaxWriteCapacityUnits");
    json.number(limits.table_write_units);
}

}  // namespace rocklock::table_json
