// Calls, replies and errors as JSON.
#pragma once

#include <string>
#include <string_view>

#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>

#include "wire/call.hpp"
#include "wire/json/json_writer.hpp"

namespace rocklock {

// Fills an empty call of a verb (call_named()) from the body of a request.
//
// Errors: invalid_argument  the body is not a JSON object in UTF-8, or a member is missing,
//                           repeated or unknown, or has the wrong type or an unknown enumerator. If
//                           the type or the enumerator of a member is wrong, or a member is
//                           unknown, the message lists what is allowed.
Result<Call> read_call(Call empty, std::string_view json);
std::string write_call(const Call& call);

// The facts that are needed to write a reply to a client whose boot clock has no relation to that
// of the manager. Instead of DeadlineBootMs and CapBootMs, the reply contains HeldMs (the time from
// the arrival of the call to its decision) and CapMs (the time from the arrival to the latest end
// of the grant). The client adds them to the time at which it sent the call, which is not later
// than the arrival. Therefore, the client never computes a deadline that is later than the true
// one.
struct ForeignReply {
    // The name of the client's node.
    std::string node;
    // The time at which the call arrived at the manager.
    BootTime arrived{};
};

// Reads the reply to `asked`. Ignores unknown members, because the daemon may be newer than the
// client.
//
// Errors: io_error if `json` is not such a reply.
//
// If `is_foreign` is not null, it is set to true if the reply was written with a ForeignReply, and
// to false otherwise. If it is true, each BootTime in the result is a time since the arrival of the
// call at the manager.
Result<Reply> read_reply(const CallBody& asked, std::string_view json, bool* is_foreign = nullptr);
// `foreign` is not null if the client has another boot clock than the manager.
std::string write_reply(const Reply& reply, const ForeignReply* foreign = nullptr);
// As above, for the answer of the lock manager to a client with the same boot clock.
std::string write_answer(const Answer& answer);

// Returns the error as a JSON object, which contains its name, its message and its facts. The facts
// are the members that describe_facts() lists. Members that describe items are not included.
std::string write_error(const Error& error);
// Writes the members of a grant into the current object.
void write_members(JsonWriter& json, const Grant& grant);
// Writes only the facts of the error, as members of the current object.
void write_facts(JsonWriter& json, const Error& error);
// Reads an error. If `json` is not an error, returns an io_error that contains `json`. If the name
// of the error is unknown, returns an io_error that contains this name and the message.
Error read_error(std::string_view json);

// Return the value as a JSON object on one line. The command line and the event stream write one
// object per line.
std::string write_value(const Holder& holder);
std::string write_value(const SessionView& session);
std::string write_value(const LockClass& lock_class);
std::string write_value(const LockEvent& event);
std::string write_value(const HistoryRow& row);
std::string write_value(const Draft& draft);
std::string write_value(const TableBinding& binding);
std::string write_value(const AuditRow& row);
std::string write_value(const WaitEdge& edge);
std::string write_value(const Deadlock& deadlock);
std::string write_value(const ClusterNode& node);
std::string write_value(const NodeChecked& checked);

}  // namespace rocklock
