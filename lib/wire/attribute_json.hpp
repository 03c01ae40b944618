// Attribute values and items as DynamoDB's JSON: {"S": "x"}, {"N": "1"}, {"B": "AQ=="}, nested.
//
// docs: "AttributeValue", "Data type descriptors".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <rocklock/items/attribute_value.hpp>
#include <rocklock/items/expression.hpp>
#include <rocklock/result.hpp>

#include "wire/json_writer.hpp"

namespace rocklock {

// Reads the values of one request and keeps the first fault of either kind. The service looks for
// what cannot be read (malformed) in the whole request before it looks for values that there are
// not (invalid_argument), and looks for those in its own order among other checks: so a fault does
// not end the reading. A value with a fault is NULL or a part of itself, and means nothing.
class AttributeReader {
public:
    AttributeValue value(const boost::json::value& json);

    // An Item or a Key: names with values. Of a name that comes twice the last value counts.
    AttributeMap map(const boost::json::value& json);

    // ExpressionAttributeValues, in the request's order: faults name the placeholder they are found
    // at.
    std::vector<ValuePlaceholder> placeholders(const boost::json::value& json);

    // What else is found to be wrong with the request. The first of each kind is kept.
    void report_malformed(std::string message);
    void report_invalid(Error error);

    const std::optional<Error>& malformed() const { return malformed_; }
    const std::optional<Error>& invalid() const { return invalid_; }
    // The one that counts where nothing else is to be looked at between them.
    const std::optional<Error>& fault() const { return malformed_ ? malformed_ : invalid_; }

private:
    void read(const boost::json::value& json, std::size_t level, AttributeValue& value);
    void read_typed(AttributeType type, const boost::json::value& json, std::size_t level,
                    AttributeValue& value);
    AttributeMap read_map(const boost::json::value& json, std::size_t level);
    void read_list(const boost::json::value& json, std::size_t level, AttributeList& list);
    template <typename Member>
    void read_set(const boost::json::value& json, AttributeValue& value);
    void read_member(const boost::json::value& json, std::string& member);
    void read_member(const boost::json::value& json, Number& member);
    void read_member(const boost::json::value& json, Binary& member);
    bool truth(const boost::json::value& json);
    // Nothing, and malformed, for what is no string.
    std::optional<std::string_view> text(const boost::json::value& json);

    void report_no_list(const boost::json::value& json);
    void report_invalid(std::string message);

    // How many were reported, kept or not.
    std::size_t faults_ = 0;
    std::optional<Error> malformed_;
    std::optional<Error> invalid_;
};

// What the service says of a value that it cannot take for a `wanted`, as "String".
std::string cannot_be(const boost::json::value& json, std::string_view wanted);
// The words that the service takes for true and false, in lower or upper case.
std::optional<bool> truth_of(std::string_view text);

// One value, one item; AttributeReader::fault().
Result<AttributeValue> read_attribute_value(const boost::json::value& json);
Result<Item> read_item(const boost::json::value& json);

void write_attribute_value(JsonWriter& json, const AttributeValue& value);
void write_item(JsonWriter& json, const Item& item);

}  // namespace rocklock
