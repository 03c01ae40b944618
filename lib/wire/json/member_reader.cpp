#include "wire/json/member_reader.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include <boost/json/array.hpp>

namespace rocklock {
namespace {

using boost::json::value;

constexpr std::size_t max_constraints = 10;
constexpr std::size_t min_name_bytes = 3;
constexpr std::size_t max_name_bytes = 255;

constexpr std::string_view no_list = "Start of structure or map found where not expected";
constexpr std::string_view no_type = "Unexpected field type";

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

bool is_name_character(char character) {
    return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_' ||
           character == '.' || character == '-';
}

const boost::json::array* array_of(const value& json, RequestFaults& faults) {
    const auto* array = json.if_array();
    if (array == nullptr) faults.malformed(std::string(json.is_object() ? no_list : no_type));
    return array;
}

std::int64_t cut_off(double number) {
    constexpr double limit = 9.2e18;
    if (std::isnan(number)) return 0;
    return static_cast<std::int64_t>(std::clamp(number, -limit, limit));
}

}  // namespace

void RequestFaults::constraint(std::string_view value, std::string_view path,
                               std::string_view rule) {
    if (++constraints_ > max_constraints) return;
    constraint_text_.append(constraint_text_.empty() ? "Value " : "; Value ")
        .append(value)
        .append(" at '")
        .append(path)
        .append("' failed to satisfy constraint: ")
        .append(rule);
}

std::optional<Error> RequestFaults::first() const {
    if (values_.malformed()) return values_.malformed();
    if (constraints_ == 0) return values_.invalid();
    const auto count = std::min(constraints_, max_constraints);
    return Error(ErrorCode::invalid_argument, std::to_string(count) + " validation error" +
                                                  (count > 1 ? "s" : "") +
                                                  " detected: " + constraint_text_);
}

std::string MemberReader::path_of(std::string_view name) const {
    std::string path = path_.empty() ? "" : path_ + ".";
    const auto begin = path.size();
    path += name;
    path[begin] = static_cast<char>(std::tolower(static_cast<unsigned char>(path[begin])));
    return path;
}

const value* MemberReader::find(std::string_view name) const {
    const auto* found = object_->if_contains(name);
    return found != nullptr && !found->is_null() ? found : nullptr;
}

const value* MemberReader::require(std::string_view name) const {
    const auto* found = find(name);
    if (found == nullptr) faults_->constraint("null", path_of(name), "Member must not be null");
    return found;
}

std::optional<std::string> read_text(const value& json, RequestFaults& faults) {
    if (const auto* text = json.if_string()) return std::string(text->data(), text->size());
    faults.malformed(cannot_be(json, "String"));
    return std::nullopt;
}

std::optional<std::string> MemberReader::text(std::string_view name) const {
    const auto* found = find(name);
    return found != nullptr ? read_text(*found, *faults_) : std::nullopt;
}

std::string MemberReader::required_text(std::string_view name) const {
    require(name);
    return text(name).value_or("");
}

std::optional<bool> MemberReader::truth(std::string_view name) const {
    const auto* found = find(name);
    if (found == nullptr) return std::nullopt;
    if (const auto* truth = found->if_bool()) return *truth;
    const auto* word = found->if_string();
    const auto truth = word != nullptr ? truth_of({word->data(), word->size()}) : std::nullopt;
    if (!truth) faults_->malformed(cannot_be(*found, "Boolean"));
    return truth;
}

std::optional<std::int64_t> MemberReader::whole(std::string_view name) const {
    const auto* found = find(name);
    if (found == nullptr) return std::nullopt;
    if (const auto* number = found->if_int64()) return *number;
    if (found->is_uint64()) return std::numeric_limits<std::int64_t>::max();
    if (const auto* number = found->if_double()) return cut_off(*number);
    faults_->malformed(cannot_be(*found, "Integer"));
    return std::nullopt;
}

std::int64_t MemberReader::required_whole(std::string_view name) const {
    require(name);
    return whole(name).value_or(0);
}

std::optional<std::vector<std::string>> MemberReader::texts(std::string_view name) const {
    const auto* found = find(name);
    const auto* array = found != nullptr ? array_of(*found, *faults_) : nullptr;
    if (array == nullptr) return std::nullopt;
    std::vector<std::string> list;
    for (const auto& element : *array) {
        list.push_back(read_text(element, *faults_).value_or(""));
    }
    return list;
}

std::optional<AttributeMap> MemberReader::attributes(std::string_view name) const {
    const auto* found = find(name);
    if (found == nullptr) return std::nullopt;
    return faults_->values().map(*found);
}

AttributeMap MemberReader::required_attributes(std::string_view name) const {
    require(name);
    return attributes(name).value_or(AttributeMap());
}

std::vector<AttributeValue> MemberReader::values(std::string_view name) const {
    const auto* found = find(name);
    const auto* array = found != nullptr ? array_of(*found, *faults_) : nullptr;
    std::vector<AttributeValue> list;
    if (array == nullptr) return list;
    for (const auto& element : *array) list.push_back(faults_->values().value(element));
    return list;
}

const boost::json::object* MemberReader::object_of(const value& json) const {
    const auto* object = json.if_object();
    if (object != nullptr) return object;
    faults_->malformed(json.is_array() ? "Unrecognized collection type class java.util.Map"
                                       : std::string(no_type));
    return nullptr;
}

const boost::json::object* MemberReader::object(std::string_view name) const {
    const auto* found = find(name);
    return found != nullptr ? object_of(*found) : nullptr;
}

std::optional<MemberReader> MemberReader::structure(std::string_view name) const {
    const auto* found = object(name);
    if (found == nullptr) return std::nullopt;
    return MemberReader(*found, path_of(name), *faults_);
}

std::optional<std::vector<MemberReader>> MemberReader::structures(std::string_view name) const {
    const auto* found = find(name);
    if (found == nullptr) return std::nullopt;
    return structures_of(*found, path_of(name));
}

std::vector<MemberReader> MemberReader::structures_of(const value& json,
                                                      const std::string& path) const {
    std::vector<MemberReader> list;
    const auto* array = array_of(json, *faults_);
    if (array == nullptr) return list;
    for (std::size_t i = 0; i < array->size(); ++i) {
        const auto* element = object_of((*array)[i]);
        if (element == nullptr) continue;
        list.emplace_back(*element, path + "." + std::to_string(i + 1) + ".member", *faults_);
    }
    return list;
}

std::optional<std::vector<std::pair<std::string, MemberReader>>> MemberReader::structures_by_name(
    std::string_view name) const {
    const auto* members = object(name);
    if (members == nullptr) return std::nullopt;
    std::vector<std::pair<std::string, MemberReader>> list;
    for (const auto& member : *members) {
        const auto* found = object_of(member.value());
        if (found == nullptr) continue;
        const std::string key(member.key());
        list.emplace_back(key,
                          MemberReader(*found, path_of(name) + "." + key + ".member", *faults_));
    }
    return list;
}

void check_table_name(std::string_view name, std::string_view path, RequestFaults& faults) {
    if (!name.starts_with("arn:")) check_resource_name(name, path, faults);
}

std::string required_table(const MemberReader& json) {
    constexpr std::string_view member = "TableName";
    json.require(member);
    auto name = json.text(member);
    if (!name) return {};
    check_table_name(*name, json.path_of(member), json.faults());
    return *std::move(name);
}

void check_resource_name(std::string_view name, std::string_view path, RequestFaults& faults) {
    if (!std::all_of(name.begin(), name.end(), is_name_character)) {
        faults.constraint(quoted(name), path,
                          "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+");
    }
    if (name.size() < min_name_bytes) {
        faults.constraint(quoted(name), path, "Member must have length greater than or equal to 3");
    }
    if (name.size() > max_name_bytes) {
        faults.constraint(quoted(name), path, "Member must have length less than or equal to 255");
    }
}

void check_whole(const std::optional<std::int64_t>& value, std::string_view path,
                 std::pair<std::int64_t, std::int64_t> range, RequestFaults& faults) {
    if (!value) return;
    const auto shown = quoted(std::to_string(*value));
    if (*value < range.first) {
        faults.constraint(
            shown, path,
            "Member must have value greater than or equal to " + std::to_string(range.first));
    }
    if (*value > range.second) {
        faults.constraint(
            shown, path,
            "Member must have value less than or equal to " + std::to_string(range.second));
    }
}

}  // namespace rocklock
