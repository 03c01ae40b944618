// The nodes whose relays may connect to this manager, and the rights of their clients.
//
// The file has one line for each node: the name of the node, followed by optional members
// (NAME=VALUE). Empty lines and text after `#` are ignored:
//
//     web1
//     web2    certificate=web2.example.org    resources=orders/,stock/    rights=locks
//
//     certificate   The common name, or a DNS name, in the certificate of the node. The default is
//                   the name of the node.
//     resources     The prefixes of the resources that the clients may use. The default is all
//                   resources. Clients of a node with this member may not use tables, and may not
//                   make calls that concern all resources.
//     rights        `locks`, `tables` or both, separated by a comma. The default is both, or
//                   `locks` if `resources` is given.
//     connections   The maximum number of connections of all clients of the node together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/result.hpp>

#include "daemon/api/node_connections.hpp"
#include "daemon/peer/preface.hpp"
#include "daemon/peer/tls.hpp"
#include "service/remote_users.hpp"

namespace rocklock {

// Threads: thread-safe.
class PeerNodes {
public:
    // Errors: invalid_argument   the file cannot be read, or a line is invalid
    static Result<PeerNodes> load(const std::string& file);
    // As load(), with the text of the file. `source` is its name for error messages.
    static Result<PeerNodes> parse(std::string_view text, const std::string& source);
    // Permits every node to use all resources. Must only be used if the manager listens for relays
    // on loopback addresses only.
    static PeerNodes any();

    // Returns the node of a relay. If the relay has a certificate, the certificate determines the
    // node. Otherwise, the name in the preface determines it.
    //
    // Errors: access_denied   no line permits the node
    Result<std::shared_ptr<const RemoteNode>> find(
        const std::optional<PeerCertificate>& certificate, const Preface& preface) const;

    // Returns the limit of connections of each node in the file. If a node has no member
    // `connections`, or is not in the file, its limit is `automatic`.
    NodeConnectionLimits connection_limits(std::uint64_t automatic) const;

private:
    struct Rule {
        std::string certificate;
        RemoteNode node;
        std::optional<std::uint64_t> max_connections;
    };

    static Result<Rule> parse_line(std::string_view line);

    bool permits_all_ = false;
    std::vector<Rule> rules_;
};

// Returns true if the text is a valid name of a node: 1 to 64 letters, digits, dots, hyphens and
// underscores.
bool is_node_name(std::string_view name);
// Checks the setting `node`. Errors: invalid_argument
Result<void> check_node_name(const std::string& name);

}  // namespace rocklock
