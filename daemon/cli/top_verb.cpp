// top: lists holders repeatedly, those with the most waiters first.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include <rocklock/clock.hpp>

#include "base/duration_text.hpp"
#include "base/time_format.hpp"
#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/screen.hpp"
#include "daemon/cli/text_table.hpp"
#include "daemon/cli/verbs.hpp"
#include "wire/call_json.hpp"
#include "wire/lock_words.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t max_locks = 1000;
// Each contended resource costs one call.
constexpr std::size_t max_contended = 200;
constexpr milliseconds min_interval{50};

struct Row {
    Holder holder;
    std::size_t waiters = 0;
};

// Counters of the daemon for all locks, with the time at which they were read.
struct Counted {
    std::chrono::steady_clock::time_point at;
    std::uint64_t granted = 0;
    std::uint64_t waits = 0;
};

// Per second, since the previous picture.
struct Rates {
    double grants = 0;
    double waits = 0;
};

struct Picture {
    WallTime at;
    Counted counted;
    // None in the first picture, and if the daemon was restarted.
    std::optional<Rates> rates;
    std::vector<Row> rows;
    std::size_t waiting = 0;
    // Whether there are more locks than `rows` contains.
    bool more = false;
};

Result<std::map<std::string, std::size_t>> count_waiters(LockConnection& manager,
                                                         const std::string& prefix,
                                                         const CallLimits& limits) {
    ListLocks contended;
    contended.prefix = prefix;
    contended.contended = true;
    contended.limit = max_locks;
    const auto page = manager.ask<LockPage>(Call{contended, {}, {}}, limits);
    if (!page) return page.error();
    std::map<std::string, std::size_t> waiters;
    for (const auto& holder : page->locks) {
        if (waiters.size() >= max_contended || waiters.contains(holder.resource)) continue;
        const auto view = manager.ask<LockView>(Call{ShowLock{holder.resource}, {}, {}}, limits);
        if (!view) return view.error();
        waiters[holder.resource] = view->waiters.size();
    }
    return waiters;
}

Result<Picture> take_picture(LockConnection& manager, const std::string& prefix,
                             const CallLimits& limits) {
    auto waiters = count_waiters(manager, prefix, limits);
    if (!waiters) return std::move(waiters).error();
    const auto counts = manager.ask<LockStatistics>(Call{ShowStatistics{}, {}, {}}, limits);
    if (!counts) return counts.error();
    const Counted counted{std::chrono::steady_clock::now(), counts->granted, counts->waits};
    ListLocks list;
    list.prefix = prefix;
    list.limit = max_locks;
    auto page = manager.ask<LockPage>(Call{list, {}, {}}, limits);
    if (!page) return std::move(page).error();
    Picture picture;
    picture.at = system_clock().now().wall;
    picture.counted = counted;
    picture.more = !page->next.empty();
    for (auto& holder : page->locks) {
        const auto found = waiters->find(holder.resource);
        picture.rows.push_back({std::move(holder), found == waiters->end() ? 0 : found->second});
    }
    for (const auto& [resource, count] : *waiters) picture.waiting += count;
    std::stable_sort(picture.rows.begin(), picture.rows.end(), [](const Row& a, const Row& b) {
        return std::make_pair(b.waiters, a.holder.acquired_at) <
               std::make_pair(a.waiters, b.holder.acquired_at);
    });
    return picture;
}

std::optional<Rates> rates_between(const Counted& before, const Counted& now) {
    const std::chrono::duration<double> seconds = now.at - before.at;
    if (now.granted < before.granted || now.waits < before.waits || seconds.count() <= 0) {
        return std::nullopt;
    }
    return Rates{static_cast<double>(now.granted - before.granted) / seconds.count(),
                 static_cast<double>(now.waits - before.waits) / seconds.count()};
}

// Shows one decimal if the rate is below 10.
std::string rate_text(double rate) {
    const double tenths = std::round(rate * 10);
    if (tenths >= 100) return std::to_string(std::llround(rate));
    const auto shown = static_cast<int>(tenths);
    return std::to_string(shown / 10) + "." + std::to_string(shown % 10);
}

std::string text_of(const Picture& picture, bool colour) {
    TextTable table({"RESOURCE", "WAITING", "MODE", "PRINCIPAL", "AGE", "LEFT", "GRANT", "NOTE"});
    for (const auto& [holder, waiters] : picture.rows) {
        table.add({printable(holder.resource), waiters == 0 ? "" : std::to_string(waiters),
                   describe_mode(holder.mode, holder.permits, holder.subtree),
                   printable(holder.principal), format_duration(picture.at - holder.acquired_at),
                   left_in_table(holder.remaining), std::to_string(number(holder.grant)),
                   printable(holder.note)});
    }
    std::string rates;
    if (picture.rates) {
        rates = "; of all locks " + rate_text(picture.rates->grants) + " grants/s, " +
                rate_text(picture.rates->waits) + " waits/s";
    }
    return format_time(picture.at) + "  " + std::to_string(picture.rows.size()) +
           (picture.more ? " and more" : "") + " held, " + std::to_string(picture.waiting) +
           " waiting" + rates + "\n\n" + table.text(colour);
}

std::string json_of(const Picture& picture) {
    std::string json = "{\"At\":\"" + format_time(picture.at) +
                       "\",\"Waiting\":" + std::to_string(picture.waiting) +
                       ",\"More\":" + (picture.more ? "true" : "false");
    if (picture.rates) {
        json += ",\"GrantsPerSecond\":" + rate_text(picture.rates->grants) +
                ",\"WaitsPerSecond\":" + rate_text(picture.rates->waits);
    }
    json += ",\"Locks\":[";
    for (const auto& row : picture.rows) {
        if (&row != &picture.rows.front()) json += ",";
        json += "{\"Waiting\":" + std::to_string(row.waiters) +
                ",\"Holder\":" + write_value(row.holder) + "}";
    }
    return json + "]}";
}

struct Plan {
    std::string prefix;
    milliseconds interval{1000};
    bool once = false;
    bool json = false;
    bool colour = false;
};

// Takes pictures on a thread of its own, so that the screen reacts to keys while the daemon does
// not reply.
//
// Lifetime: the manager must outlive it. The destructor cancels a running call.
class StatusPoller {
public:
    StatusPoller(LockConnection& manager, std::string prefix)
        : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
          thread_([this, &manager, prefix = std::move(prefix)](const std::stop_token& stop) {
              work(manager, prefix, stop);
          }) {}
    StatusPoller(const StatusPoller&) = delete;
    StatusPoller& operator=(const StatusPoller&) = delete;
    ~StatusPoller() {
        thread_.request_stop();
        thread_.join();
        ::close(event_);
    }

    // Starts to take a picture. Must not be called while busy_since() has a value.
    void start() {
        const std::lock_guard lock(mutex_);
        wanted_ = true;
        began_ = std::chrono::steady_clock::now();
        wake_.notify_all();
    }
    // Returns the time of start() if the picture was not taken yet, otherwise nullopt.
    std::optional<std::chrono::steady_clock::time_point> busy_since() const { return began_; }
    // Returns a descriptor that is readable if take() would return a picture.
    int fd() const { return event_; }
    std::optional<Result<Picture>> take() {
        const std::lock_guard lock(mutex_);
        if (!taken_) return std::nullopt;
        std::uint64_t count = 0;
        [[maybe_unused]] const auto size = ::read(event_, &count, sizeof count);
        began_.reset();
        return std::exchange(taken_, std::nullopt);
    }

private:
    void work(LockConnection& manager, const std::string& prefix, const std::stop_token& stop) {
        CallLimits limits;
        limits.stop = stop;
        std::unique_lock lock(mutex_);
        while (wake_.wait(lock, stop, [this] { return wanted_; })) {
            wanted_ = false;
            lock.unlock();
            auto picture = take_picture(manager, prefix, limits);
            lock.lock();
            taken_ = std::move(picture);
            const std::uint64_t one = 1;
            [[maybe_unused]] const auto size = ::write(event_, &one, sizeof one);
        }
    }

    const int event_;
    std::optional<std::chrono::steady_clock::time_point> began_;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    bool wanted_ = false;
    std::optional<Result<Picture>> taken_;
    // Declared last because the thread uses all members above.
    std::jthread thread_;
};

// Returns the text cut to `lines` lines; the last line says how many were cut and how to leave.
std::string fitted(const std::string& text, std::size_t lines) {
    const auto all = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    if (all + 2 <= lines) return text + "\nq quits";
    const std::size_t shown = std::min(all, std::max<std::size_t>(lines, 1) - 1);
    std::size_t end = 0;
    for (std::size_t line = 0; line < shown; ++line) end = text.find('\n', end) + 1;
    const auto rest = all - shown;
    return text.substr(0, end) + (rest > 0 ? "and " + std::to_string(rest) + " more; " : "") +
           "q quits";
}

// Returns the exit status if the wakeup ends the program, otherwise nullopt.
std::optional<int> status_of(const Screen& screen, Wakeup wakeup) {
    if (wakeup == Wakeup::key && (screen.key() == 'q' || screen.key() == 'Q')) {
        return exit_status::done;
    }
    if (wakeup != Wakeup::signal) return std::nullopt;
    // Ctrl-C is a normal way to leave.
    return screen.signal() == SIGINT ? exit_status::done : exit_status::signalled + screen.signal();
}

// Prints one picture after the other, or a single one, without taking over the terminal.
int watch_plainly(LockConnection& manager, const Plan& plan, Screen& screen,
                  std::optional<Error>& problem) {
    std::optional<Counted> before;
    while (true) {
        auto picture = take_picture(manager, plan.prefix, {});
        if (!picture) {
            problem = picture.error();
            return exit_status::of(*problem);
        }
        if (before) picture->rates = rates_between(*before, picture->counted);
        before = picture->counted;
        auto text = plan.json ? json_of(*picture) : text_of(*picture, plan.colour);
        if (!plan.json) text.pop_back();
        print(text);
        if (!output_written()) return exit_status::internal;
        if (plan.once) return exit_status::done;
        if (const auto status = status_of(screen, screen.wait(plan.interval))) return *status;
    }
}

// Draws pictures on the terminal and reacts to keys at any time. If the daemon does not reply, the
// screen shows this above the last picture until it replies again.
class TopScreen {
public:
    TopScreen(LockConnection& manager, const Plan& plan, Screen& screen)
        : plan_(plan), screen_(screen), poller_(manager, plan.prefix) {}

    int watch(std::optional<Error>& problem) {
        poller_.start();
        while (true) {
            const auto wakeup = screen_.wait(pause(), poller_.fd());
            if (const auto status = status_of(screen_, wakeup)) return *status;
            if (auto picture = poller_.take()) take(*std::move(picture));
            // If the daemon was never reached, do not wait for it.
            if (problem_ && shown_.empty()) {
                problem = problem_;
                return exit_status::of(*problem);
            }
            const auto now = std::chrono::steady_clock::now();
            if (!poller_.busy_since() && now >= next_) poller_.start();
            draw(now);
        }
    }

private:
    // Returns how long to wait for the next event.
    milliseconds pause() const {
        const auto now = std::chrono::steady_clock::now();
        if (poller_.busy_since()) return max_silence;
        return std::max(std::chrono::ceil<milliseconds>(next_ - now), milliseconds{0});
    }

    void take(Result<Picture> picture) {
        const auto now = std::chrono::steady_clock::now();
        next_ = now + plan_.interval;
        if (!picture) {
            problem_ = std::move(picture).error();
            if (!silent_since_) silent_since_ = now;
            return;
        }
        problem_.reset();
        silent_since_.reset();
        if (before_) picture->rates = rates_between(*before_, picture->counted);
        before_ = picture->counted;
        shown_ = text_of(*picture, plan_.colour);
    }

    void draw(std::chrono::steady_clock::time_point now) {
        if (shown_.empty()) return;
        const auto busy = poller_.busy_since();
        if (!silent_since_ && busy && now - *busy >= max_silence) silent_since_ = *busy;
        std::string text;
        if (silent_since_) {
            text = "NOT ANSWERING for " +
                   format_duration(std::chrono::floor<std::chrono::seconds>(now - *silent_since_)) +
                   ": " + (problem_ ? printable(problem_->message) : "waiting for the daemon") +
                   "\n";
        }
        screen_.draw(fitted(text + shown_, screen_.size().lines));
    }

    // If a picture takes longer than this, the daemon is shown as not answering.
    static constexpr milliseconds max_silence{1000};

    const Plan& plan_;
    Screen& screen_;
    std::optional<Counted> before_;
    std::string shown_;
    std::optional<Error> problem_;
    std::optional<std::chrono::steady_clock::time_point> silent_since_;
    std::chrono::steady_clock::time_point next_;
    StatusPoller poller_;
};

Result<Plan> plan_of(const Arguments& arguments) {
    Plan plan;
    if (!arguments.operands.empty()) plan.prefix = arguments.operands.front();
    if (const auto text = arguments.get("interval")) {
        const auto interval = parse_duration(*text);
        if (!interval || *interval < min_interval || *interval > std::chrono::hours{1}) {
            return Error(ErrorCode::invalid_argument,
                         "--interval is '" + *text + "'; give from 50ms to 1h, as in 2s");
        }
        plan.interval = *interval;
    }
    plan.json = arguments.has("json");
    const bool terminal = ::isatty(STDOUT_FILENO) == 1;
    plan.once = arguments.has("once") || (!plan.json && !terminal);
    plan.colour = !arguments.has("no-color") && stdout_takes_colour();
    return plan;
}

}  // namespace

int top_verb(const Arguments& arguments) {
    const auto settings = Settings::load(arguments);
    if (!settings) return fail(settings.error());
    const auto plan = plan_of(arguments);
    if (!plan) return fail(plan.error());
    std::optional<Error> problem;
    int status = exit_status::done;
    {
        // Constructed before threads are started. Destroyed before an error is printed.
        Screen screen(!plan->once && !plan->json);
        auto manager = open_manager(arguments, *settings, milliseconds{0}, Opening::existing);
        if (manager) {
            status = plan->once || plan->json ? watch_plainly(**manager, *plan, screen, problem)
                                              : TopScreen(**manager, *plan, screen).watch(problem);
        } else {
            problem = manager.error();
        }
    }
    return problem ? fail(*problem) : status;
}

}  // namespace rocklock
