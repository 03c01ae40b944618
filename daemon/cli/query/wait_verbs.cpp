// waits and deadlocks.
#include <utility>

#include "base/time_format.hpp"
#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/text_table.hpp"
#include "daemon/cli/verbs.hpp"
#include "wire/call_json.hpp"

namespace rocklock {
namespace {

// The maximum number of edges in a reply to ListWaits.
constexpr std::size_t max_edges = 10'000;

std::string text_of(const Deadlock& deadlock) {
    std::string text = format_time(deadlock.at);
    for (const auto& step : deadlock.cycle) {
        text += "\n  " + printable(step.principal) + " waits for " + printable(step.resource) +
                ", session " + to_string(step.session);
    }
    return text;
}

}  // namespace

int waits_verb(const Arguments& arguments) {
    const auto list = ask_manager<WaitList>(ListWaits{}, arguments);
    if (!list) return fail(list.error());
    const std::string prefix = arguments.operands.empty() ? "" : arguments.operands.front();
    TextTable table({"RESOURCE", "WAITER", "WAITER SESSION", "BLOCKER", "BLOCKER SESSION", "BY"});
    for (const auto& edge : list->waits) {
        if (!edge.resource.starts_with(prefix)) continue;
        if (arguments.has("json")) {
            print(write_value(edge));
            continue;
        }
        table.add({printable(edge.resource), printable(edge.waiter_principal),
                   to_string(edge.waiter), printable(edge.blocker_principal),
                   to_string(edge.blocker), edge.blocker_holds ? "lock" : "earlier request"});
    }
    if (!arguments.has("json")) print_table(table, arguments);
    if (list->waits.size() >= max_edges) {
        complain("there can be more: only the first " + std::to_string(max_edges) +
                 " can be listed; `rocklock show RESOURCE` lists the waiters of one resource");
    }
    return exit_status::done;
}

int deadlocks_verb(const Arguments& arguments) {
    const auto list = ask_manager<DeadlockList>(ListDeadlocks{}, arguments);
    if (!list) return fail(list.error());
    for (const auto& deadlock : list->deadlocks) {
        print(arguments.has("json") ? write_value(deadlock) : text_of(deadlock));
    }
    return exit_status::done;
}

}  // namespace rocklock
