// Users of nodes: of other hosts, whose clients connect through the relays of these hosts, and of
// the manager's host in a cluster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/identity.hpp>

#include "base/mutex.hpp"

namespace rocklock {

// The host of a client that connects through a relay, and the rights that the configuration of the
// manager gives to the clients of this host.
struct RemoteNode {
    ClientHost host;
    // See node_number().
    std::uint32_t number = 0;
    // The clients may name only resources whose names begin with one of these prefixes. The empty
    // prefix permits every name.
    std::vector<std::string> prefixes;
    // Whether the clients may use locks and sessions. If false, they may still make calls of the
    // lock API that only read.
    bool may_lock = true;
    // Whether the clients may use tables.
    bool may_use_tables = true;

    friend bool operator==(const RemoteNode&, const RemoteNode&) = default;
};

// Returns the number of the node with this name: a hash value from 1 to 2^20 - 1. The limit ensures
// that the UserId of each user of the node, which contains this number, is exact in JSON. Two nodes
// of one manager must not have the same number.
std::uint32_t node_number(std::string_view name);

// The names of the users of other hosts, as their relays report them.
//
// A relay can report any number of users. The names of at most `max_named_users` users of a node
// are kept, which bounds the memory; the other users of the node are known by their uid only.
//
// Threads: thread-safe.
class RemoteUsers {
public:
    // `own_node` is the name of the manager's node, or empty if its host has no name.
    explicit RemoteUsers(const std::string& own_node = {});

    // Returns the user with this uid on the manager's host.
    UserId user_here(std::uint32_t uid) const { return user_of_node(own_number_, uid); }
    // Returns whether this is a user of the manager's host.
    bool is_here(UserId user) const { return node_number_of(user) == own_number_; }
    // Returns the name of the manager's node, or an empty string.
    const std::string& own_node() const { return own_node_; }

    // A node can have users whose names are not known yet.
    void add_node(const std::string& node) ROCKLOCK_EXCLUDES(mutex_);
    // `name` is the login name on the node's host, or empty if the user has none there.
    void add(const RemoteNode& node, std::uint32_t uid, std::string_view name)
        ROCKLOCK_EXCLUDES(mutex_);

    static constexpr std::size_t max_named_users = 10'000;

    // Returns the name of the user with its node, such as "ann@web1" or "uid 1000@web1".
    std::string name_of(UserId user) const ROCKLOCK_EXCLUDES(mutex_);
    // Returns the name of the node of the user, or nullopt if the node is not known.
    std::optional<std::string> node_of(UserId user) const ROCKLOCK_EXCLUDES(mutex_);
    // Returns true if a relay has reported a name of the user, and the name was kept.
    bool knows_name_of(UserId user) const ROCKLOCK_EXCLUDES(mutex_);
    // Returns the identities of the user for the rights of classes: "user:ann@web1",
    // "user:1000@web1" and "node:web1". Without a name, the first one is omitted.
    std::vector<std::string> identities_of(UserId user) const ROCKLOCK_EXCLUDES(mutex_);

private:
    struct Node {
        std::string name;
        // The users with names.
        std::map<std::uint32_t, std::string> users;
    };

    const std::string own_node_;
    const std::uint32_t own_number_;
    mutable Mutex mutex_;
    // By the numbers of the nodes.
    std::map<std::uint32_t, Node> nodes_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock
