// The write of a draft as JSON, in the form of an action of TransactWriteItems, such as {"Put":
// {"TableName": ...}}.
//
// If the write was requested with legacy parameters instead of expressions, the action contains the
// legacy parameters in the form in which PutItem, UpdateItem and DeleteItem contain them.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include <rocklock/items/item_requests.hpp>
#include <rocklock/result.hpp>

#include "wire/json/json_writer.hpp"

namespace rocklock {

void write_draft_action(JsonWriter& json, const WriteItem& write);
// Reads an action. Errors: invalid_argument, malformed.
Result<WriteItem> read_draft_action(const boost::json::value& json);

// As the two functions above, with the JSON as text.
std::string draft_action_text(const WriteItem& write);
Result<WriteItem> parse_draft_action(std::string_view text);

}  // namespace rocklock
