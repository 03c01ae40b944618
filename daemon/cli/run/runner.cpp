#include "daemon/cli/run/runner.hpp"

#include <poll.h>
#include <sys/prctl.h>
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
#include "base/duration_text.hpp"
#include "base/random.hpp"
#include "base/time_format.hpp"
#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/run/call_worker.hpp"
#include "daemon/cli/run/command.hpp"
#include "wire/error_names.hpp"
#include "wire/json_writer.hpp"
#include "wire/lock_words.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds notice_after{1000};
constexpr milliseconds grace{5000};
constexpr milliseconds max_release{2000};
constexpr milliseconds smallest_margin{200};

constexpr std::array passed_on = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

sigset_t watched_signals() {
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int signal : passed_on) ::sigaddset(&signals, signal);
    ::sigaddset(&signals, SIGCHLD);
    return signals;
}

BootTime boot_now() { return system_clock().now().boot; }

steady_clock::time_point steady_at(BootTime moment) {
    return steady_clock::now() + (moment - boot_now());
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
    for (const auto& lock : plan.locks) {
        resources += (resources.empty() ? "" : "\n") + lock.resource;
    }
    std::vector<std::pair<std::string, std::string>> ours = {
        {"ROCKLOCK_RESOURCE", resources},
        {"ROCKLOCK_GRANT", std::to_string(number(grant.id))},
        {"ROCKLOCK_TOKEN", std::to_string(number(grant.token))},
        {"ROCKLOCK_PRINCIPAL", plan.principal},
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
    Runner(LockConnection& manager, const RunPlan& plan);
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;
    ~Runner();

    int run();

private:
    // The events that next_event() found. Several can be set.
    struct Events {
        std::vector<int> signals;
        bool child = false;
    };

    std::optional<int> wait_for_lock();
    void accept_grant(Grant grant);
    int refused(const Error& error);
    int signalled_while_waiting(int signal);
    void notice_waiting();
    void show_blocker();

    int start_command();
    Result<void> join_session();
    int watch_command();
    void on_renewed(const Result<Reply>& reply, BootTime sent_at);
    void report_wanted(const std::vector<Wanted>& wanted);
    std::string why_lost(const Error& error);
    void renew_if_due(BootTime now);
    void stop_if_due(BootTime now);
    void lose(const std::string& why, bool certain);
    void on_child(Command& command);
    void release();
    std::string ended_before(const Result<Reply>& reply);

    Events next_event(std::optional<BootTime> until);
    // The time to stop the command: one margin before another session can get the lock.
    BootTime stop_at() const {
        const auto margin = std::max(smallest_margin, session_.lease / 10);
        return deadline_ - std::min(margin, session_.lease / 4);
    }
    void report(std::string_view event, const std::function<void(JsonWriter&)>& facts = {});
    void say(const std::string& text) const {
        if (!plan_.quiet) complain(text);
    }

    LockConnection& manager_;
    const RunPlan& plan_;
    const int signals_;
    const int timer_;
    // Acquires and renews. `helper_` queries the blocker and releases.
    CallWorker worker_;
    CallWorker helper_;

    Grant grant_;
    SessionInfo session_;
    // Until this time, no other session can hold the lock.
    BootTime deadline_;
    BootTime renew_at_;
    BootTime renewal_sent_;
    std::optional<Command> command_;
    std::optional<int> status_;
    bool lost_ = false;
    bool certainly_lost_ = false;
    bool release_sent_ = false;
    std::optional<BootTime> kill_at_;
    std::size_t shown_ = 0;
};

Runner::Runner(LockConnection& manager, const RunPlan& plan)
    : manager_(manager),
      plan_(plan),
      signals_([] {
          const auto signals = watched_signals();
          return ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
      }()),
      timer_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)),
      worker_(manager),
      helper_(manager) {}

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

// Waits for a signal, a reply or the time `until`, whichever comes first.
Runner::Events Runner::next_event(std::optional<BootTime> until) {
    itimerspec when{};
    if (until) {
        const auto since_boot = std::max(until->time_since_epoch(), BootTime::duration{1});
        const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
        when.it_value.tv_sec = seconds.count();
        when.it_value.tv_nsec = (since_boot - seconds).count();
    }
    ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
    std::array<pollfd, 4> watched = {{{signals_, POLLIN, 0},
                                      {timer_, POLLIN, 0},
                                      {worker_.fd(), POLLIN, 0},
                                      {helper_.fd(), POLLIN, 0}}};
    ::poll(watched.data(), watched.size(), -1);
    Events events;
    signalfd_siginfo info{};
    while (::read(signals_, &info, sizeof info) == sizeof info) {
        const int signal = static_cast<int>(info.ssi_signo);
        if (signal == SIGCHLD) {
            events.child = true;
        } else {
            events.signals.push_back(signal);
        }
    }
    return events;
}

// Acquires the lock. Returns nullopt if the lock is held, otherwise an exit status.
std::optional<int> Runner::wait_for_lock() {
    Acquire acquire;
    acquire.opens.emplace();
    acquire.opens->principal = plan_.principal;
    acquire.opens->lease = plan_.lease;
    acquire.opens->bound = Bound::process;
    acquire.locks = plan_.locks;
    acquire.patience = plan_.patience;
    acquire.note = plan_.note;
    acquire.request_id = base64url_encode(random_bytes<16>());
    worker_.start(Call{std::move(acquire), {}, {}});

    std::optional<BootTime> notice_at = boot_now() + notice_after;
    while (true) {
        const auto events = next_event(notice_at);
        if (auto reply = worker_.take()) {
            if (!*reply) return refused(reply->error());
            auto* grant = std::get_if<Grant>(&**reply);
            if (grant == nullptr || !grant->own_session) {
                return refused({ErrorCode::io_error, "the daemon sent an invalid reply"});
            }
            accept_grant(std::move(*grant));
            // If a signal arrived together with the grant, the lock is released and nothing is run.
            if (events.signals.empty()) return std::nullopt;
            release();
            return exit_status::signalled + events.signals.front();
        }
        if (!events.signals.empty()) return signalled_while_waiting(events.signals.front());
        show_blocker();
        if (notice_at && boot_now() >= *notice_at) {
            notice_at.reset();
            notice_waiting();
        }
    }
}

void Runner::accept_grant(Grant grant) {
    grant_ = std::move(grant);
    session_ = *grant_.own_session;
    const auto now = boot_now();
    deadline_ = std::min(grant_.deadline, now + grant_.remaining);
    renew_at_ = now + session_.lease / 3;
    report("granted", [&](JsonWriter& json) {
        json.key("Grant");
        json.number(number(grant_.id));
        json.key("Token");
        json.number(number(grant_.token));
        json.key("Waited");
        json.boolean(grant_.waited);
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

// Queries the holder of the next resource. show_blocker() continues until a resource has one.
void Runner::notice_waiting() {
    if (plan_.quiet || helper_.busy() || shown_ >= plan_.locks.size()) return;
    helper_.start(Call{ShowLock{plan_.locks[shown_].resource}, {}, {}});
}

void Runner::show_blocker() {
    auto reply = helper_.take();
    if (!reply) return;
    const auto* view = *reply ? std::get_if<LockView>(&**reply) : nullptr;
    const auto name = printable(plan_.locks[shown_].resource);
    ++shown_;
    if (view != nullptr && !view->holders.empty()) {
        say("waiting for " + name + ": held by " +
            describe_holder(view->holders.front(), system_clock().now().wall));
    } else if (shown_ < plan_.locks.size()) {
        notice_waiting();
    } else {
        say("waiting for " + name);
    }
}

int Runner::start_command() {
    if (plan_.wait_group) ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    auto command =
        Command::prepare(plan_.command, environment_of(plan_, grant_, session_, manager_.socket()));
    if (!command) {
        complain(command.error().message);
        return exit_status::internal;
    }
    command_.emplace(*std::move(command));
    // Join first: the session then lasts until both processes have ended. If this process is
    // killed, the lock is held until the command has ended, and not longer.
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
    JoinProcess join;
    join.session = session_.id;
    CallLimits limits;
    limits.deadline = steady_at(stop_at());
    auto joined = manager_.ask<SessionInfo>(Call{join, session_.secret, command_->pid()}, limits);
    if (joined) return {};
    // The daemon cannot find the process in another pid namespace. Only ours is bound then.
    if (joined.error().code == ErrorCode::invalid_argument) return {};
    return std::move(joined).error();
}

// Until the command ends: renews, forwards signals, and stops the command if the lock is lost.
int Runner::watch_command() {
    const auto ended = [this] { return status_ && !(plan_.wait_group && command_->group_alive()); };
    on_child(*command_);
    while (!ended()) {
        const auto now = boot_now();
        renew_if_due(now);
        stop_if_due(now);
        std::optional<BootTime> until;
        const auto wake_at = [&until](BootTime moment) {
            until = until ? std::min(*until, moment) : moment;
        };
        if (!lost_) wake_at(stop_at());
        if (kill_at_) wake_at(*kill_at_);
        if (!worker_.busy() && !certainly_lost_) wake_at(renew_at_);
        const auto events = next_event(until);
        if (const auto reply = worker_.take()) on_renewed(*reply, renewal_sent_);
        for (const int signal : events.signals) {
            command_->signal_group(signal);
            // A stopped process handles the signal only after it is continued.
            if (signal != SIGUSR1 && signal != SIGUSR2) command_->signal_group(SIGCONT);
        }
        if (events.child) on_child(*command_);
    }
    command_->take_terminal();
    // The reply to the release may be the first report that another session has ended the grant.
    release();
    if (lost_ && plan_.on_lost != OnLost::ignore) {
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

void Runner::on_child(Command& command) {
    while (const auto change = command.poll()) {
        if (change->kind == Command::Change::Kind::ended) {
            status_ = change->status;
            return;
        }
        const int signal = WSTOPSIG(change->status);
        if (!command.interactive() || signal == SIGSTOP) continue;
        // Ctrl-Z, or access to the terminal from the background. Stop as well, so that the shell
        // notices; the lease continues to run. If the command wanted the terminal and we are in the
        // foreground, the terminal is passed on instead.
        const bool ours = signal != SIGTSTP && command.in_foreground();
        command.take_terminal();
        if (!ours) ::raise(SIGSTOP);
        command.give_terminal();
        command.signal_group(SIGCONT);
    }
}

void Runner::renew_if_due(BootTime now) {
    if (certainly_lost_ || worker_.busy() || now < renew_at_) return;
    RenewSession renew;
    renew.session = session_.id;
    renewal_sent_ = now;
    worker_.start(Call{renew, session_.secret, {}}, steady_at(std::max(deadline_, now + grace)));
}

void Runner::on_renewed(const Result<Reply>& reply, BootTime sent_at) {
    const auto* renewed = reply ? std::get_if<SessionInfo>(&*reply) : nullptr;
    const auto now = boot_now();
    if (renewed != nullptr) {
        for (const auto& lost : renewed->lost) {
            if (lost.grant == grant_.id) lose(explain_ending(lost.ending), true);
        }
        report_wanted(renewed->wanted);
        // Renewals do not extend a grant beyond its `cap`, which max_hold sets.
        const auto cap = grant_.cap.value_or(BootTime::max());
        deadline_ =
            std::max(deadline_, std::min({renewed->deadline, sent_at + session_.lease, cap}));
        // Up to a quarter earlier at random: programs started together do not renew together.
        renew_at_ = now + session_.lease / 3 * (256 - random_bytes<1>()[0] % 64) / 256;
        return;
    }
    switch (reply ? ErrorCode::io_error : reply.error().code) {
        case ErrorCode::session_expired:
        case ErrorCode::session_not_found:
        case ErrorCode::not_owner:
            lose(why_lost(reply.error()), true);
            return;
        // Other errors can be temporary. Retry until the lease ends.
        default:
            renew_at_ = now + std::min(milliseconds{100}, session_.lease / 10);
    }
}

// Reports requests to take over, but not plain waiters: they get the lock after the command.
void Runner::report_wanted(const std::vector<Wanted>& wanted) {
    if (lost_) return;
    for (const auto& ask : wanted) {
        if (!ask.answer_by || ask.grant != grant_.id) continue;
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
}

// Queries how the grant ended. Waits at most 200 ms, because the command must be stopped now.
std::string Runner::why_lost(const Error& error) {
    CallLimits limits;
    limits.deadline = steady_clock::now() + milliseconds{200};
    auto ending = error.ended;
    if (!ending) ending = find_ending(manager_, {session_.id, session_.secret}, grant_.id, limits);
    return ending ? explain_ending(*ending) : error.message;
}

void Runner::stop_if_due(BootTime now) {
    if (!lost_ && now >= stop_at()) {
        lose(now >= deadline_
                 ? "its lease ended at " +
                       format_time(system_clock().now().wall -
                                   std::chrono::ceil<milliseconds>(now - deadline_))
                 : "its lease could not be renewed and ends in " +
                       format_duration(std::chrono::ceil<milliseconds>(deadline_ - now)),
             now >= deadline_);
    }
    if (kill_at_ && now >= *kill_at_) {
        kill_at_.reset();
        command_->signal_group(SIGKILL);
    }
}

void Runner::lose(const std::string& why, bool certain) {
    certainly_lost_ = certainly_lost_ || certain;
    if (std::exchange(lost_, true)) return;
    const auto name = printable(plan_.locks.front().resource);
    switch (plan_.on_lost) {
        case OnLost::ignore:
            complain("the lock on " + name + " is lost: " + why +
                     "; the command continues without it");
            return;
        case OnLost::kill:
            complain("the lock on " + name + " is lost: " + why + "; killing the command");
            command_->signal_group(SIGKILL);
            return;
        case OnLost::term:
            complain("the lock on " + name + " is lost: " + why + "; stopping the command");
            command_->signal_group(SIGTERM);
            // A stopped process handles the signal only after it is continued.
            command_->signal_group(SIGCONT);
            kill_at_ = boot_now() + grace;
    }
}

// Waits at most `max_release`; after that the lock ends with its lease or with this process.
void Runner::release() {
    if (certainly_lost_ || std::exchange(release_sent_, true)) return;
    while (helper_.busy() && !helper_.take()) {
        helper_.cancel();
        next_event(boot_now() + milliseconds{50});
    }
    const auto limit = boot_now() + max_release;
    helper_.start(Call{Release{session_.id, grant_.id}, session_.secret, {}}, steady_at(limit));
    auto reply = helper_.take();
    for (; !reply; reply = helper_.take()) {
        if (boot_now() >= limit) {
            say("the release was not confirmed; the lock ends with this process or its lease");
            return;
        }
        next_event(limit);
    }
    const auto why = ended_before(*reply);
    if (why.empty() || std::exchange(lost_, true)) return;
    complain("the lock on " + printable(plan_.locks.front().resource) +
             " was lost while the command ran: " + why);
}

// Returns how the lock had ended before the release, or an empty string if the release ended it.
std::string Runner::ended_before(const Result<Reply>& reply) {
    if (!reply) {
        if (exit_status::of(reply.error()) != exit_status::lost) return {};
        return why_lost(reply.error());
    }
    const auto* released = std::get_if<Released>(&*reply);
    if (released == nullptr) return {};
    switch (released->outcome) {
        case Outcome::expired:
        case Outcome::stolen:
        case Outcome::broken:
        case Outcome::transferred:
            return explain_ending(ending_in(*released));
        default:
            return {};
    }
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

int run_under_lock(LockConnection& manager, const RunPlan& plan) {
    return Runner(manager, plan).run();
}

}  // namespace rocklock
