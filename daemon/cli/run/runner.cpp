#include "daemon/cli/run/runner.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include <rocklock/clock.hpp>

#include "base/base64url.hpp"
#include "base/random.hpp"
#include "base/time_format.hpp"
#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/run/call_worker.hpp"
#include "daemon/cli/run/command.hpp"
#include "daemon/cli/run/held_lock.hpp"
#include "daemon/cli/run/succession.hpp"
#include "daemon/cli/run/wait_reason_search.hpp"
#include "wire/error_names.hpp"
#include "wire/json/json_writer.hpp"
#include "wire/lock_words.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds notice_after{1000};
constexpr milliseconds max_release{2000};

constexpr std::array passed_on = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

sigset_t watched_signals() {
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int signal : passed_on) ::sigaddset(&signals, signal);
    return signals;
}

std::string mode_of(const Grant& grant) {
    if (grant.locks.empty()) return "";
    const auto& first = grant.locks.front();
    return first.permits > 0 ? "permits" : std::string(word(first.mode));
}

// Returns our environment with the variables of the lock; those of an outer `run` are replaced.
std::vector<std::string> environment_of(const RunPlan& plan, const Grant& grant,
                                        const SessionInfo& session, const std::string& socket) {
    std::string resources;
    for (const auto& lock : plan.request.locks) {
        resources += (resources.empty() ? "" : "\n") + lock.resource;
    }
    if (plan.request.any) resources = grant.locks.front().resource;
    std::vector<std::pair<std::string, std::string>> ours = {
        {"ROCKLOCK_RESOURCE", resources},
        {"ROCKLOCK_GRANT", std::to_string(number(grant.id))},
        {"ROCKLOCK_TOKEN", std::to_string(number(grant.token))},
        {"ROCKLOCK_PRINCIPAL", session.principal.empty() ? plan.principal : session.principal},
        {"ROCKLOCK_MODE", mode_of(grant)},
        {"ROCKLOCK_DEADLINE", format_time(grant.deadline_wall)},
        {"ROCKLOCK_SOCKET", socket},
        {"ROCKLOCK_SESSION", to_string(session.id) + ":" + to_string(session.secret)},
    };
    std::vector<std::string> all;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text = *variable;
        const auto name = text.substr(0, text.find('='));
        const bool replaced = std::any_of(ours.begin(), ours.end(),
                                          [&](const auto& own) { return own.first == name; });
        if (!replaced) all.emplace_back(text);
    }
    for (auto& [name, value] : ours) {
        // A store that this process opened itself has no socket.
        if (value.empty() && name == "ROCKLOCK_SOCKET") continue;
        all.push_back(std::move(name.append("=").append(value)));
    }
    return all;
}

class Runner {
public:
    Runner(LockConnection& manager, const RunPlan& plan, std::optional<Command> forked);
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;
    ~Runner();

    int run();

private:
    std::optional<int> wait_for_lock();
    void accept_grant(Grant grant);
    int refused(const Error& error);
    int signalled_while_waiting(int signal);
    void notice_waiting();
    void show_blocker();

    int start_command();
    Result<void> join_session();
    int watch_command();
    int report_end();
    void report_wanted(const Wanted& ask);
    void on_change(Command& command);
    void release();

    std::vector<int> next_event(std::optional<BootTime> until);
    void report(std::string_view event, const std::function<void(JsonWriter&)>& facts = {});
    void say(const std::string& text) const {
        if (!plan_.quiet) complain(text);
    }

    LockConnection& manager_;
    const RunPlan& plan_;
    const int signals_;
    const int timer_;
    // Acquires and renews. `helper_` queries the blockers and releases.
    CallWorker worker_;
    CallWorker helper_;

    std::optional<HeldLock> lock_;
    // The command before start_command(), if its supervisor was forked early.
    std::optional<Command> forked_;
    std::optional<Command> command_;
    std::optional<int> status_;
    bool release_sent_ = false;
    WaitReasonSearch wait_reasons_;
};

Runner::Runner(LockConnection& manager, const RunPlan& plan, std::optional<Command> forked)
    : manager_(manager),
      plan_(plan),
      signals_([] {
          const auto signals = watched_signals();
          return ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
      }()),
      timer_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)),
      worker_(manager),
      helper_(manager),
      forked_(std::move(forked)),
      wait_reasons_(plan.request) {}

Runner::~Runner() {
    ::close(signals_);
    ::close(timer_);
}

int Runner::run() {
    if (const auto status = wait_for_lock()) return *status;
    const int status = start_command();
    release();
    return status;
}

// Waits for a signal, a reply, a change of the command or the time `until`, whichever comes first.
// Returns the signals.
std::vector<int> Runner::next_event(std::optional<BootTime> until) {
    itimerspec when{};
    if (until) {
        const auto since_boot = std::max(until->time_since_epoch(), BootTime::duration{1});
        const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
        when.it_value.tv_sec = seconds.count();
        when.it_value.tv_nsec = (since_boot - seconds).count();
    }
    ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
    std::array<pollfd, 5> watched = {{{signals_, POLLIN, 0},
                                      {timer_, POLLIN, 0},
                                      {worker_.fd(), POLLIN, 0},
                                      {helper_.fd(), POLLIN, 0},
                                      {command_ ? command_->fd() : -1, POLLIN, 0}}};
    ::poll(watched.data(), watched.size(), -1);
    std::vector<int> found;
    signalfd_siginfo info{};
    while (::read(signals_, &info, sizeof info) == sizeof info) {
        found.push_back(static_cast<int>(info.ssi_signo));
    }
    return found;
}

// Acquires the lock. Returns nullopt if the lock is held, otherwise an exit status.
std::optional<int> Runner::wait_for_lock() {
    Acquire acquire = plan_.request;
    acquire.opens.emplace();
    acquire.opens->principal = plan_.principal;
    acquire.opens->lease = plan_.lease;
    acquire.opens->bound = Bound::process;
    acquire.request_id = base64url_encode(random_bytes<16>());
    worker_.start(Call{std::move(acquire), {}, {}});

    std::optional<BootTime> notice_at = boot_now() + notice_after;
    while (true) {
        const auto signals = next_event(notice_at);
        if (auto reply = worker_.take()) {
            if (!*reply) return refused(reply->error());
            auto* grant = std::get_if<Grant>(&**reply);
            if (grant == nullptr || !grant->own_session || grant->locks.empty()) {
                return refused({ErrorCode::io_error, "the daemon sent an invalid reply"});
            }
            accept_grant(std::move(*grant));
            // If a signal arrived together with the grant, the lock is released and nothing is run.
            if (signals.empty()) return std::nullopt;
            release();
            return exit_status::signalled + signals.front();
        }
        if (!signals.empty()) return signalled_while_waiting(signals.front());
        show_blocker();
        if (notice_at && boot_now() >= *notice_at) {
            notice_at.reset();
            notice_waiting();
        }
    }
}

void Runner::accept_grant(Grant grant) {
    lock_.emplace(manager_, worker_, plan_, std::move(grant),
                  HeldLock::Callbacks{[this](int signal) { command_->signal_group(signal); },
                                      [this](const Wanted& ask) { report_wanted(ask); }});
    report("granted", [&](JsonWriter& json) {
        json.key("Grant");
        json.number(number(lock_->grant().id));
        json.key("Token");
        json.number(number(lock_->grant().token));
        json.key("Waited");
        json.boolean(lock_->grant().waited);
    });
}

int Runner::refused(const Error& error) {
    complain_of(error, plan_.quiet ? Names::kept : Names::shown);
    report("refused", [&](JsonWriter& json) {
        json.key("Error");
        json.string(error_name(error.code));
    });
    const int status = exit_status::of(error);
    return status == exit_status::busy ? plan_.busy_status : status;
}

int Runner::signalled_while_waiting(int signal) {
    report("signalled", [&](JsonWriter& json) {
        json.key("Signal");
        json.number(signal);
    });
    worker_.cancel();
    const auto limit = boot_now() + max_release;
    while (boot_now() < limit) {
        next_event(limit);
        auto reply = worker_.take();
        if (!reply) continue;
        // The lock may have been granted before the signal was handled.
        const auto* grant = *reply ? std::get_if<Grant>(&**reply) : nullptr;
        if (grant != nullptr && grant->own_session) {
            accept_grant(*grant);
            release();
        }
        break;
    }
    return exit_status::signalled + signal;
}

// Asks for the next resource that may block the request.
void Runner::notice_waiting() {
    if (plan_.quiet || helper_.busy()) return;
    if (auto call = wait_reasons_.next()) helper_.start(*std::move(call));
}

void Runner::show_blocker() {
    auto reply = helper_.take();
    if (!reply) return;
    for (const auto& line : wait_reasons_.take(*reply, system_clock().now().wall)) say(line);
    notice_waiting();
}

int Runner::start_command() {
    if (!forked_) {
        // This process then has one thread, as fork_supervisor() requires.
        worker_.rest();
        helper_.rest();
        auto command = Command::fork_supervisor(
            plan_.command, [this](Descendants& descendants, std::optional<BootTime> deadline) {
                succeed(descendants, manager_, plan_, lock_->grant(), deadline);
            });
        if (!command) {
            complain(command.error().message);
            return exit_status::internal;
        }
        forked_.emplace(*std::move(command));
    }
    command_.emplace(*std::move(forked_));
    const auto started =
        command_->start(environment_of(plan_, lock_->grant(), lock_->session(), manager_.socket()));
    if (!started) {
        complain(started.error().message);
        return exit_status::internal;
    }
    // Join first: the session then lasts until this process, its supervisor and the command have
    // ended. If this process is killed, the supervisor continues; if both are killed, the lock is
    // held until the command has ended, and not longer.
    if (auto joined = join_session(); !joined) {
        complain(explain(joined.error(), system_clock().now().wall));
        const int status = exit_status::of(joined.error());
        report("lost");
        return status == exit_status::unreachable ? exit_status::lost : status;
    }
    if (const int reason = command_->go(); reason != 0) {
        command_->take_terminal();
        complain("cannot run " + plan_.command.front() + ": " + std::strerror(reason));
        report("not_run");
        return reason == ENOENT ? exit_status::not_found : exit_status::cannot_run;
    }
    return watch_command();
}

Result<void> Runner::join_session() {
    if (manager_.socket().empty()) return {};
    const auto& session = lock_->session();
    CallLimits limits;
    limits.deadline = steady_at(lock_->stop_at());
    for (const auto pid : {command_->pid(), command_->supervisor()}) {
        JoinProcess join;
        join.session = session.id;
        auto joined = manager_.ask<SessionInfo>(Call{join, session.secret, pid}, limits);
        if (joined) continue;
        // A daemon in another pid namespace cannot find the process. The session is then bound to
        // this process only.
        if (joined.error().code == ErrorCode::invalid_argument) return {};
        return std::move(joined).error();
    }
    return {};
}

// Until the command ends: renews, forwards signals, and stops the command if the lock is lost.
int Runner::watch_command() {
    on_change(*command_);
    BootTime noted = lock_->deadline();
    while (!status_ || (plan_.wait_group && command_->group_alive())) {
        const auto until = lock_->advance();
        if (noted != lock_->deadline()) {
            noted = lock_->deadline();
            command_->note_deadline(noted);
        }
        for (const int signal : next_event(until)) {
            command_->signal_group(signal);
            // A stopped process handles the signal only after it is continued.
            if (signal != SIGUSR1 && signal != SIGUSR2) command_->signal_group(SIGCONT);
        }
        on_change(*command_);
    }
    command_->take_terminal();
    // This must come first: if this process is killed afterwards, the lock is not held for the
    // processes of the command that are still running.
    command_->dismiss();
    // The reply to the release may be the first report that another session has ended the grant.
    release();
    return report_end();
}

// Reports how the command has ended, and returns the exit status of the program.
int Runner::report_end() {
    if (lock_->lost() && plan_.on_lost != OnLost::ignore) {
        report("lost");
        return exit_status::lost;
    }
    if (WIFSIGNALED(*status_)) {
        report("signalled", [&](JsonWriter& json) {
            json.key("Signal");
            json.number(WTERMSIG(*status_));
        });
        return exit_status::signalled + WTERMSIG(*status_);
    }
    report("exited", [&](JsonWriter& json) {
        json.key("Status");
        json.number(WEXITSTATUS(*status_));
    });
    return WEXITSTATUS(*status_);
}

void Runner::on_change(Command& command) {
    while (const auto change = command.poll()) {
        if (change->kind == Command::Change::Kind::ended) {
            status_ = change->status;
            return;
        }
        const int signal = WSTOPSIG(change->status);
        if (!command.interactive() || signal == SIGSTOP) continue;
        // The command was stopped by Ctrl-Z, or because it accessed the terminal from the
        // background. In the second case, if this process is in the foreground, give the terminal
        // to the command. Otherwise, stop this process as well, so that the shell notices; the
        // lease continues to run.
        const bool ours = signal != SIGTSTP && command.in_foreground();
        command.take_terminal();
        if (!ours) ::raise(SIGSTOP);
        command.give_terminal();
        command.signal_group(SIGCONT);
    }
}

void Runner::report_wanted(const Wanted& ask) {
    say(describe_ask(ask, system_clock().now().wall));
    report("wanted", [&](JsonWriter& json) {
        json.key("By");
        json.string(ask.by);
        json.key("Resource");
        json.string(ask.resource);
        json.key("Mode");
        json.string(word(ask.mode));
        json.key("AnswerBy");
        json.string(format_time(*ask.answer_by));
    });
}

// Waits at most `max_release`; after that the lock ends with its lease or with this process.
void Runner::release() {
    if (lock_->certainly_lost() || std::exchange(release_sent_, true)) return;
    while (helper_.busy() && !helper_.take()) {
        helper_.cancel();
        next_event(boot_now() + milliseconds{50});
    }
    const auto limit = boot_now() + max_release;
    const auto& session = lock_->session();
    helper_.start(Call{Release{session.id, lock_->grant().id}, session.secret, {}},
                  steady_at(limit));
    auto reply = helper_.take();
    for (; !reply; reply = helper_.take()) {
        if (boot_now() >= limit) {
            say("the release was not confirmed; the lock ends with this process or its lease");
            return;
        }
        next_event(limit);
    }
    lock_->released(*reply);
}

void Runner::report(std::string_view event, const std::function<void(JsonWriter&)>& facts) {
    if (plan_.status_fd < 0) return;
    JsonWriter json;
    json.begin_object();
    json.key("Event");
    json.string(event);
    if (facts) facts(json);
    json.end_object();
    const auto line = json.take() + "\n";
    [[maybe_unused]] const auto size = ::write(plan_.status_fd, line.data(), line.size());
}

}  // namespace

void block_signals_to_pass_on() {
    const auto signals = watched_signals();
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
}

int run_under_lock(LockConnection& manager, const RunPlan& plan, std::optional<Command> forked) {
    return Runner(manager, plan, std::move(forked)).run();
}

}  // namespace rocklock
