// Attribute values and items in DynamoDB's JSON: {"S": "x"}, {"N": "1"}, {"B": "AQ=="}, nested.
//
// See "AttributeValue" and "Data type descriptors" in DynamoDB's documentation.
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

// Reads the values of one request and keeps the first fault of each kind. As in DynamoDB, a JSON
// value that cannot be parsed (malformed) is reported before all values that are not permitted
// (invalid_argument), wherever it is in the request; the order of the latter depends on other
// checks. Reading therefore continues after a fault. If a value has a fault, the result is NULL or
// incomplete and must not be used.
class AttributeReader {
public:
    AttributeValue value(const boost::json::value& json);

    // Reads an Item or a Key: values by name. If a name occurs several times, its last value is
    // used.
    AttributeMap map(const boost::json::value& json);

    // Reads ExpressionAttributeValues in the order of the request. Faults name the placeholder.
    std::vector<ValuePlaceholder> placeholders(const boost::json::value& json);

    // Report other faults of the request. The first fault of each kind is kept.
    void report_malformed(std::string message);
    void report_invalid(Error error);

    const std::optional<Error>& malformed() const { return malformed_; }
    const std::optional<Error>& invalid() const { return invalid_; }
    // Returns the first malformed fault or, if there is none, the first invalid value; none if
    // there is no fault. For callers that need not report faults of their own between the two
    // kinds.
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
    // If `json` is not a string, reports it as malformed and returns none.
    std::optional<std::string_view> text(const boost::json::value& json);

    void report_no_list(const boost::json::value& json);
    void report_invalid(std::string message);

    // The number of reported faults, including those that were not kept.
    std::size_t faults_ = 0;
    std::optional<Error> malformed_;
    std::optional<Error> invalid_;
};

// Returns DynamoDB's message for a value that cannot be converted to `wanted`, such as "String".
std::string cannot_be(const boost::json::value& json, std::string_view wanted);
// Returns the boolean for a word that DynamoDB accepts as one, in lower or upper case. Returns none
// for other words.
std::optional<bool> truth_of(std::string_view text);

// Read one value or one item. If it has a fault, return AttributeReader::fault().
Result<AttributeValue> read_attribute_value(const boost::json::value& json);
Result<Item> read_item(const boost::json::value& json);

void write_attribute_value(JsonWriter& json, const AttributeValue& value);
void write_item(JsonWriter& json, const Item& item);

}  // namespace rocklock
