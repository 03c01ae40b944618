// The write of a draft as JSON: an action of TransactWriteItems, as in {"Put": {"TableName": ...}}.
//
// One that was asked for with the parameters that came before expressions has these, as UpdateItem,
// PutItem and DeleteItem have them.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include <rocklock/items/item_requests.hpp>
#include <rocklock/result.hpp>

#include "wire/json_writer.hpp"

namespace rocklock {

void write_draft_action(JsonWriter& json, const WriteItem& write);
// Errors: invalid_argument, malformed
Result<WriteItem> read_draft_action(const boost::json::value& json);

// The same as a text.
std::string draft_action_text(const WriteItem& write);
Result<WriteItem> parse_draft_action(std::string_view text);

}  // namespace rocklock
