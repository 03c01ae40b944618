#include "wire/json/attribute_json.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/string.hpp>

#include "base/base64.hpp"
#include "item/item_limits.hpp"

namespace rocklock {
namespace {

std::string_view view(const boost::json::string& text) { return {text.data(), text.size()}; }
std::string_view view(boost::json::string_view text) { return {text.data(), text.size()}; }

// Writes the data of a value as the member that is named after its type.
struct Writer {
    JsonWriter& json;

    void operator()(const std::string& text) const { json.string(text); }
    void operator()(const Number& number) const { json.decimal_string(number); }
    void operator()(const Binary& binary) const { json.base64_string(binary.bytes); }
    void operator()(bool truth) const { json.boolean(truth); }
    void operator()(Null /*null*/) const { json.boolean(true); }
    void operator()(const AttributeMap& map) const { write_item(json, map); }

    void operator()(const AttributeList& list) const {
        json.begin_array();
        for (const auto& element : list) write_attribute_value(json, element);
        json.end_array();
    }

    template <typename Member>
    void operator()(const AttributeSet<Member>& set) const {
        json.begin_array();
        for (const auto& member : set) (*this)(member);
        json.end_array();
    }
};

}  // namespace

std::string cannot_be(const boost::json::value& json, std::string_view wanted) {
    std::string_view found;
    switch (json.kind()) {
        case boost::json::kind::object:
            return "Start of structure or map found where not expected";
        case boost::json::kind::array:
            return "Unrecognized collection type class java.lang." + std::string(wanted);
        case boost::json::kind::null:
            found = "NULL_VALUE";
            break;
        case boost::json::kind::bool_:
            found = json.get_bool() ? "TRUE_VALUE" : "FALSE_VALUE";
            break;
        case boost::json::kind::double_:
            found = "DECIMAL_VALUE";
            break;
        case boost::json::kind::int64:
        case boost::json::kind::uint64:
            found = "NUMBER_VALUE";
            break;
        case boost::json::kind::string:
            found = "STRING_VALUE";
            break;
    }
    return std::string(found) + " cannot be converted to " + std::string(wanted);
}

std::optional<bool> truth_of(std::string_view text) {
    static constexpr std::array<std::pair<std::string_view, bool>, 6> words = {{{"true", true},
                                                                                {"1", true},
                                                                                {"yes", true},
                                                                                {"false", false},
                                                                                {"0", false},
                                                                                {"no", false}}};
    for (const auto& [word, truth] : words) {
        const auto same = [](char letter, char wanted) {
            return std::tolower(static_cast<unsigned char>(letter)) == wanted;
        };
        if (std::equal(text.begin(), text.end(), word.begin(), word.end(), same)) return truth;
    }
    return std::nullopt;
}

AttributeValue AttributeReader::value(const boost::json::value& json) {
    AttributeValue value;
    read(json, 1, value);
    return value;
}

AttributeMap AttributeReader::map(const boost::json::value& json) { return read_map(json, 1); }

std::vector<ValuePlaceholder> AttributeReader::placeholders(const boost::json::value& json) {
    const auto* object = json.if_object();
    if (object == nullptr) {
        report_malformed("Unexpected field type");
        return {};
    }
    std::vector<ValuePlaceholder> values;
    values.reserve(object->size());
    for (const auto& member : *object) {
        const bool faulty = invalid_.has_value();
        auto& [name, value] = values.emplace_back();
        name = view(member.key());
        read(member.value(), 1, value);
        if (faulty || !invalid_) continue;
        invalid_->message =
            "ExpressionAttributeValues contains invalid value: " + invalid_->message + " for key " +
            name;
    }
    return values;
}

void AttributeReader::read(const boost::json::value& json, std::size_t level,
                           AttributeValue& value) {
    if (level == max_nesting_depth + 1) {
        report_invalid(
            "Nesting Levels have exceeded supported limits: Attributes in the item have nested "
            "levels beyond supported limit");
    }
    std::size_t types = 0;
    if (const auto* object = json.if_object()) {
        for (const auto& member : *object) {
            const auto type = parse_attribute_type(view(member.key()));
            // Ignores members whose names are not types, and members whose values are null.
            if (!type || member.value().is_null()) continue;
            ++types;
            read_typed(*type, member.value(), level, value);
        }
    } else if (!json.is_null()) {
        return report_malformed("Unexpected value type in payload");
    }
    if (types == 0) {
        report_invalid(
            "Supplied AttributeValue is empty, must contain exactly one of the supported "
            "datatypes");
    } else if (types > 1) {
        report_invalid(
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of "
            "the supported datatypes");
    }
}

void AttributeReader::read_typed(AttributeType type, const boost::json::value& json,
                                 std::size_t level, AttributeValue& value) {
    switch (type) {
        case AttributeType::string:
            return read_member(json, value.emplace<std::string>());
        case AttributeType::number:
            return read_member(json, value.emplace<Number>());
        case AttributeType::binary:
            return read_member(json, value.emplace<Binary>());
        case AttributeType::boolean:
            value.emplace<bool>(truth(json));
            return;
        case AttributeType::null:
            if (truth(json)) return;
            return report_invalid(
                "One or more parameter values were invalid: Null attribute value types must have "
                "the value of true");
        case AttributeType::list:
            return read_list(json, level + 1, value.emplace<AttributeList>());
        case AttributeType::map:
            value = read_map(json, level + 1);
            return;
        case AttributeType::string_set:
            return read_set<std::string>(json, value);
        case AttributeType::number_set:
            return read_set<Number>(json, value);
        case AttributeType::binary_set:
            return read_set<Binary>(json, value);
    }
}

AttributeMap AttributeReader::read_map(const boost::json::value& json, std::size_t level) {
    const auto* object = json.if_object();
    if (object == nullptr) {
        report_malformed(json.is_array() ? "Unrecognized collection type java.util.Map"
                                         : "Unexpected field type");
        return {};
    }
    // Sorts pointers, because attributes are larger and more expensive to move.
    std::vector<const boost::json::key_value_pair*> members;
    members.reserve(object->size());
    for (const auto& member : *object) members.push_back(&member);
    std::sort(members.begin(), members.end(), [](const auto* left, const auto* right) {
        return view(left->key()) < view(right->key());
    });
    std::vector<Attribute> attributes(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
        attributes[i].name = view(members[i]->key());
        read(members[i]->value(), level, attributes[i].value);
    }
    return AttributeMap(std::move(attributes));
}

void AttributeReader::read_list(const boost::json::value& json, std::size_t level,
                                AttributeList& list) {
    const auto* array = json.if_array();
    if (array == nullptr) return report_no_list(json);
    list.resize(array->size());
    for (std::size_t i = 0; i < list.size(); ++i) read((*array)[i], level, list[i]);
}

template <typename Member>
void AttributeReader::read_set(const boost::json::value& json, AttributeValue& value) {
    const auto* array = json.if_array();
    if (array == nullptr) return report_no_list(json);
    const auto faults = faults_;
    std::vector<Member> members(array->size());
    for (std::size_t i = 0; i < members.size(); ++i) read_member((*array)[i], members[i]);
    // Members with a fault keep their default value and could be reported as duplicates.
    if (faults != faults_) return;
    auto made = AttributeSet<Member>::make(std::move(members));
    if (!made) return report_invalid(std::move(made).error());
    value = *std::move(made);
}

void AttributeReader::read_member(const boost::json::value& json, std::string& member) {
    if (const auto found = text(json)) member.assign(*found);
}

void AttributeReader::read_member(const boost::json::value& json, Number& member) {
    const auto found = text(json);
    if (!found) return;
    auto number = Number::parse(*found);
    if (number) {
        member = *number;
    } else {
        report_invalid(std::move(number).error());
    }
}

void AttributeReader::read_member(const boost::json::value& json, Binary& member) {
    const auto* found = json.if_string();
    if (found == nullptr) {
        return report_malformed("only base-64-encoded strings are convertible to bytes");
    }
    auto bytes = base64_decode(view(*found));
    if (!bytes) {
        return report_malformed("'" + std::string(view(*found)) +
                                "' can not be converted to a Blob: it is not base64 with padding");
    }
    member.bytes = *std::move(bytes);
}

bool AttributeReader::truth(const boost::json::value& json) {
    if (const auto* truth = json.if_bool()) return *truth;
    const auto* word = json.if_string();
    const auto truth = word == nullptr ? std::nullopt : truth_of(view(*word));
    if (!truth) report_malformed(cannot_be(json, "Boolean"));
    return truth.value_or(false);
}

std::optional<std::string_view> AttributeReader::text(const boost::json::value& json) {
    if (const auto* text = json.if_string()) return view(*text);
    report_malformed(cannot_be(json, "String"));
    return std::nullopt;
}

void AttributeReader::report_no_list(const boost::json::value& json) {
    report_malformed(json.is_object() ? "Start of structure or map found where not expected"
                                      : "Unexpected field type");
}

void AttributeReader::report_malformed(std::string message) {
    ++faults_;
    if (!malformed_) malformed_.emplace(ErrorCode::malformed, std::move(message));
}

void AttributeReader::report_invalid(Error error) {
    ++faults_;
    if (!invalid_) invalid_ = std::move(error);
}

void AttributeReader::report_invalid(std::string message) {
    report_invalid(Error(ErrorCode::invalid_argument, std::move(message)));
}

Result<AttributeValue> read_attribute_value(const boost::json::value& json) {
    AttributeReader reader;
    auto value = reader.value(json);
    if (reader.fault()) return *reader.fault();
    return value;
}

Result<Item> read_item(const boost::json::value& json) {
    AttributeReader reader;
    auto item = reader.map(json);
    if (reader.fault()) return *reader.fault();
    return item;
}

namespace {

// Deeper than any valid value, so that values with too many levels are reported as such.
constexpr std::size_t max_value_levels = 256;

Result<boost::json::value> parse_json(std::string_view text) {
    boost::json::parse_options options;
    options.max_depth = max_value_levels;
    boost::json::error_code error;
    auto json = boost::json::parse(text, error, {}, options);
    if (error) return Error(ErrorCode::malformed, "this is not JSON: " + error.message());
    return json;
}

}  // namespace

Result<AttributeValue> parse_attribute_value(std::string_view text) {
    const auto json = parse_json(text);
    if (!json) return Error(json.error());
    return read_attribute_value(*json);
}

Result<Item> parse_item(std::string_view text) {
    const auto json = parse_json(text);
    if (!json) return Error(json.error());
    return read_item(*json);
}

void write_attribute_value(JsonWriter& json, const AttributeValue& value) {
    json.begin_object();
    json.key(to_string(value.type()));
    std::visit(Writer{json}, value.data());
    json.end_object();
}

void write_item(JsonWriter& json, const Item& item) {
    json.begin_object();
    for (const auto& [name, value] : item) {
        json.foreign_key(name);
        write_attribute_value(json, value);
    }
    json.end_object();
}

}  // namespace rocklock
