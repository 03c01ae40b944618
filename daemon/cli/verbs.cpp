#include "daemon/cli/verbs.hpp"

#include <stdio_ext.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <rocklock/clock.hpp>
#include <rocklock/version.hpp>

#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/manager_choice.hpp"
#include "daemon/cli/messages.hpp"
#include "service/process_id.hpp"
#include "wire/json/json_writer.hpp"

namespace rocklock {

int fail(const Error& error, const Arguments* arguments) {
    const bool quiet = arguments != nullptr && arguments->has("quiet");
    complain_of(error, quiet ? Names::kept : Names::shown);
    return exit_status::of(error);
}

Error about_store(Error error, const std::string& store) {
    if (error.code == ErrorCode::corrupt &&
        error.message.find("the store in " + store) == std::string::npos) {
        error.message = "the store in " + store + " is damaged: " + error.message;
    }
    return error;
}

Result<std::unique_ptr<LockConnection>> open_manager(const Arguments& arguments,
                                                     const Settings& settings,
                                                     std::chrono::milliseconds patience,
                                                     Opening opening) {
    if (const auto directory = arguments.get("db")) {
        if (arguments.has("socket")) {
            return Error(ErrorCode::invalid_argument,
                         "--db opens a store without a daemon, and --socket connects to a daemon: "
                         "give only one of them");
        }
        const auto store = absolute_path(*directory);
        auto manager = make_embedded_manager(store, patience, opening == Opening::may_create);
        if (manager) return manager;
        auto error = about_store(std::move(manager).error(), store);
        if (error.code != ErrorCode::store_in_use) return error;
        error.message +=
            ": connect to the daemon that uses it, with --socket; `run` and `acquire` can wait, "
            "with --patience";
        return error;
    }
    auto choice = choose_manager(settings);
    if (!choice) return std::move(choice).error();
    DaemonManagerOptions options;
    options.choice = *std::move(choice);
    if (auto checked = check_socket_path(options.choice.socket); !checked) {
        return std::move(checked).error();
    }
    // Only this user's own daemon is started automatically. Other daemons are managed elsewhere,
    // for example by systemd.
    options.may_start = options.choice.kind == ManagerKind::own && !arguments.has("no-start");
    options.quiet = arguments.has("quiet");
    const auto idle_exit = settings.duration("idle-exit", "10m");
    if (!idle_exit) return idle_exit.error();
    options.idle_exit = *idle_exit;
    return make_daemon_manager(std::move(options));
}

Result<Reply> call_manager(CallBody body, const Arguments& arguments) {
    const auto settings = Settings::load(arguments);
    if (!settings) return settings.error();
    auto manager =
        open_manager(arguments, *settings, std::chrono::milliseconds{0}, Opening::existing);
    if (!manager) return std::move(manager).error();
    return (*manager)->call(Call{std::move(body), {}, {}}, {});
}

Result<std::uint64_t> number_in(std::string_view option, const std::string& text) {
    std::uint64_t value = 0;
    const auto* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc{} && stop == end) return value;
    return Error(ErrorCode::invalid_argument,
                 dashed(option) + " is '" + text + "'; give a whole number");
}

std::string principal_of(const Arguments& arguments) {
    if (const auto given = arguments.get("principal")) return *given;
    return user_name(::getuid());
}

Result<std::string> reason_of(const Arguments& arguments) {
    const auto reason = arguments.get("reason");
    if (!reason || reason->empty()) {
        return Error(ErrorCode::invalid_argument,
                     "give a reason for the holder and the audit log: --reason TEXT");
    }
    return *reason;
}

Result<SessionCredentials> session_of_environment() {
    const char* text = std::getenv("ROCKLOCK_SESSION");
    if (text == nullptr || *text == '\0') {
        return Error(
            ErrorCode::invalid_argument,
            "ROCKLOCK_SESSION is not set: export the line that `rocklock acquire` printed");
    }
    const std::string_view both = text;
    const auto colon = both.find(':');
    const auto session = parse_session_id(both.substr(0, colon));
    const auto secret =
        colon == std::string_view::npos ? std::nullopt : parse_secret(both.substr(colon + 1));
    if (!session || !secret) {
        return Error(ErrorCode::invalid_argument,
                     "ROCKLOCK_SESSION is not <session>:<secret> as `rocklock acquire` printed it");
    }
    return SessionCredentials{*session, *secret};
}

Result<SessionCall> begin_for_session(const Arguments& arguments, Settings settings) {
    SessionCall call;
    call.settings = std::move(settings);
    const auto proof = session_of_environment();
    if (!proof) return proof.error();
    call.credentials = *proof;
    auto manager =
        open_manager(arguments, call.settings, std::chrono::milliseconds{0}, Opening::existing);
    if (!manager) return std::move(manager).error();
    call.manager = *std::move(manager);
    return call;
}

Result<SessionCall> begin_for_session(const Arguments& arguments) {
    auto settings = Settings::load(arguments);
    if (!settings) return std::move(settings).error();
    return begin_for_session(arguments, *std::move(settings));
}

namespace {

// The errno of the first write that failed since the last errno_of_output(); 0 if none failed.
int output_errno = 0;

}  // namespace

void print(std::string_view text) {
    const bool whole = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
                       std::fputc('\n', stdout) != EOF;
    if (!whole && output_errno == 0) output_errno = errno;
}

int errno_of_output() {
    if (std::fflush(stdout) != 0 && output_errno == 0) output_errno = errno;
    if (std::ferror(stdout) != 0 && output_errno == 0) output_errno = EIO;
    if (output_errno != 0) {
        ::__fpurge(stdout);
        std::clearerr(stdout);
    }
    return std::exchange(output_errno, 0);
}

bool output_written() {
    const int reason = errno_of_output();
    if (reason == 0) return true;
    complain(std::string("standard output could not be written: ") + std::strerror(reason));
    return false;
}

void print_table(const TextTable& table, const Arguments& arguments) {
    const auto text = table.text(!arguments.has("no-color") && stdout_takes_colour());
    print(std::string_view(text).substr(0, text.size() - 1));
}

int version_verb(const Arguments& arguments) {
    if (arguments.has("json")) {
        JsonWriter json;
        json.begin_object();
        json.key("Version");
        json.string(version());
        json.end_object();
        print(json.text());
    } else {
        print("rocklock " + std::string(version()));
    }
    return exit_status::done;
}

}  // namespace rocklock
