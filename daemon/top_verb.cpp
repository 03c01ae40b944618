// top: who holds what, the most wanted first, again and again.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include <rocklock/clock.hpp>

#include "base/duration_text.hpp"
#include "daemon/exit_status.hpp"
#include "daemon/messages.hpp"
#include "daemon/screen.hpp"
#include "daemon/table.hpp"
#include "daemon/verbs.hpp"
#include "wire/call_json.hpp"
#include "wire/lock_words.hpp"
#include "wire/time_format.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t most_locks = 1000;
// Each costs a question to the daemon.
constexpr std::size_t most_contended = 200;
constexpr milliseconds shortest_interval{50};

struct Row {
    Holder holder;
    std::size_t waiters = 0;
};

// What the daemon has counted, of all locks, and when.
struct Counted {
    std::chrono::steady_clock::time_point at;
    std::uint64_t granted = 0;
    std::uint64_t waits = 0;
};

// A second, since the picture before.
struct Rates {
    double grants = 0;
    double waits = 0;
};

struct Picture {
    WallTime at;
    Counted counted;
    // None in the first picture, and where the daemon has begun to count anew.
    std::optional<Rates> rates;
    std::vector<Row> rows;
    std::size_t waiting = 0;
    // Whether there are more locks than are shown.
    bool more = false;
};

Result<std::map<std::string, std::size_t>> count_waiters(Manager& manager,
                                                         const std::string& prefix) {
    ListLocks contended;
    contended.prefix = prefix;
    contended.contended = true;
    contended.limit = most_locks;
    const auto page = manager.ask<LockPage>(Call{contended, {}, {}});
    if (!page) return page.error();
    std::map<std::string, std::size_t> waiters;
    for (const auto& holder : page->locks) {
        if (waiters.size() >= most_contended || waiters.contains(holder.resource)) continue;
        const auto view = manager.ask<LockView>(Call{ShowLock{holder.resource}, {}, {}});
        if (!view) return view.error();
        waiters[holder.resource] = view->waiters.size();
    }
    return waiters;
}

Result<Picture> take_picture(Manager& manager, const std::string& prefix) {
    auto waiters = count_waiters(manager, prefix);
    if (!waiters) return std::move(waiters).error();
    const auto counts = manager.ask<LockStatistics>(Call{ShowStatistics{}, {}, {}});
    if (!counts) return counts.error();
    const Counted counted{std::chrono::steady_clock::now(), counts->granted, counts->waits};
    ListLocks list;
    list.prefix = prefix;
    list.limit = most_locks;
    auto page = manager.ask<LockPage>(Call{list, {}, {}});
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

// With a decimal where it matters.
std::string rate_text(double rate) {
    const double tenths = std::round(rate * 10);
    if (tenths >= 100) return std::to_string(std::llround(rate));
    const auto shown = static_cast<int>(tenths);
    return std::to_string(shown / 10) + "." + std::to_string(shown % 10);
}

std::string text_of(const Picture& picture, bool colour) {
    Table table({"RESOURCE", "WAITING", "MODE", "PRINCIPAL", "AGE", "LEFT", "GRANT", "NOTE"});
    for (const auto& [holder, waiters] : picture.rows) {
        table.add({printable(holder.resource), waiters == 0 ? "" : std::to_string(waiters),
                   std::string(word(holder.mode)) + (holder.subtree ? "+" : ""),
                   printable(holder.principal), format_duration(picture.at - holder.acquired_at),
                   format_duration(holder.remaining), std::to_string(number(holder.grant)),
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

// Whether to leave.
bool leaves(Screen& screen, milliseconds interval) {
    switch (screen.wait(interval)) {
        case Wakeup::time:
        case Wakeup::resized:
            return false;
        case Wakeup::key:
            return screen.key() == 'q' || screen.key() == 'Q';
        case Wakeup::signal:
            return true;
    }
    return true;
}

struct Plan {
    std::string prefix;
    milliseconds interval{1000};
    bool once = false;
    bool json = false;
    bool colour = false;
};

// Shows one picture; the exit status when there is no going on.
std::optional<int> show(const Picture& picture, const Plan& plan, Screen& screen) {
    if (plan.json) {
        print(json_of(picture));
    } else if (plan.once) {
        auto text = text_of(picture, plan.colour);
        text.pop_back();
        print(text);
    } else {
        screen.draw(text_of(picture, plan.colour) + "\nq leaves");
    }
    if (plan.once) return exit_status::done;
    if (std::fflush(stdout) != 0) return exit_status::internal;
    return std::nullopt;
}

int watch(Manager& manager, const Plan& plan, Screen& screen, std::optional<Error>& problem) {
    std::optional<Counted> before;
    while (true) {
        auto picture = take_picture(manager, plan.prefix);
        if (!picture) {
            problem = picture.error();
            return exit_status::of(*problem);
        }
        if (before) picture->rates = rates_between(*before, picture->counted);
        before = picture->counted;
        if (const auto status = show(*picture, plan, screen)) return *status;
        if (!leaves(screen, plan.interval)) continue;
        // Ctrl-C is how one leaves.
        const bool killed = screen.signal() != 0 && screen.signal() != SIGINT;
        return killed ? exit_status::signalled + screen.signal() : exit_status::done;
    }
}

Result<Plan> plan_of(const Arguments& arguments) {
    Plan plan;
    if (!arguments.operands.empty()) plan.prefix = arguments.operands.front();
    if (const auto text = arguments.get("interval")) {
        const auto interval = parse_duration(*text);
        if (!interval || *interval < shortest_interval || *interval > std::chrono::hours{1}) {
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
        // Before there are threads, and gone before anything is said.
        Screen screen(!plan->once && !plan->json);
        auto manager = open_manager(arguments, *settings, milliseconds{0}, Opening::existing);
        if (manager) {
            status = watch(**manager, *plan, screen, problem);
        } else {
            problem = manager.error();
        }
    }
    return problem ? fail(*problem) : status;
}

}  // namespace rocklock
