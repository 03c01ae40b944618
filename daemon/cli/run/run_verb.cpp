#include <fcntl.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/run/command.hpp"
#include "daemon/cli/run/runner.hpp"
#include "daemon/cli/run/succession.hpp"
#include "daemon/cli/verbs.hpp"

namespace rocklock {
namespace {

// Returns the value of the option, or `otherwise` if it is absent. Errors: invalid_argument if it
// is not a whole number from 0 to `largest`.
Result<int> number_option(const Arguments& arguments, std::string_view name, int otherwise,
                          int largest) {
    const auto text = arguments.get(name);
    if (!text) return otherwise;
    int value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc() || end != text->data() + text->size() || value < 0 ||
        value > largest) {
        return Error(ErrorCode::invalid_argument,
                     "-" + std::string(name.size() > 1 ? "-" : "") + std::string(name) + " is '" +
                         *text + "'; it must be a number from 0 to " + std::to_string(largest));
    }
    return value;
}

// Returns the value of --wait, which is in seconds. Errors: invalid_argument if it is not a number
// of seconds, or if --patience is given as well.
Result<std::chrono::milliseconds> seconds_to_wait(const Arguments& arguments,
                                                  const std::string& text) {
    if (arguments.has("patience")) {
        return Error(ErrorCode::invalid_argument,
                     "--wait (-w, --timeout) and --patience both give the time to wait: give only "
                     "one of them");
    }
    constexpr double max_seconds = 1e9;
    double seconds = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), seconds, std::chars_format::fixed);
    if (error != std::errc() || end != text.data() + text.size() ||
        !(seconds >= 0 && seconds <= max_seconds)) {
        return Error(ErrorCode::invalid_argument,
                     "--wait (-w, --timeout) is '" + text +
                         "'; write seconds, as in 5 or 0.5, or use --patience, as in 1m30s");
    }
    return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
}

// Returns the time to wait for the lock, from --no-wait, --wait or the setting `patience`.
Result<std::chrono::milliseconds> patience_of(const Arguments& arguments,
                                              const Settings& settings) {
    if (const auto text = arguments.get("wait")) {
        auto wait = seconds_to_wait(arguments, *text);
        if (!wait) return wait;
        return arguments.has("no-wait") ? std::chrono::milliseconds{0} : *wait;
    }
    return settings.patience("forever");
}

// Returns the command after "--", or the shell that executes the value of --command. As flock does,
// it uses the shell in SHELL.
std::vector<std::string> command_of(const Arguments& arguments) {
    const auto text = arguments.get("command");
    if (!text) return arguments.command;
    const char* shell = std::getenv("SHELL");
    return {shell != nullptr && *shell != '\0' ? shell : "/bin/sh", "-c", *text};
}

Result<RunPlan> plan_of(const Arguments& arguments, const Settings& settings) {
    RunPlan plan;
    auto request = acquire_of(arguments);
    if (!request) return std::move(request).error();
    plan.request = *std::move(request);
    plan.command = command_of(arguments);
    plan.principal = principal_of(arguments);
    const auto lease = settings.optional_lease();
    if (lease && *lease == no_expiry) {
        return Error(ErrorCode::invalid_argument,
                     "the lock of `run` ends with its command and needs a lease: give --lease a "
                     "duration, or use `acquire --lease none`");
    }
    if (!lease) return lease.error();
    plan.lease = *lease;
    const auto patience = patience_of(arguments, settings);
    if (!patience) return patience.error();
    plan.request.patience = *patience;
    const auto on_lost = settings.choice("on-lost", "term", {"term", "kill", "ignore"});
    if (!on_lost) return on_lost.error();
    plan.on_lost = *on_lost == "kill"     ? OnLost::kill
                   : *on_lost == "ignore" ? OnLost::ignore
                                          : OnLost::term;
    const auto on_death = settings.choice("on-death", "hold", {"hold", "kill"});
    if (!on_death) return on_death.error();
    plan.on_death = *on_death == "kill" ? OnDeath::kill : OnDeath::hold;
    if (arguments.has("db")) {
        if (arguments.get("on-death") == "hold") {
            return Error(ErrorCode::invalid_argument,
                         "--on-death hold needs a daemon, and cannot be used with --db: omit it; "
                         "the command is then killed if `run` is killed");
        }
        plan.on_death = OnDeath::kill;
    }
    const auto busy = number_option(arguments, "E", exit_status::busy, 255);
    if (!busy) return busy.error();
    plan.busy_status = *busy;
    const auto status_fd =
        number_option(arguments, "json-status", -1, std::numeric_limits<int>::max());
    if (!status_fd) return status_fd.error();
    plan.status_fd = *status_fd;
    if (plan.status_fd >= 0 && ::fcntl(plan.status_fd, F_SETFD, FD_CLOEXEC) != 0) {
        return Error(ErrorCode::invalid_argument, "--json-status " +
                                                      std::to_string(plan.status_fd) +
                                                      ": that descriptor is not open; use, for "
                                                      "example, 3>status.json");
    }
    plan.wait_group = arguments.has("wait-group");
    plan.quiet = arguments.has("quiet");
    return plan;
}

}  // namespace

int run_verb(const Arguments& arguments) {
    const auto settings = Settings::load(arguments);
    if (!settings) return fail(settings.error());
    const auto plan = plan_of(arguments, *settings);
    if (!plan) return fail(plan.error());
    block_signals_to_pass_on();
    std::optional<Command> forked;
    if (arguments.has("db")) {
        // The store has threads of its own, so this must come before it is opened.
        auto command = Command::fork_supervisor(
            plan->command, [](Descendants& descendants, std::optional<BootTime> /*deadline*/) {
                end_with_store(descendants);
            });
        if (!command) return fail(command.error());
        forked.emplace(*std::move(command));
    }
    auto manager = open_manager(arguments, *settings, plan->request.patience);
    if (!manager) {
        const int status = fail(manager.error());
        return status == exit_status::busy ? plan->busy_status : status;
    }
    return run_under_lock(**manager, *plan, std::move(forked));
}

}  // namespace rocklock
