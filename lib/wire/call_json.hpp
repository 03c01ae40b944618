// Calls, replies and errors as JSON.
#pragma once

#include <string>
#include <string_view>

#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>

#include "wire/call.hpp"
#include "wire/json_writer.hpp"

namespace rocklock {

// Fills an empty call of a verb (call_named()) from the body of a request. Unknown members, wrong
// types and unknown words are errors; the message contains the allowed members, types or words.
//
// Errors: invalid_argument.
Result<Call> read_call(Call empty, std::string_view json);
std::string write_call(const Call& call);

// Reads the reply to `asked`. Ignores unknown members, because the daemon may be newer than the
// client.
//
// Errors: io_error if `json` is not such a reply.
Result<Reply> read_reply(const CallBody& asked, std::string_view json);
std::string write_reply(const Reply& reply);

// Returns the error as JSON, with its name, its message and its facts.
std::string write_error(const Error& error);
// Writes the members of a grant into the current object.
void write_members(JsonWriter& json, const Grant& grant);
// Writes only the facts of the error, as members of the current object.
void write_facts(JsonWriter& json, const Error& error);
// Reads an error. Never fails: if `json` cannot be parsed, returns an io_error that contains it.
Error read_error(std::string_view json);

// Return one value of a reply, for lists with one JSON object on each line.
std::string write_value(const Holder& holder);
std::string write_value(const SessionView& session);
std::string write_value(const LockClass& lock_class);
std::string write_value(const LockEvent& event);
std::string write_value(const HistoryRow& row);
std::string write_value(const Draft& draft);

}  // namespace rocklock
