// Calls, replies and errors as JSON.
#pragma once

#include <string>
#include <string_view>

#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>

#include "wire/call.hpp"
#include "wire/json_writer.hpp"

namespace rocklock {

// Fills an empty call of its verb (call_named) from the body of a request. Strict: an unknown
// member, a wrong type or a word that does not exist is an error whose message says what is
// allowed.
//
// Errors: invalid_argument.
Result<Call> read_call(Call empty, std::string_view json);
std::string write_call(const Call& call);

// Reads the reply to `asked`. Members it does not know are left alone: the daemon may be newer.
//
// Errors: io_error, for what is no such reply.
Result<Reply> read_reply(const CallBody& asked, std::string_view json);
std::string write_reply(const Reply& reply);

// An error with its name and its facts.
std::string write_error(const Error& error);
// A grant's members, into the object that is being written.
void write_members(JsonWriter& json, const Grant& grant);
// The facts alone, as members of the object that is being written.
void write_facts(JsonWriter& json, const Error& error);
// Never fails: what cannot be read becomes an io_error that shows it.
Error read_error(std::string_view json);

// One of the values in replies, alone: for lists of one object a line.
std::string write_value(const Holder& holder);
std::string write_value(const SessionView& session);
std::string write_value(const LockClass& lock_class);
std::string write_value(const LockEvent& event);
std::string write_value(const HistoryRow& row);
std::string write_value(const Draft& draft);

}  // namespace rocklock
