// Accepts the connections of relays, which are the daemons of other hosts.
//
// After the TLS handshake, the relay sends its preface. The certificate of the relay, or the
// preface if there is no certificate, determines the node (PeerNodes::find()). After the preface
// was answered, the connection is a link, which carries the connections of the relay's clients
// (daemon/peer/link_frames.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/io_context.hpp>

#include "daemon/api/node_connections.hpp"
#include "daemon/peer/link_socket.hpp"
#include "daemon/peer/peer_nodes.hpp"
#include "daemon/peer/preface.hpp"
#include "daemon/peer/tls.hpp"
#include "daemon/server/admission.hpp"
#include "daemon/server/node_link.hpp"
#include "daemon/server/remote_processes.hpp"
#include "daemon/server/server.hpp"
#include "daemon/support/listener.hpp"
#include "daemon/support/log.hpp"

namespace rocklock {

// The certificate of the manager, and the nodes whose relays may connect.
struct PeerAccess {
    // Null if the manager does not listen for relays.
    std::shared_ptr<const TlsContext> tls;
    PeerNodes nodes = PeerNodes::any();
};

// Loads the files that the options name. Called at the start, and again on SIGHUP.
//
// Errors: invalid_argument   a file is invalid; or there is no certificate, and other hosts could
//                            connect; or there is a certificate, but no file with nodes
Result<PeerAccess> open_peer_access(const ServerOptions& options);

// Threads:  one, which runs the context.
// Lifetime: borrows the objects in `Uses`.
class PeerAdmission {
public:
    struct Uses {
        boost::asio::io_context& control;
        const Log& log;
        Admission& admission;
        Dispatcher& dispatcher;
        RemoteProcesses& processes;
        // The threads that serve the links, which are assigned round-robin.
        std::vector<std::unique_ptr<IoThread>>& threads;
        NodeConnections& connections;
        // The maximum number of connections of a node without a limit of its own.
        std::uint64_t default_max_connections = 0;
    };

    PeerAdmission(const Uses& uses, PeerAccess access) : uses_(uses), access_(std::move(access)) {}

    // Accepts connections on the listeners until close().
    void start(std::vector<Listener> listeners);
    void close();
    // Uses new certificates for connections that begin later, and a new list of nodes. If the relay
    // of a link is still the same node with the same rights, the link is kept. Otherwise, the link
    // is closed.
    // New limits of connections apply to clients that connect later.
    void replace_access(PeerAccess access);
    // Returns true if a link has received bytes that were not read yet.
    bool has_unread() const;

private:
    using Protocol = boost::asio::generic::stream_protocol;
    using Acceptor = boost::asio::basic_socket_acceptor<Protocol>;

    // A relay that was accepted, and what it has presented.
    struct Peer {
        std::shared_ptr<const RemoteNode> node;
        std::optional<PeerCertificate> certificate;
        Preface preface;
    };
    struct Link {
        std::weak_ptr<FramedLink> link;
        Peer peer;
    };

    boost::asio::awaitable<void> accept_loop(Acceptor& acceptor);
    boost::asio::awaitable<void> serve(std::shared_ptr<LinkSocket> socket);
    boost::asio::awaitable<std::optional<Peer>> identify(LinkSocket& socket, TlsChannel& channel,
                                                         const std::string& address);
    void start_link(int socket, std::unique_ptr<TlsChannel> channel, const Peer& peer,
                    const std::string& address);
    void apply_nodes();
    std::string problem_of(const Peer& peer) const;
    void admit(const std::shared_ptr<RelayedChannel>& channel, const ClientIdentity& client,
               const std::shared_ptr<const RemoteNode>& node, IoThread& thread);
    void log_refusal(const std::string& address, const std::string& reason);

    const Uses uses_;
    PeerAccess access_;
    std::vector<std::unique_ptr<Acceptor>> acceptors_;
    // The links that were established, until they are found to have ended.
    std::vector<Link> links_;
    // The number of connections that are not links yet.
    int incomplete_ = 0;
    std::size_t next_thread_ = 0;
    RateLimiter logged_{std::chrono::milliseconds{1'000}, 10};
};

}  // namespace rocklock
