#include "service/node_rights.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>

#include "base/is_one_of.hpp"
#include "service/dispatcher.hpp"

namespace rocklock {
namespace {

bool may_name(const RemoteNode& node, std::string_view name) {
    return std::any_of(node.prefixes.begin(), node.prefixes.end(),
                       [&](const std::string& prefix) { return name.starts_with(prefix); });
}

std::string permitted(const RemoteNode& node) {
    std::string text;
    for (const auto& prefix : node.prefixes) text += (text.empty() ? "" : ", ") + prefix;
    return text;
}

Error not_permitted(const RemoteNode& node, const std::string& what) {
    return {ErrorCode::access_denied, what + ": the clients of the node " + node.host.node +
                                          " may use only resources whose names begin with " +
                                          permitted(node) + " (peer-nodes of the manager)"};
}

template <typename Verb>
std::optional<Error> check_names(const RemoteNode& node, const Verb& verb) {
    // These calls return facts about all resources, or name a grant of another session whose
    // resources are not known here.
    using Unlimited = std::variant<ListWaits, ListDeadlocks, ListAudit, ListOutliers, ListBindings,
                                   ListSessions, ListClasses, Steal, Break, Reacquire>;
    if constexpr (is_one_of<Verb, Unlimited>) {
        return not_permitted(node, "this call is not limited to some resources");
    } else if constexpr (requires { verb.locks; }) {
        for (const auto& lock : verb.locks) {
            if (!may_name(node, lock.resource)) {
                return not_permitted(node, "the resource '" + lock.resource + "'");
            }
        }
    } else if constexpr (requires { verb.resource; }) {
        if (!may_name(node, verb.resource)) {
            return not_permitted(node, "the resource '" + verb.resource + "'");
        }
    } else if constexpr (requires { verb.prefix; }) {
        if (!may_name(node, verb.prefix)) {
            return not_permitted(node, "the prefix '" + verb.prefix + "'");
        }
    }
    return std::nullopt;
}

}  // namespace

bool may_name_all(const RemoteNode& node) { return may_name(node, ""); }

std::optional<Error> check_rights(const RemoteNode& node, const CallBody& body) {
    // Clients that use only tables also send a Ping.
    if (!node.may_lock && !only_reads(body) && !std::holds_alternative<Ping>(body)) {
        return Error(ErrorCode::access_denied,
                     "the clients of the node " + node.host.node +
                         " may not use locks and sessions (peer-nodes of the manager)");
    }
    if (may_name_all(node)) return std::nullopt;
    return std::visit([&](const auto& verb) { return check_names(node, verb); }, body);
}

}  // namespace rocklock
