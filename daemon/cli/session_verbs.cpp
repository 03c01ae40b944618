// session end.
#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/verbs.hpp"
#include "wire/call_json.hpp"

namespace rocklock {
namespace {

Result<std::uint32_t> uid_in(const std::string& text) {
    std::uint32_t uid = 0;
    const auto* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, uid);
    if (error == std::errc{} && rest == end) return uid;
    return Error(ErrorCode::invalid_argument,
                 "--uid is '" + text + "': give a number of the column UID of `rocklock sessions`");
}

// Returns the call that ends the named session, or all sessions of a principal or of a user.
Result<Call> call_of(const Arguments& arguments) {
    auto reason = reason_of(arguments);
    if (!reason) return std::move(reason).error();
    const bool of_principal = arguments.has("principal");
    const auto uid = arguments.get("uid");
    if (arguments.operands.size() + (of_principal ? 1U : 0U) + (uid ? 1U : 0U) != 1) {
        return Error(ErrorCode::invalid_argument,
                     "give one session, as `rocklock sessions` lists it, or --principal NAME for "
                     "all sessions of a principal, or --uid UID for all sessions of a user");
    }
    if (of_principal) {
        return Call{EndSessions{principal_of(arguments), *std::move(reason)}, {}, {}};
    }
    if (uid) {
        const auto number = uid_in(*uid);
        if (!number) return number.error();
        return Call{EndSessions{{}, *std::move(reason), *number}, {}, {}};
    }
    const auto session = parse_session_id(arguments.operands.front());
    if (!session) {
        return Error(ErrorCode::invalid_argument,
                     "'" + arguments.operands.front() +
                         "' is not the id of a session: give an id that `rocklock sessions` lists");
    }
    return Call{EndSession{*session, *std::move(reason), {}}, {}, {}};
}

std::string counted(std::uint64_t count, std::string_view noun) {
    return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

// Returns the result as a line for people.
std::string outcome_of(const Reply& reply) {
    if (const auto* ended = std::get_if<EndedSessions>(&reply)) {
        return counted(ended->sessions, "session") + " ended";
    }
    return "session ended, with " +
           counted(std::get<ClosedSession>(reply).released.size(), "grant");
}

}  // namespace

int session_end_verb(const Arguments& arguments) {
    const auto settings = Settings::load(arguments);
    if (!settings) return fail(settings.error());
    auto call = call_of(arguments);
    if (!call) return fail(call.error());
    auto manager =
        open_manager(arguments, *settings, std::chrono::milliseconds{0}, Opening::existing);
    if (!manager) return fail(manager.error());
    const auto reply = (*manager)->call(*std::move(call), {});
    if (!reply) return fail(reply.error());
    if (arguments.has("json")) {
        print(write_reply(*reply));
    } else if (!arguments.has("quiet")) {
        print(outcome_of(*reply));
    }
    return exit_status::done;
}

}  // namespace rocklock
