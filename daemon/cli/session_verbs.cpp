// session open, session show, session join, session close, session end and notices.
#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include <rocklock/clock.hpp>

#include "base/base64url.hpp"
#include "base/duration_text.hpp"
#include "base/random.hpp"
#include "base/time_format.hpp"
#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/verbs.hpp"
#include "wire/call_json.hpp"

namespace rocklock {
namespace {

Result<UserId> uid_in(const std::string& text) {
    std::uint32_t uid = 0;
    const auto* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, uid);
    if (error == std::errc{} && rest == end) return UserId{uid};
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

std::string held_for(const SessionInfo& session) {
    return rocklock::held_for(session.remaining, session.deadline_wall);
}

std::string text_of(const SessionDetail& detail) {
    std::string text;
    if (detail.session.remaining != no_expiry)
        text = "lease " + format_duration(detail.session.lease) + ", ";
    text += held_for(detail.session) + ", " + counted(detail.grants.size(), "grant");
    for (const auto& grant : detail.grants) {
        for (const auto& lock : grant.locks) {
            text += "\n  " + std::to_string(number(grant.id)) + "  " + printable(lock.resource) +
                    " (" + describe_mode(lock.mode, lock.permits, lock.subtree) + "), token " +
                    std::to_string(number(grant.token));
        }
    }
    return text;
}

// Returns one line for each notice, and the number that confirms them.
std::string text_of(const Notices& notices, WallTime now) {
    std::string text;
    for (const auto& wanted : notices.wanted) {
        text += wanted.answer_by
                    ? describe_ask(wanted, now)
                    : printable(wanted.by) + " waits for " + printable(wanted.resource) + " (" +
                          describe_mode(wanted.mode, 0) + "), grant " +
                          std::to_string(number(wanted.grant));
        text += "\n";
    }
    for (const auto& lost : notices.lost) {
        text += "grant " + std::to_string(number(lost.grant)) +
                " has ended: " + explain_ending(lost.ending) + "\n";
    }
    for (const auto& answer : notices.answers) {
        text += printable(answer.by) +
                (answer.allowed ? " allows to take over " : " refuses to give up ") +
                printable(answer.resource) + ", grant " + std::to_string(number(answer.grant));
        if (answer.ask_again) text += "; ask again from " + format_time(*answer.ask_again) + " on";
        text += "\n";
    }
    return text + "confirm them with --after " + std::to_string(notices.after);
}

Result<Call> opening_call(const Arguments& arguments, const Settings& settings) {
    OpenSession opens;
    opens.principal = principal_of(arguments);
    const auto lease = settings.lease();
    if (!lease) return lease.error();
    opens.lease = *lease;
    opens.note = arguments.get("note").value_or("");
    auto metadata = metadata_of(arguments);
    if (!metadata) return std::move(metadata).error();
    opens.metadata = *std::move(metadata);
    const auto process = process_of(arguments);
    if (!process) return process.error();
    if (*process) opens.bound = Bound::process;
    opens.request_id = base64url_encode(random_bytes<16>());
    return Call{std::move(opens), {}, *process};
}

}  // namespace

int session_open_verb(const Arguments& arguments) {
    const auto settings = Settings::load(arguments);
    if (!settings) return fail(settings.error());
    auto call = opening_call(arguments, *settings);
    if (!call) return fail(call.error());
    auto manager = open_manager(arguments, *settings, std::chrono::milliseconds{0});
    if (!manager) return fail(manager.error());
    const auto opened = (*manager)->ask<SessionInfo>(*std::move(call));
    if (!opened) return fail(opened.error());
    if (arguments.has("json")) {
        print(write_reply(*opened));
    } else {
        print("export ROCKLOCK_SESSION=" + to_string(opened->id) + ":" + to_string(opened->secret));
        if (!arguments.has("quiet")) complain("session opened: " + held_for(*opened));
    }
    if (output_written()) return exit_status::done;
    // No other process could use or close the session.
    [[maybe_unused]] const auto closed =
        (*manager)->ask<ClosedSession>(Call{CloseSession{opened->id}, opened->secret, {}});
    return exit_status::internal;
}

int session_show_verb(const Arguments& arguments) {
    auto call = begin_for_session(arguments);
    if (!call) return fail(call.error());
    const auto detail = call->manager->ask<SessionDetail>(
        Call{ShowSession{call->credentials.id}, call->credentials.secret, {}});
    if (!detail) return fail(detail.error());
    print(arguments.has("json") ? write_reply(*detail) : text_of(*detail));
    return exit_status::done;
}

int session_join_verb(const Arguments& arguments) {
    const auto process = process_of(arguments);
    if (!process) return fail(process.error());
    if (!*process) {
        return fail({ErrorCode::invalid_argument,
                     "give the process to add to the session: --for-process PID"});
    }
    auto call = begin_for_session(arguments);
    if (!call) return fail(call.error());
    const auto joined = call->manager->ask<SessionInfo>(
        Call{JoinProcess{call->credentials.id, {}}, call->credentials.secret, *process});
    if (!joined) return fail(joined.error());
    if (arguments.has("json")) {
        print(write_reply(*joined));
    } else if (!arguments.has("quiet")) {
        print("process " + std::to_string(**process) + " joined the session: " + held_for(*joined));
    }
    return exit_status::done;
}

int session_close_verb(const Arguments& arguments) {
    auto call = begin_for_session(arguments);
    if (!call) return fail(call.error());
    const auto closed = call->manager->ask<ClosedSession>(
        Call{CloseSession{call->credentials.id}, call->credentials.secret, {}});
    if (!closed) return fail(closed.error());
    if (arguments.has("json")) {
        print(write_reply(*closed));
    } else if (!arguments.has("quiet")) {
        print("session closed, with " + counted(closed->released.size(), "grant"));
    }
    return exit_status::done;
}

int notices_verb(const Arguments& arguments) {
    AwaitNotices await;
    if (const auto after = arguments.get("after")) {
        const auto number = number_in("after", *after);
        if (!number) return fail(number.error());
        await.after = *number;
    }
    auto call = begin_for_session(arguments);
    if (!call) return fail(call.error());
    const auto patience = call->settings.patience("0");
    if (!patience) return fail(patience.error());
    await.session = call->credentials.id;
    await.patience = *patience;
    const auto notices = call->manager->ask<Notices>(Call{await, call->credentials.secret, {}});
    if (!notices) return fail(notices.error());
    if (arguments.has("json")) {
        print(write_reply(*notices));
    } else if (!notices->empty()) {
        print(text_of(*notices, system_clock().now().wall));
    }
    return exit_status::done;
}

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
