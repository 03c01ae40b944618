// node ls, node yield and node check: the nodes of a cluster.
#include <chrono>
#include <thread>
#include <utility>

#include <rocklock/clock.hpp>

#include "base/duration_text.hpp"
#include "base/time_format.hpp"
#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/text_table.hpp"
#include "daemon/cli/verbs.hpp"
#include "wire/call_json.hpp"
#include "wire/lock_words.hpp"

namespace rocklock {
namespace {

using std::chrono::steady_clock;

// The maximum time until another node is the manager after a handover, and the period of queries.
constexpr std::chrono::seconds max_handover{15};
constexpr std::chrono::milliseconds handover_period{50};

// Returns the manager after a handover by the node `before`.
Result<ClusterNode> next_manager(const std::string& before, WallTime asked,
                                 const Arguments& arguments) {
    const auto until = steady_clock::now() + max_handover;
    bool continues = false;
    while (!continues && steady_clock::now() < until) {
        // The query fails while the connections of the node are closed.
        const auto list = ask_manager<NodeList>(ListNodes{}, arguments);
        if (list && !list->nodes.empty()) {
            const auto& first = list->nodes.front();
            if (first.role == NodeRole::manager && first.name != before) return first;
            // The role begins again if no other node has taken it.
            continues = first.role == NodeRole::manager && first.since > asked;
        }
        std::this_thread::sleep_for(handover_period);
    }
    if (continues) {
        return Error(ErrorCode::resource_in_use,
                     "no other node has become the manager in time, so the node " + before +
                         " continues: see the logs of the other nodes");
    }
    return Error(ErrorCode::unreachable,
                 "the node " + before +
                     " has ended its role, but no other node has become the manager yet: list the "
                     "nodes with `rocklock node ls`, and see the logs of the nodes");
}

}  // namespace

int node_list_verb(const Arguments& arguments) {
    const auto list = ask_manager<NodeList>(ListNodes{}, arguments);
    if (!list) return fail(list.error());
    const auto now = system_clock().now().wall;
    TextTable table({"NODE", "ROLE", "FOR", "ADDRESS", "PID", "VERSION"});
    for (const auto& node : list->nodes) {
        if (arguments.has("json")) {
            print(write_value(node));
            continue;
        }
        table.add({printable(node.name), std::string(word(node.role)),
                   format_duration(now - node.since),
                   node.address.empty() ? "-" : printable(node.address), std::to_string(node.pid),
                   node.version.empty() ? "-" : printable(node.version)});
    }
    if (!arguments.has("json")) print_table(table, arguments);
    return exit_status::done;
}

int node_yield_verb(const Arguments& arguments) {
    const WallTime asked = system_clock().now().wall;
    const auto handed_over = ask_manager<HandedOver>(HandOver{}, arguments);
    if (!handed_over) return fail(handed_over.error());
    const auto manager = next_manager(handed_over->node, asked, arguments);
    if (!manager) return fail(manager.error());
    if (arguments.has("json")) {
        print(write_value(*manager));
    } else if (!arguments.has("quiet")) {
        print("the node " + printable(manager->name) + " is the manager now");
    }
    return exit_status::done;
}

int node_check_verb(const Arguments& arguments) {
    const auto checked = ask_manager<NodeChecked>(CheckNode{}, arguments);
    if (!checked) return fail(checked.error());
    if (arguments.has("json")) {
        print(write_value(*checked));
    } else if (checked->differences > 0 || !arguments.has("quiet")) {
        print("compared " + std::to_string(checked->values) + " values of the node " +
              printable(checked->node) +
              " with etcd, differences: " + std::to_string(checked->differences));
        for (const auto& example : checked->examples) print("  " + printable(example));
    }
    if (checked->differences == 0) return exit_status::done;
    complain(
        "the copy of the node " + printable(checked->node) +
        " is damaged, or another program has changed keys below the prefix of the store. First "
        "delete the keys that another program has added (etcdctl del). To load the copy again, "
        "make another node the manager (rocklock node yield), stop this node, delete its copy if "
        "it has one on disk (--copy), and start it again");
    return exit_status::internal;
}

}  // namespace rocklock
