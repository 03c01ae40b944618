#include "wire/draft_json.hpp"

#include <array>
#include <utility>

#include <boost/json/parse.hpp>

#include "expression/request.hpp"
#include "wire/json/attribute_json.hpp"
#include "wire/json/expression_json.hpp"
#include "wire/json/member_reader.hpp"
#include "wire/table_json.hpp"

namespace rocklock {
namespace {

using Kind = WriteItem::Kind;

constexpr auto draft_actions = std::to_array<std::pair<std::string_view, Kind>>({
    {"Put", Kind::put},
    {"Update", Kind::update},
    {"Delete", Kind::remove},
});

// Sufficient for the deepest permitted item, which uses two JSON levels for each of its own, and
// for the action around it.
constexpr std::size_t max_draft_levels = 128;

}  // namespace

void write_draft_action(JsonWriter& json, const WriteItem& write) {
    json.begin_object();
    for (const auto& [name, kind] : draft_actions) {
        if (kind != write.kind) continue;
        json.key(name);
        json.begin_object();
        json.key("TableName");
        json.string(write.table);
        json.key(kind == Kind::put ? "Item" : "Key");
        write_item(json, write.item);
        write_change_parameters(json, write.expressions);
        json.end_object();
    }
    json.end_object();
}

Result<WriteItem> read_draft_action(const boost::json::value& json) {
    const auto* object = json.if_object();
    if (object == nullptr) return Error(ErrorCode::malformed, "an action must be an object");
    for (const auto& [name, kind] : draft_actions) {
        if (!object->contains(name)) continue;
        RequestFaults faults;
        const MemberReader reader(*object, {}, faults);
        const auto action = reader.structure(name);
        WriteItem write = action ? table_json::read_write(*action, kind) : WriteItem();
        if (auto fault = faults.first()) return *std::move(fault);
        return write;
    }
    return Error(ErrorCode::invalid_argument, "an action must be Put, Update or Delete");
}

std::string draft_action_text(const WriteItem& write) {
    JsonWriter json;
    write_draft_action(json, write);
    return json.take();
}

Result<WriteItem> parse_draft_action(std::string_view text) {
    boost::json::parse_options options;
    options.max_depth = max_draft_levels;
    boost::json::error_code error;
    const auto json = boost::json::parse(text, error, {}, options);
    if (error)
        return Error(ErrorCode::malformed, "an action must be valid JSON: " + error.message());
    return read_draft_action(json);
}

}  // namespace rocklock
