// stats and outliers.
#include <utility>

#include "base/duration_text.hpp"
#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/text_table.hpp"
#include "daemon/cli/verbs.hpp"
#include "wire/call_json.hpp"

namespace rocklock {
namespace {

using std::chrono::ceil;
using std::chrono::milliseconds;

// Returns the bound of the bucket that contains the quantile, in milliseconds or microseconds.
std::string quantile(const Histogram& histogram, double part) {
    const auto count = histogram.count();
    if (count == 0) return "-";
    const auto rank = static_cast<double>(count) * part;
    std::uint64_t seen = 0;
    for (std::size_t bucket = 0; bucket < histogram.bounds().size(); ++bucket) {
        seen += histogram.counts()[bucket];
        if (static_cast<double>(seen) < rank) continue;
        const auto bound = histogram.bounds()[bucket];
        if (bound < milliseconds{1}) return "<=" + std::to_string(bound.count()) + "us";
        return "<=" + exact_duration(ceil<milliseconds>(bound));
    }
    return ">" + exact_duration(ceil<milliseconds>(histogram.bounds().back()));
}

void add_histogram(TextTable& table, std::string_view name, const Histogram& histogram) {
    const auto count = histogram.count();
    std::string mean = "-";
    if (count > 0) {
        const auto average = histogram.sum() / static_cast<std::int64_t>(count);
        mean = average < milliseconds{100}
                   ? std::to_string(
                         std::chrono::duration_cast<std::chrono::microseconds>(average).count()) +
                         "us"
                   : format_duration(std::chrono::duration_cast<milliseconds>(average));
    }
    table.add({std::string(name), std::to_string(count), mean, quantile(histogram, 0.5),
               quantile(histogram, 0.99)});
}

// The counts in the order in which they are printed.
std::vector<std::pair<std::string_view, std::uint64_t>> counts_of(const LockStatistics& all) {
    return {{"sessions", all.sessions},
            {"held", all.held},
            {"waiting", all.waiting},
            {"granted", all.granted},
            {"recovered", all.recovered},
            {"released", all.released},
            {"expired", all.expired},
            {"stolen", all.stolen},
            {"broken", all.broken},
            {"transferred", all.transferred},
            {"waits", all.waits},
            {"refused", all.refused},
            {"wait timeouts", all.patience_expired},
            {"cancelled", all.cancelled},
            {"deadlocks", all.deadlocks},
            {"queues full", all.queue_full},
            {"steals refused", all.steals_refused},
            {"conversions", all.conversions},
            {"repeated requests", all.replays},
            {"sessions opened", all.sessions_opened},
            {"sessions expired", all.sessions_expired},
            {"renewals", all.renewals},
            {"read locks", all.locks_granted[static_cast<std::size_t>(Mode::read)]},
            {"write locks", all.locks_granted[static_cast<std::size_t>(Mode::write)]},
            {"exclusive locks", all.locks_granted[static_cast<std::size_t>(Mode::exclusive)]},
            {"permits granted", all.permits_granted},
            {"classes drained", all.classes_draining},
            {"events kept", all.events},
            {"events dropped", all.events_dropped}};
}

void print_statistics(const LockStatistics& all, const Arguments& arguments) {
    TextTable counts({"COUNT", "VALUE"});
    for (const auto& [name, value] : counts_of(all)) {
        counts.add({std::string(name), std::to_string(value)});
    }
    print_table(counts, arguments);
    TextTable times({"TIME", "COUNT", "MEAN", "MEDIAN", "P99"});
    add_histogram(times, "waits for locks", all.wait);
    add_histogram(times, "locks held", all.hold);
    add_histogram(times, "left at renewal", all.renew_margin);
    add_histogram(times, "acquires", all.acquire);
    print("");
    print_table(times, arguments);
    if (all.users.empty()) return;
    TextTable users({"UID", "SESSIONS", "GRANTS", "WAITERS", "LOCK BYTES"});
    for (const auto& user : all.users) {
        users.add({std::to_string(user.uid), std::to_string(user.sessions),
                   std::to_string(user.grants), std::to_string(user.waiters),
                   std::to_string(user.lock_bytes)});
    }
    print("");
    print_table(users, arguments);
}

}  // namespace

int stats_verb(const Arguments& arguments) {
    const auto statistics = ask_manager<LockStatistics>(ShowStatistics{}, arguments);
    if (!statistics) return fail(statistics.error());
    if (arguments.has("json")) {
        print(write_reply(*statistics));
    } else {
        print_statistics(*statistics, arguments);
    }
    return exit_status::done;
}

int outliers_verb(const Arguments& arguments) {
    ListOutliers list;
    if (const auto text = arguments.get("limit")) {
        const auto limit = number_in("limit", *text);
        if (!limit) return fail(limit.error());
        if (*limit == 0 || *limit > 1'000) {
            return fail({ErrorCode::invalid_argument,
                         "--limit is '" + *text + "'; give a number from 1 to 1000"});
        }
        list.limit = static_cast<std::uint32_t>(*limit);
    }
    const auto outliers = ask_manager<Outliers>(list, arguments);
    if (!outliers) return fail(outliers.error());
    if (arguments.has("json")) {
        print(write_reply(*outliers));
        return exit_status::done;
    }
    const auto now = system_clock().now().wall;
    TextTable held({"LONGEST HELD", "MODE", "PRINCIPAL", "AGE", "GRANT"});
    for (const auto& holder : outliers->longest_held) {
        held.add({printable(holder.resource),
                  describe_mode(holder.mode, holder.permits, holder.subtree),
                  printable(holder.principal), format_duration(now - holder.acquired_at),
                  std::to_string(number(holder.grant))});
    }
    print_table(held, arguments);
    TextTable hot({"MOST WAITS", "WAITS", "ERROR"});
    for (const auto& resource : outliers->hottest) {
        hot.add({printable(resource.resource), std::to_string(resource.waits),
                 std::to_string(resource.error)});
    }
    print("");
    print_table(hot, arguments);
    return exit_status::done;
}

}  // namespace rocklock
