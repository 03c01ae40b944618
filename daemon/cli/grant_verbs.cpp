// acquire, renew, release, convert, answer, steal and break.
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include <rocklock/clock.hpp>

#include "base/base64url.hpp"
#include "base/duration_text.hpp"
#include "base/random.hpp"
#include "base/time_format.hpp"
#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/verbs.hpp"
#include "wire/call_json.hpp"
#include "wire/lock_words.hpp"

namespace rocklock {
namespace {

Result<GrantId> grant_of(const Arguments& arguments) {
    const auto& text = arguments.operands.front();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
        return Error(
            ErrorCode::invalid_argument,
            "'" + text +
                "' is not the number of a grant: give a number that `acquire` or `ls` shows");
    }
    return GrantId{value};
}

std::string held_for(std::chrono::milliseconds remaining, WallTime deadline) {
    return format_duration(remaining) + " left, until " + format_time(deadline);
}

// The data that every verb on one grant needs.
struct GrantCall {
    std::unique_ptr<LockConnection> manager;
    Settings settings;
    SessionCredentials credentials;
    GrantId grant{};
};

Result<GrantCall> begin(const Arguments& arguments) {
    GrantCall call;
    auto settings = Settings::load(arguments);
    if (!settings) return std::move(settings).error();
    call.settings = *std::move(settings);
    const auto grant = grant_of(arguments);
    if (!grant) return grant.error();
    call.grant = *grant;
    const auto proof = session_of_environment();
    if (!proof) return proof.error();
    call.credentials = *proof;
    auto manager =
        open_manager(arguments, call.settings, std::chrono::milliseconds{0}, Opening::existing);
    if (!manager) return std::move(manager).error();
    call.manager = *std::move(manager);
    return call;
}

void print_shell(const Grant& grant, const Arguments& arguments) {
    print("export ROCKLOCK_GRANT=" + std::to_string(number(grant.id)));
    print("export ROCKLOCK_TOKEN=" + std::to_string(number(grant.token)));
    if (grant.own_session) {
        print("export ROCKLOCK_SESSION=" + to_string(grant.own_session->id) + ":" +
              to_string(grant.own_session->secret));
    }
    if (arguments.has("quiet")) return;
    for (const auto& lock : grant.locks) {
        complain(printable(lock.resource) + (lock.permits > 0 ? ": yours, " : ": yours to ") +
                 describe_mode(lock.mode, lock.permits) + ", " +
                 held_for(grant.remaining, grant.deadline_wall));
    }
}

// Reports a failed steal or break. These verbs present no secret, so not_owner means that the grant
// is unknown.
int fail_to_take(const Error& error, GrantId grant) {
    if (error.code != ErrorCode::not_owner) return fail(error);
    complain("grant " + std::to_string(number(grant)) +
             " is unknown: it never existed, or it ended long ago; `rocklock ls` lists the grants "
             "that are held");
    return exit_status::lost;
}

// Returns the session to open for a steal, or nullopt if ROCKLOCK_SESSION names one.
Result<std::optional<OpenSession>> session_for_theft(const Arguments& arguments,
                                                     const Settings& settings) {
    const char* given = std::getenv("ROCKLOCK_SESSION");
    if (given != nullptr && *given != '\0') {
        if (!arguments.has("principal") && !arguments.has("lease")) {
            return std::optional<OpenSession>{};
        }
        return Error(ErrorCode::invalid_argument,
                     "--principal and --lease are for a new session: unset ROCKLOCK_SESSION, or "
                     "leave them out");
    }
    const auto lease = settings.duration("lease", "30s");
    if (!lease) return lease.error();
    OpenSession opens;
    opens.principal = principal_of(arguments);
    opens.lease = *lease;
    return std::optional(std::move(opens));
}

// Releases the grant if it could not be printed, because no other process could release it.
int keep_if_requested(LockConnection& manager, const Grant& grant) {
    if (output_written()) return exit_status::done;
    const auto released = manager.ask<Released>(
        Call{Release{grant.session, grant.id}, grant.own_session->secret, {}});
    complain(released ? "the lock was released, because its grant could not be printed"
                      : "the lock could not be released and ends with its lease");
    return exit_status::internal;
}

// Reports an error of a verb on a grant. If the session has ended, it usually ended together with
// its only grant; then the end of the grant is reported instead.
int fail_on(GrantCall& call, Error error, const Arguments* arguments = nullptr) {
    if (error.code == ErrorCode::session_not_found || error.code == ErrorCode::session_expired) {
        // If another user ended the grant, the error already has the details, which the daemon
        // reports only once. Otherwise query them.
        const bool forced = error.ended && !error.ended->by.empty();
        auto ending =
            forced ? error.ended : find_ending(*call.manager, call.credentials, call.grant);
        if (ending) {
            error = Error(ErrorCode::grant_ended, "the grant has ended");
            error.ended = std::move(ending);
        }
    }
    return fail(error, arguments);
}

// Returns an error if the session does not hold the grant; with its ending, if that is known.
Result<void> check_held(GrantCall& call, const SessionInfo& renewed) {
    for (const auto& lost : renewed.lost) {
        if (lost.grant != call.grant) continue;
        Error error(ErrorCode::grant_ended, "the grant has ended");
        error.ended = lost.ending;
        return error;
    }
    ListLocks list;
    list.session = call.credentials.id;
    while (true) {
        auto page = call.manager->ask<LockPage>(Call{list, {}, {}});
        if (!page) return std::move(page).error();
        for (const auto& holder : page->locks) {
            if (holder.grant == call.grant) return {};
        }
        if (page->next.empty()) break;
        list.next = page->next;
    }
    return Error(ErrorCode::grant_ended, "the session does not hold grant " +
                                             std::to_string(number(call.grant)) +
                                             ": it has ended, or another session holds it");
}

}  // namespace

int acquire_verb(const Arguments& arguments) {
    const auto settings = Settings::load(arguments);
    if (!settings) return fail(settings.error());
    auto locks = locks_of(arguments);
    if (!locks) return fail(locks.error());
    const auto patience = settings->patience("0");
    if (!patience) return fail(patience.error());
    const auto lease = settings->optional_duration("lease");
    if (!lease) return fail(lease.error());
    auto manager = open_manager(arguments, *settings, *patience);
    if (!manager) return fail(manager.error());

    Acquire acquire;
    acquire.opens.emplace();
    acquire.opens->principal = principal_of(arguments);
    acquire.opens->lease = *lease;
    acquire.locks = *std::move(locks);
    acquire.patience = *patience;
    acquire.note = arguments.get("note").value_or("");
    acquire.request_id = base64url_encode(random_bytes<16>());
    const auto grant = (*manager)->ask<Grant>(Call{std::move(acquire), {}, {}});
    if (!grant) return fail(grant.error(), &arguments);
    if (arguments.has("json")) {
        print(write_reply(*grant));
    } else {
        print_shell(*grant, arguments);
    }
    return keep_if_requested(**manager, *grant);
}

int renew_verb(const Arguments& arguments) {
    auto call = begin(arguments);
    if (!call) return fail(call.error());
    RenewSession renew;
    renew.session = call->credentials.id;
    renew.active = arguments.has("active");
    if (arguments.has("lease")) {
        const auto lease = call->settings.duration("lease", "30s");
        if (!lease) return fail(lease.error());
        renew.lease = *lease;
    }
    const auto renewed =
        call->manager->ask<SessionInfo>(Call{std::move(renew), call->credentials.secret, {}});
    if (!renewed) return fail_on(*call, renewed.error());
    if (const auto held = check_held(*call, *renewed); !held) return fail(held.error());
    if (arguments.has("json")) {
        print(write_reply(*renewed));
    } else if (!arguments.has("quiet")) {
        for (const auto& wanted : renewed->wanted) {
            if (wanted.answer_by) complain(describe_ask(wanted, system_clock().now().wall));
        }
        print("renewed: " + held_for(renewed->remaining, renewed->deadline_wall));
    }
    return exit_status::done;
}

int release_verb(const Arguments& arguments) {
    auto call = begin(arguments);
    if (!call) return fail(call.error());
    const auto released = call->manager->ask<Released>(
        Call{Release{call->credentials.id, call->grant}, call->credentials.secret, {}});
    if (!released) return fail(released.error());
    if (arguments.has("json")) print(write_reply(*released));
    if (released->outcome != Outcome::released && released->outcome != Outcome::held) {
        complain("the grant was not released, because it had already ended: " +
                 explain_ending(ending_in(*released)));
        return exit_status::lost;
    }
    if (!arguments.has("json") && !arguments.has("quiet")) {
        print(released->outcome == Outcome::held
                  ? "still held; releases needed to end the grant: " +
                        std::to_string(released->count + 1)
                  : "released");
    }
    return exit_status::done;
}

int convert_verb(const Arguments& arguments) {
    auto call = begin(arguments);
    if (!call) return fail(call.error());
    const auto patience = call->settings.patience("0");
    if (!patience) return fail(patience.error());
    Convert convert;
    convert.session = call->credentials.id;
    convert.grant = call->grant;
    convert.patience = *patience;
    convert.request_id = base64url_encode(random_bytes<16>());
    const auto mode = arguments.get("mode");
    if (mode) convert.mode = parse_mode(*mode);
    if (!convert.mode) {
        return fail({ErrorCode::invalid_argument,
                     "give the new mode: --mode read, --mode write or --mode exclusive"});
    }
    const auto grant =
        call->manager->ask<Grant>(Call{std::move(convert), call->credentials.secret, {}});
    if (!grant) return fail_on(*call, grant.error(), &arguments);
    if (arguments.has("json")) {
        print(write_reply(*grant));
    } else {
        print_shell(*grant, arguments);
    }
    return exit_status::done;
}

int answer_verb(const Arguments& arguments) {
    const bool allow = arguments.has("allow");
    if (allow == arguments.has("refuse")) {
        return fail({ErrorCode::invalid_argument, "give exactly one of --allow and --refuse"});
    }
    auto call = begin(arguments);
    if (!call) return fail(call.error());
    const auto answered = call->manager->ask<Released>(
        Call{AnswerWanted{call->credentials.id, call->grant, allow}, call->credentials.secret, {}});
    if (!answered) return fail_on(*call, answered.error());
    if (arguments.has("json")) {
        print(write_reply(*answered));
    } else if (!arguments.has("quiet")) {
        print(answered->outcome == Outcome::released ? "released" : allow ? "allowed" : "refused");
    }
    return exit_status::done;
}

int steal_verb(const Arguments& arguments) {
    const auto settings = Settings::load(arguments);
    if (!settings) return fail(settings.error());
    const auto grant = grant_of(arguments);
    if (!grant) return fail(grant.error());
    const auto reason = reason_of(arguments);
    if (!reason) return fail(reason.error());
    const auto opens = session_for_theft(arguments, *settings);
    if (!opens) return fail(opens.error());
    auto manager =
        open_manager(arguments, *settings, std::chrono::milliseconds{0}, Opening::existing);
    if (!manager) return fail(manager.error());

    SessionCredentials thief;
    std::optional<SessionInfo> opened;
    if (*opens) {
        const auto session = (*manager)->ask<SessionInfo>(Call{**opens, {}, {}});
        if (!session) return fail(session.error());
        opened = *session;
        thief = {opened->id, opened->secret};
    } else {
        const auto proof = session_of_environment();
        if (!proof) return fail(proof.error());
        thief = *proof;
    }
    Steal steal{thief.id, *grant, *reason};
    steal.force = arguments.has("force");
    auto taken = (*manager)->ask<Grant>(Call{std::move(steal), thief.secret, {}});
    if (!taken) {
        if (opened) [[maybe_unused]]
            const auto closed =
                (*manager)->ask<ClosedSession>(Call{CloseSession{thief.id}, thief.secret, {}});
        return opened ? fail_to_take(taken.error(), *grant) : fail(taken.error());
    }
    if (opened) taken->own_session = *opened;
    if (arguments.has("json")) {
        print(write_reply(*taken));
    } else {
        print_shell(*taken, arguments);
    }
    return opened ? keep_if_requested(**manager, *taken) : exit_status::done;
}

int break_verb(const Arguments& arguments) {
    const auto settings = Settings::load(arguments);
    if (!settings) return fail(settings.error());
    const auto grant = grant_of(arguments);
    if (!grant) return fail(grant.error());
    const auto reason = reason_of(arguments);
    if (!reason) return fail(reason.error());
    auto manager =
        open_manager(arguments, *settings, std::chrono::milliseconds{0}, Opening::existing);
    if (!manager) return fail(manager.error());
    const auto broken = (*manager)->ask<Released>(Call{Break{*grant, *reason, {}}, {}, {}});
    if (!broken) return fail_to_take(broken.error(), *grant);
    if (arguments.has("json")) print(write_reply(*broken));
    if (!arguments.has("json") && !arguments.has("quiet")) print("broken");
    return exit_status::done;
}

}  // namespace rocklock
