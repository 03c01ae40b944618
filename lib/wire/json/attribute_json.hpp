// Attribute values and items in DynamoDB's JSON, for example {"S": "x"}, {"N": "1"} and {"B":
// "AQ=="}. Values can be nested.
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

#include "wire/json/json_writer.hpp"

namespace rocklock {

// Reads the values of one request. There are two kinds of faults: a JSON value that cannot be
// parsed (malformed), and a value that is not permitted (invalid_argument). DynamoDB reports a
// malformed value first, even if an invalid value precedes it in the request. Therefore, the reader
// continues after a fault and keeps the first fault of each kind. If a value has a fault, the
// returned value is NULL or incomplete and must not be used.
class AttributeReader {
public:
    AttributeValue value(const boost::json::value& json);

    // Reads an Item or a Key, which map names to values. If a name occurs several times, its last
    // value is used.
    AttributeMap map(const boost::json::value& json);

    // Reads ExpressionAttributeValues in the order of the request. Faults name the placeholder.
    std::vector<ValuePlaceholder> placeholders(const boost::json::value& json);

    // Report faults of other parts of the request. The first fault of each kind is kept.
    void report_malformed(std::string message);
    void report_invalid(Error error);

    const std::optional<Error>& malformed() const { return malformed_; }
    const std::optional<Error>& invalid() const { return invalid_; }
    // Returns the first fault of the kind malformed. If there is none, returns the first invalid
    // value, or nullopt if there is no fault. Some callers make further checks, whose errors
    // DynamoDB reports after malformed values and before invalid values. Such a caller must use
    // malformed() and invalid() instead.
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
    // If `json` is not a string, reports it as malformed and returns nullopt.
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
// Returns the boolean for a word that DynamoDB accepts instead of a JSON boolean. These words are
// true, yes, 1, false, no and 0, in lower or upper case. Returns nullopt for other words.
std::optional<bool> truth_of(std::string_view text);

// Read one value or one item. If the value or item has a fault, return AttributeReader::fault().
Result<AttributeValue> read_attribute_value(const boost::json::value& json);
Result<Item> read_item(const boost::json::value& json);
// As the two functions above, for JSON as text. Errors: also malformed if the text is not JSON.
Result<AttributeValue> parse_attribute_value(std::string_view text);
Result<Item> parse_item(std::string_view text);

void write_attribute_value(JsonWriter& json, const AttributeValue& value);
void write_item(JsonWriter& json, const Item& item);

}  // namespace rocklock
