// Reads the members of the service's requests, and keeps what is wrong with them.
//
// Faults count in this order, wherever in the request they are found: what cannot be read, what
// members must not be (all of them in one message), and values that there are not. So a fault does
// not end the reading; what is read after one means nothing.
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

#include "wire/attribute_json.hpp"

namespace rocklock {

// Of one request.
class RequestFaults {
public:
    AttributeReader& values() { return values_; }

    void malformed(std::string message) { values_.report_malformed(std::move(message)); }
    void invalid(std::string message) {
        values_.report_invalid(Error(ErrorCode::invalid_argument, std::move(message)));
    }
    // A member that is not as it must be. `value` as it is told: 'x', or null.
    void constraint(std::string_view value, std::string_view path, std::string_view rule);

    // The one that counts.
    std::optional<Error> first() const;

private:
    AttributeReader values_;
    std::size_t constraints_ = 0;
    std::string constraint_text_;
};

// The words of an enumeration, in the order in which the service names them.
template <typename Enum, std::size_t count>
using ServiceWords = std::array<std::pair<std::string_view, Enum>, count>;

template <typename Enum, std::size_t count>
std::string_view word_of(Enum value, const ServiceWords<Enum, count>& words) {
    for (const auto& [word, meant] : words) {
        if (meant == value) return word;
    }
    return {};
}

// One object of a request. Members that are null are as those that are missing.
//
// Lifetime: borrows the object and the faults.
class MemberReader {
public:
    // `path` is the way to the object as faults tell it, empty for the whole request.
    MemberReader(const boost::json::object& object, std::string path, RequestFaults& faults)
        : object_(&object), path_(std::move(path)), faults_(&faults) {}

    RequestFaults& faults() const { return *faults_; }
    // Of a member: its name begins in lower case there.
    std::string path_of(std::string_view name) const;

    const boost::json::value* find(std::string_view name) const;
    bool has(std::string_view name) const { return find(name) != nullptr; }
    // A fault if there is none.
    const boost::json::value* require(std::string_view name) const;

    std::optional<std::string> text(std::string_view name) const;
    std::string required_text(std::string_view name) const;
    std::optional<bool> truth(std::string_view name) const;
    // A fraction is cut off.
    std::optional<std::int64_t> whole(std::string_view name) const;
    std::int64_t required_whole(std::string_view name) const;
    std::optional<std::vector<std::string>> texts(std::string_view name) const;

    std::optional<AttributeMap> attributes(std::string_view name) const;
    AttributeMap required_attributes(std::string_view name) const;
    std::vector<AttributeValue> values(std::string_view name) const;

    std::optional<MemberReader> structure(std::string_view name) const;
    // A list of structures.
    std::optional<std::vector<MemberReader>> structures(std::string_view name) const;
    // The same of a value that lies in a map.
    std::vector<MemberReader> structures_of(const boost::json::value& json,
                                            const std::string& path) const;
    // Structures by name, in the request's order.
    std::optional<std::vector<std::pair<std::string, MemberReader>>> structures_by_name(
        std::string_view name) const;
    // Its members as they are, for maps; nothing where it is no object.
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

// Nothing, and a fault, where it is none.
std::optional<std::string> read_text(const boost::json::value& json, RequestFaults& faults);

// The member TableName. An ARN does as well, and is for the tables to judge.
std::string required_table(const MemberReader& json);
void check_table_name(std::string_view name, std::string_view path, RequestFaults& faults);
// The faults of the name of a table or an index.
void check_resource_name(std::string_view name, std::string_view path, RequestFaults& faults);
// The fault of a number that must lie in first..last.
void check_whole(const std::optional<std::int64_t>& value, std::string_view path,
                 std::pair<std::int64_t, std::int64_t> range, RequestFaults& faults);

}  // namespace rocklock
