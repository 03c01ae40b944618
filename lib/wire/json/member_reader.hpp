// Reads the members of DynamoDB requests and records their faults.
//
// Faults are reported in the following order, wherever they are in the request: JSON that cannot be
// parsed; members that violate a constraint, all of them in one message; values that are not
// permitted. Therefore, reading continues after a fault, but values that are read after a fault
// must not be used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <rocklock/error.hpp>
#include <rocklock/items/attribute_value.hpp>

#include "wire/json/attribute_json.hpp"

namespace rocklock {

// The faults of one request.
class RequestFaults {
public:
    AttributeReader& values() { return values_; }

    void malformed(std::string message) { values_.report_malformed(std::move(message)); }
    void invalid(std::string message) {
        values_.report_invalid(Error(ErrorCode::invalid_argument, std::move(message)));
    }
    // Reports that a member violates `rule`. `value` is the value in the form that messages show,
    // such as 'x' or null.
    void constraint(std::string_view value, std::string_view path, std::string_view rule);

    // Returns the fault that is reported to the client, or nullopt if there is no fault.
    std::optional<Error> first() const;

private:
    AttributeReader values_;
    std::size_t constraints_ = 0;
    std::string constraint_text_;
};

// The words of an enumeration, in the order of DynamoDB's messages.
template <typename Enum, std::size_t count>
using ServiceWords = std::array<std::pair<std::string_view, Enum>, count>;

template <typename Enum, std::size_t count>
std::string_view word_of(Enum value, const ServiceWords<Enum, count>& words) {
    for (const auto& [word, meant] : words) {
        if (meant == value) return word;
    }
    return {};
}

// Reads one object of a request. A member that is null is treated as absent. If a member is absent
// or has a fault, the functions return nullopt or a default. If it has a fault, they also report
// the fault.
//
// Lifetime: borrows the object and the faults.
class MemberReader {
public:
    // `path` is the path of the object in fault messages. It is empty for the whole request.
    MemberReader(const boost::json::object& object, std::string path, RequestFaults& faults)
        : object_(&object), path_(std::move(path)), faults_(&faults) {}

    RequestFaults& faults() const { return *faults_; }
    // Returns the path of a member for fault messages, in which the name of the member begins with
    // a lower-case letter.
    std::string path_of(std::string_view name) const;

    const boost::json::value* find(std::string_view name) const;
    bool has(std::string_view name) const { return find(name) != nullptr; }
    // Returns the member. If it is absent, reports a fault and returns null.
    const boost::json::value* require(std::string_view name) const;

    std::optional<std::string> text(std::string_view name) const;
    std::string required_text(std::string_view name) const;
    std::optional<bool> truth(std::string_view name) const;
    // Returns the number without its fraction.
    std::optional<std::int64_t> whole(std::string_view name) const;
    std::int64_t required_whole(std::string_view name) const;
    std::optional<std::vector<std::string>> texts(std::string_view name) const;

    std::optional<AttributeMap> attributes(std::string_view name) const;
    AttributeMap required_attributes(std::string_view name) const;
    std::vector<AttributeValue> values(std::string_view name) const;

    std::optional<MemberReader> structure(std::string_view name) const;
    // A list of objects.
    std::optional<std::vector<MemberReader>> structures(std::string_view name) const;
    // As structures(), but reads the list `json`, which is not a member of this object. Used for a
    // list in a map of lists, such as RequestItems. `path` is the path of the list in fault
    // messages.
    std::vector<MemberReader> structures_of(const boost::json::value& json,
                                            const std::string& path) const;
    // A map of names to objects, in the order of the request.
    std::optional<std::vector<std::pair<std::string, MemberReader>>> structures_by_name(
        std::string_view name) const;
    // For maps: returns the object without a reader. Returns null if the member is absent or not an
    // object.
    const boost::json::object* object(std::string_view name) const;

    template <typename Enum, std::size_t count>
    std::optional<Enum> word(std::string_view name, const ServiceWords<Enum, count>& words) const {
        const auto given = text(name);
        if (!given) return std::nullopt;
        std::string list;
        for (const auto& [word, value] : words) {
            if (word == *given) return value;
            list.append(list.empty() ? "" : ", ").append(word);
        }
        faults_->constraint("'" + *given + "'", path_of(name),
                            "Member must satisfy enum value set: [" + list + "]");
        return std::nullopt;
    }
    template <typename Enum, std::size_t count>
    Enum required_word(std::string_view name, const ServiceWords<Enum, count>& words) const {
        require(name);
        return word(name, words).value_or(words.front().second);
    }

private:
    const boost::json::object* object_of(const boost::json::value& json) const;

    const boost::json::object* object_;
    std::string path_;
    RequestFaults* faults_;
};

// If `json` is not a string, reports a fault and returns nullopt.
std::optional<std::string> read_text(const boost::json::value& json, RequestFaults& faults);

// Reads the member TableName, which is a name or an ARN. TableService checks whether an ARN is
// valid.
std::string required_table(const MemberReader& json);
void check_table_name(std::string_view name, std::string_view path, RequestFaults& faults);
// Reports the faults of the name of a table or an index.
void check_resource_name(std::string_view name, std::string_view path, RequestFaults& faults);
// Reports a fault if the number is outside the range.
void check_whole(const std::optional<std::int64_t>& value, std::string_view path,
                 std::pair<std::int64_t, std::int64_t> range, RequestFaults& faults);

}  // namespace rocklock
