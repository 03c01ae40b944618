// acquire, renew, release, convert, answer, transfer, reacquire, steal and break.
#include <algorithm>
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

// The data that every verb on one grant needs.
struct GrantCall : SessionCall {
    // 0 if the verb was called without a grant.
    GrantId grant{};
};

Result<GrantCall> begin(const Arguments& arguments) {
    auto settings = Settings::load(arguments);
    if (!settings) return std::move(settings).error();
    GrantId grant{};
    if (!arguments.operands.empty()) {
        const auto named = grant_of(arguments);
        if (!named) return named.error();
        grant = *named;
    }
    auto call = begin_for_session(arguments, *std::move(settings));
    if (!call) return std::move(call).error();
    return GrantCall{*std::move(call), grant};
}

// Returns " to write", " exclusively" or ", 2 permits".
std::string yours_in(const GrantedLock& lock) {
    if (lock.permits > 0) return ", " + describe_mode(lock.mode, lock.permits);
    if (lock.mode == Mode::exclusive) return " exclusively";
    return " to " + describe_mode(lock.mode, lock.permits);
}

void print_shell(const Grant& grant, const Arguments& arguments) {
    print("export ROCKLOCK_GRANT=" + std::to_string(number(grant.id)));
    print("export ROCKLOCK_TOKEN=" + std::to_string(number(grant.token)));
    if (grant.own_session) {
        print("export ROCKLOCK_SESSION=" + to_string(grant.own_session->id) + ":" +
              to_string(grant.own_session->secret));
    }
    if (arguments.has("any"))
        print("export ROCKLOCK_RESOURCE=" + shell_quoted(grant.locks.front().resource));
    if (arguments.has("quiet")) return;
    for (const auto& lock : grant.locks) {
        complain(printable(lock.resource) + ": yours" + yours_in(lock) + ", " +
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

// Releases the grant if it could not be printed, because no other process could release it.
int keep_if_requested(LockConnection& manager, const Grant& grant, const Secret& secret) {
    if (output_written()) return exit_status::done;
    const auto released = manager.ask<Released>(Call{Release{grant.session, grant.id}, secret, {}});
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

// The session that takes a grant over or acquires it again.
struct Taker {
    SessionCredentials credentials;
    // Set if the session was opened for this.
    std::optional<SessionInfo> opened;
};

// Opens a session, or returns that of ROCKLOCK_SESSION.
Result<Taker> taker_of(LockConnection& manager, const std::optional<OpenSession>& opens) {
    if (!opens) {
        const auto proof = session_of_environment();
        if (!proof) return proof.error();
        return Taker{*proof, {}};
    }
    auto opened = manager.ask<SessionInfo>(Call{*opens, {}, {}});
    if (!opened) return std::move(opened).error();
    return Taker{{opened->id, opened->secret}, *opened};
}

// Prints the grant that the session got. If it got none, closes the session if it was opened for
// the grant.
int finish_taking(LockConnection& manager, const Taker& taker, Result<Grant> taken,
                  const Arguments& arguments) {
    if (!taken) {
        if (taker.opened) {
            [[maybe_unused]] const auto closed = manager.ask<ClosedSession>(
                Call{CloseSession{taker.credentials.id}, taker.credentials.secret, {}});
        }
        const auto grant = grant_of(arguments);
        return taker.opened && grant ? fail_to_take(taken.error(), *grant) : fail(taken.error());
    }
    if (taker.opened) taken->own_session = *taker.opened;
    if (arguments.has("json")) {
        print(write_reply(*taken));
    } else {
        print_shell(*taken, arguments);
    }
    return taker.opened ? keep_if_requested(manager, *taken, taker.credentials.secret)
                        : exit_status::done;
}

// Takes a grant for the session in ROCKLOCK_SESSION or a new one. `body_for` returns the call for
// the session.
template <typename BodyFor>
int take(const Arguments& arguments, const Settings& settings, BodyFor body_for) {
    const auto opens = session_to_open(arguments, settings);
    if (!opens) return fail(opens.error());
    auto manager =
        open_manager(arguments, settings, std::chrono::milliseconds{0}, Opening::existing);
    if (!manager) return fail(manager.error());
    const auto taker = taker_of(**manager, *opens);
    if (!taker) return fail(taker.error());
    auto taken = (*manager)->ask<Grant>(
        Call{body_for(taker->credentials.id), taker->credentials.secret, {}});
    return finish_taking(**manager, *taker, std::move(taken), arguments);
}

// Sets the session of the request: the one in ROCKLOCK_SESSION with --in-session, otherwise a new
// one. Returns the secret of an existing session.
Result<std::optional<Secret>> set_session(const Arguments& arguments, const Settings& settings,
                                          Acquire& acquire) {
    if (arguments.has("in-session")) {
        for (const std::string_view option : {"principal", "lease", "for-process"}) {
            if (!arguments.has(option)) continue;
            return Error(ErrorCode::invalid_argument,
                         dashed(option) +
                             " is for a new session, and --in-session uses that of "
                             "ROCKLOCK_SESSION: give only one of them");
        }
        const auto proof = session_of_environment();
        if (!proof) return proof.error();
        acquire.session = proof->id;
        return std::optional(proof->secret);
    }
    const auto lease = settings.optional_lease();
    if (!lease) return lease.error();
    acquire.opens.emplace();
    acquire.opens->principal = principal_of(arguments);
    acquire.opens->lease = *lease;
    if (arguments.has("for-process")) acquire.opens->bound = Bound::process;
    return std::optional<Secret>{};
}

// Returns the request of `acquire` and the data that only a connection needs.
Result<Call> acquire_call(const Arguments& arguments, const Settings& settings) {
    auto acquire = acquire_of(arguments);
    if (!acquire) return std::move(acquire).error();
    const auto patience = settings.patience("0");
    if (!patience) return patience.error();
    acquire->patience = *patience;
    const auto secret = set_session(arguments, settings, *acquire);
    if (!secret) return secret.error();
    const auto process = process_of(arguments);
    if (!process) return process.error();
    if (const auto held = arguments.get("held")) {
        const auto words = words_of(Held{});
        const auto* const known = std::find_if(
            words.begin(), words.end(), [&](const auto& word) { return word.second == *held; });
        if (known == words.end() || !acquire->session) {
            return Error(ErrorCode::invalid_argument,
                         "--held is '" + *held +
                             "'; it can be refuse, join or count, together with --in-session");
        }
        acquire->held = known->first;
    }
    acquire->request_id = base64url_encode(random_bytes<16>());
    return Call{*std::move(acquire), *secret, *process};
}

}  // namespace

Result<std::optional<OpenSession>> session_to_open(const Arguments& arguments,
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
    const auto lease = settings.lease();
    if (!lease) return lease.error();
    OpenSession opens;
    opens.principal = principal_of(arguments);
    opens.lease = *lease;
    return std::optional(std::move(opens));
}

int acquire_verb(const Arguments& arguments) {
    const auto settings = Settings::load(arguments);
    if (!settings) return fail(settings.error());
    auto call = acquire_call(arguments, *settings);
    if (!call) return fail(call.error());
    const auto patience = std::get<Acquire>(call->body).patience;
    // The session may have held the lock before the call.
    const bool joins = std::get<Acquire>(call->body).held == Held::join;
    auto manager = open_manager(arguments, *settings, patience);
    if (!manager) return fail(manager.error());
    const auto secret = call->secret;
    const auto grant = (*manager)->ask<Grant>(*std::move(call));
    if (!grant) return fail(grant.error(), &arguments);
    if (arguments.has("json")) {
        print(write_reply(*grant));
    } else {
        print_shell(*grant, arguments);
    }
    if (joins && !grant->own_session)
        return output_written() ? exit_status::done : exit_status::internal;
    return keep_if_requested(**manager, *grant,
                             grant->own_session ? grant->own_session->secret : *secret);
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
    renew.note = arguments.get("note");
    if (arguments.has("metadata")) {
        auto metadata = metadata_of(arguments);
        if (!metadata) return fail(metadata.error());
        renew.metadata = *std::move(metadata);
    }
    const auto renewed =
        call->manager->ask<SessionInfo>(Call{std::move(renew), call->credentials.secret, {}});
    const bool of_grant = number(call->grant) != 0;
    if (!renewed) return of_grant ? fail_on(*call, renewed.error()) : fail(renewed.error());
    if (of_grant) {
        if (const auto held = check_held(*call, *renewed); !held) return fail(held.error());
    }
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
    auto locks = converted_locks_of(arguments);
    if (!locks) return fail(locks.error());
    convert.locks = *std::move(locks);
    const auto mode = arguments.get("mode");
    if (mode) convert.mode = parse_mode(*mode);
    if ((mode && !convert.mode) || convert.mode.has_value() == !convert.locks.empty()) {
        return fail({ErrorCode::invalid_argument,
                     "give the new mode: --mode read, --mode write or --mode exclusive, or "
                     "--lock RESOURCE:MODE for one resource"});
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
    return take(arguments, *settings, [&](const SessionId& session) {
        Steal steal{session, *grant, *reason};
        steal.force = arguments.has("force");
        return steal;
    });
}

int reacquire_verb(const Arguments& arguments) {
    const auto settings = Settings::load(arguments);
    if (!settings) return fail(settings.error());
    const auto grant = grant_of(arguments);
    if (!grant) return fail(grant.error());
    return take(arguments, *settings, [&](const SessionId& session) {
        return Reacquire{session, *grant};
    });
}

int transfer_verb(const Arguments& arguments) {
    const auto to = parse_session_id(arguments.operands.back());
    if (!to) {
        return fail({ErrorCode::invalid_argument,
                     "'" + arguments.operands.back() +
                         "' is not the id of a session: give an id that `rocklock sessions` "
                         "lists"});
    }
    auto call = begin(arguments);
    if (!call) return fail(call.error());
    const auto given = call->manager->ask<Grant>(
        Call{Transfer{call->credentials.id, call->grant, *to}, call->credentials.secret, {}});
    // fail_on() must not be used: it queries how the grant has ended by sending a Release. If only
    // the receiving session has ended, this would release the grant.
    if (!given) return fail(given.error(), &arguments);
    if (arguments.has("json")) {
        print(write_reply(*given));
    } else if (!arguments.has("quiet")) {
        print("transferred: session " + to_string(*to) + " has grant " +
              std::to_string(number(given->id)) + " with token " +
              std::to_string(number(given->token)));
    }
    return exit_status::done;
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
