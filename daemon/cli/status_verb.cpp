// status: which manager the clients of this user use, and why.
#include <unistd.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/duration_text.hpp"
#include "client/unix_socket.hpp"
#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/manager_choice.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/verbs.hpp"
#include "service/process_id.hpp"
#include "wire/json/json_writer.hpp"

namespace rocklock {
namespace {

constexpr std::uint32_t status_page_size = 1000;

// The numbers of sessions by the node and the uid. The node is empty for the manager's host.
using Users = std::map<std::pair<std::string, std::uint32_t>, std::uint64_t>;

Result<Users> users_of(LockConnection& manager) {
    Users users;
    ListSessions list;
    list.limit = status_page_size;
    do {
        auto page = manager.ask<SessionPage>(Call{list, {}, {}});
        if (!page) return std::move(page).error();
        for (const auto& session : page->sessions)
            ++users[{session.host.node, uid_of(session.uid)}];
        list.next = page->next;
    } while (!list.next.empty());
    return users;
}

std::string_view word_of(ManagerKind kind) {
    switch (kind) {
        case ManagerKind::named:
            return "named";
        case ManagerKind::system:
            return "system";
        case ManagerKind::own:
            return "private";
    }
    return "";
}

// Returns which processes the locks of this manager exclude.
std::string reach_of(ManagerKind kind) {
    switch (kind) {
        case ManagerKind::named:
            return "the clients that name this socket";
        case ManagerKind::system:
            return "all programs of this machine that use its system manager";
        case ManagerKind::own:
            return "only processes of user " + user_name(::getuid());
    }
    return "";
}

// Returns the node of this host; empty if it is the manager's host and not a node of a cluster.
const std::string& own_node(const Pong& pong) {
    return pong.node.empty() ? pong.manager_node : pong.node;
}

// Returns the name of a user. Clients over TCP have no uid; see docs/operations.md. This host is
// the node `here`, which is empty if it is the manager's host. The names of users of other hosts
// are not known here.
std::string name_of(const std::pair<std::string, std::uint32_t>& user, const std::string& here) {
    const auto& [node, uid] = user;
    const auto host = node.empty() ? "of the manager's host" : "of node " + node;
    if (uid == static_cast<std::uint32_t>(-1)) return node.empty() ? "TCP" : "TCP " + host;
    return node == here ? user_name(uid) : user_name_without_entry(uid) + " " + host;
}

// `pong` is null if the manager does not answer, and `users` is null if they are unknown.
void print_json(const ManagerChoice& choice, const Pong* pong, const Users* users) {
    JsonWriter json;
    const auto text = [&json](std::string_view name, std::string_view value) {
        json.key(name);
        json.string(value);
    };
    json.begin_object();
    text("Manager", word_of(choice.kind));
    text("Socket", choice.socket);
    text("Reason", choice.reason);
    text("Excludes", reach_of(choice.kind));
    json.key("Running");
    json.boolean(pong != nullptr);
    if (pong != nullptr) {
        text("Version", pong->version);
        text("Store", pong->store);
        text("Durability", pong->durability);
        json.key("Pid");
        json.number(pong->pid);
        if (pong->uptime) {
            json.key("UptimeMs");
            json.number(pong->uptime->count());
        }
        json.key("LowSpace");
        json.boolean(pong->low_space);
        if (!pong->node.empty()) text("Node", pong->node);
        if (!pong->manager_node.empty()) text("ManagerNode", pong->manager_node);
    }
    if (users != nullptr) {
        json.key("Users");
        json.begin_array();
        for (const auto& [user, sessions] : *users) {
            json.begin_object();
            json.key("Uid");
            json.number(user.second);
            if (!user.first.empty()) text("Node", user.first);
            text("Name", name_of(user, own_node(*pong)));
            json.key("Sessions");
            json.number(sessions);
            json.end_object();
        }
        json.end_array();
    }
    json.end_object();
    print(json.text());
}

void print_text(const ManagerChoice& choice, const Pong* pong, const Users* users) {
    print("manager   " + std::string(word_of(choice.kind)) + ", on " + printable(choice.socket));
    print("because   " + printable(choice.reason));
    print("excludes  " + reach_of(choice.kind));
    if (pong == nullptr) {
        print(is_listening(choice.socket) ? "state     runs, but cannot be used"
                                          : "state     does not run");
        return;
    }
    if (!pong->node.empty()) {
        print("through   the relay of this host, which is the node " + printable(pong->node) +
              "; the lines below describe the manager on its host");
    }
    print("store     " + printable(pong->store) + " (" + pong->durability + ")");
    if (!pong->manager_node.empty()) print("node      " + printable(pong->manager_node));
    print("state     runs" + (pong->uptime ? " for " + format_duration(*pong->uptime) : "") +
          ", pid " + std::to_string(pong->pid) + ", version " + printable(pong->version));
    if (pong->low_space) {
        print("space     the disk is almost full: new sessions, locks and data are refused");
    }
    if (users == nullptr) return;
    std::string list;
    for (const auto& [user, sessions] : *users) {
        list += (list.empty() ? "" : ", ") + name_of(user, own_node(*pong)) + " (" +
                std::to_string(sessions) + (sessions == 1 ? " session)" : " sessions)");
    }
    print("users     " + (list.empty() ? "none" : list));
}

}  // namespace

int status_verb(const Arguments& arguments) {
    auto quiet = arguments;
    // Without --start, this verb reports the state and does not change it.
    if (!arguments.has("start")) quiet.options["no-start"] = "";
    const auto settings = Settings::load(quiet);
    if (!settings) return fail(settings.error());
    const auto choice = choose_manager(*settings);
    if (!choice) return fail(choice.error());
    auto manager = open_manager(quiet, *settings, std::chrono::milliseconds{0});
    if (!manager) return fail(manager.error());
    const auto show = arguments.has("json") ? print_json : print_text;
    const auto pong = (*manager)->ask<Pong>(Call{Ping{}, {}, {}});
    if (!pong) {
        show(*choice, nullptr, nullptr);
        return fail(pong.error());
    }
    const auto users = users_of(**manager);
    if (!users) {
        show(*choice, &*pong, nullptr);
        // The clients of some nodes may not list sessions (peer-nodes of the manager).
        if (users.error().code == ErrorCode::access_denied) return exit_status::done;
        return fail(users.error());
    }
    show(*choice, &*pong, &*users);
    return exit_status::done;
}

}  // namespace rocklock
