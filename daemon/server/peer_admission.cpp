#include "daemon/server/peer_admission.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <rocklock/version.hpp>

#include "daemon/peer/tcp.hpp"
#include "daemon/support/rethrow.hpp"

namespace rocklock {
namespace {

namespace asio = boost::asio;

using std::chrono::milliseconds;

constexpr milliseconds max_time_to_identify{10'000};
// Further connections are closed, because each of them costs time of the processor before the other
// side is known.
constexpr int max_incomplete = 256;

std::string address_of(const LinkSocket& socket) {
    boost::system::error_code error;
    const auto endpoint = socket.remote_endpoint(error);
    if (error || endpoint.size() > asio::ip::tcp::endpoint().capacity()) return "?";
    asio::ip::tcp::endpoint address;
    std::memcpy(address.data(), endpoint.data(), endpoint.size());
    address.resize(endpoint.size());
    return address.address().to_string() + ":" + std::to_string(address.port());
}

}  // namespace

Result<PeerAccess> open_peer_access(const ServerOptions& options) {
    PeerAccess access;
    if (options.peer_listen.empty()) return access;
    for (const auto& address : options.peer_listen) {
        const auto parsed = parse_host_and_port("peer-listen", address);
        if (!parsed) return parsed.error();
        if (options.peer_tls.empty() && !is_loopback_host(parsed->host)) {
            return Error(ErrorCode::invalid_argument,
                         "peer-listen: other hosts can connect to " + address +
                             ", so this daemon needs a certificate: give peer-cert, peer-key and "
                             "peer-ca");
        }
    }
    if (!options.peer_tls.empty() && options.peer_nodes.empty()) {
        return Error(ErrorCode::invalid_argument,
                     "peer-nodes is not set: give a file with a line for each node whose relay "
                     "may connect");
    }
    auto tls = TlsContext::for_manager(options.peer_tls);
    if (!tls) return std::move(tls).error();
    access.tls = *std::move(tls);
    if (!options.peer_nodes.empty()) {
        auto nodes = PeerNodes::load(options.peer_nodes);
        if (!nodes) return std::move(nodes).error();
        access.nodes = *std::move(nodes);
    }
    return access;
}

void PeerAdmission::start(std::vector<Listener> listeners) {
    apply_nodes();
    for (auto& listener : listeners) {
        acceptors_.push_back(std::make_unique<Acceptor>(uses_.control, Protocol(AF_INET, 0),
                                                        listener.take_socket()));
    }
    for (auto& acceptor : acceptors_) {
        asio::co_spawn(uses_.control, accept_loop(*acceptor), rethrow);
    }
}

void PeerAdmission::apply_nodes() {
    auto limits = access_.nodes.connection_limits(uses_.default_max_connections);
    for (const auto& [node, limit] : limits.nodes) uses_.dispatcher.remote_users().add_node(node);
    uses_.connections.set_limits(std::move(limits));
}

void PeerAdmission::close() {
    boost::system::error_code ignored;
    for (auto& acceptor : acceptors_) acceptor->close(ignored);
}

bool PeerAdmission::has_unread() const {
    return std::any_of(links_.begin(), links_.end(), [](const auto& each) {
        const auto link = each.link.lock();
        return link && link->has_unread();
    });
}

void PeerAdmission::replace_access(PeerAccess access) {
    access_ = std::move(access);
    apply_nodes();
    int closed = 0;
    for (const auto& [weak, peer] : links_) {
        const auto link = weak.lock();
        if (!link) continue;
        const auto problem = problem_of(peer);
        if (problem.empty()) continue;
        ++closed;
        link->thread().post([link, problem] { link->disconnect(problem); });
    }
    uses_.log.write({LogLevel::info,
                     "peers_reloaded",
                     "the certificates and the file of nodes were read again",
                     {{"links_closed", closed}}});
}

// Returns the reason why the link of the relay must end, or an empty text if it stays.
std::string PeerAdmission::problem_of(const Peer& peer) const {
    const auto node = access_.nodes.find(peer.certificate, peer.preface);
    if (!node) return node.error().message;
    if (**node == *peer.node) return "";
    return (*node)->host == peer.node->host ? "the rights of the node have changed"
                                            : "the relay is now the node " + (*node)->host.node;
}

asio::awaitable<void> PeerAdmission::accept_loop(Acceptor& acceptor) {
    boost::system::error_code error;
    asio::steady_timer pause(uses_.control);
    while (acceptor.is_open()) {
        auto socket =
            co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
        if (!error && incomplete_ < max_incomplete) {
            asio::co_spawn(uses_.control, serve(std::make_shared<LinkSocket>(std::move(socket))),
                           asio::detached);
        } else if (error && acceptor.is_open()) {
            // No descriptor is free, or the connection has ended before it was accepted.
            pause.expires_after(milliseconds{50});
            co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
        }
    }
}

// Completes the handshake, receives the preface and answers it. Returns nullopt, and logs the
// reason, if the relay is refused.
asio::awaitable<std::optional<PeerAdmission::Peer>> PeerAdmission::identify(
    LinkSocket& socket, TlsChannel& channel, const std::string& address) {
    if (!co_await shake_hands(socket, channel)) {
        log_refusal(address, channel.failure().empty() ? "the TLS handshake took too long"
                                                       : "TLS: " + channel.failure());
        co_return std::nullopt;
    }
    std::string head;
    std::string rest;
    Result<Preface> preface = Error(ErrorCode::invalid_argument, "the preface did not arrive");
    if (co_await receive_exactly(socket, channel, preface_head_size, head)) {
        const auto size = preface_rest_size(head);
        if (!size) {
            preface = size.error();
        } else if (co_await receive_exactly(socket, channel, *size, rest)) {
            preface = decode_preface(head, rest);
        }
    }
    if (!preface) {
        log_refusal(address, preface.error().message);
        send_at_once(channel,
                     encode(PrefaceAnswer{false, std::string(version()), preface.error().message}));
        co_return std::nullopt;
    }
    auto certificate = channel.peer_certificate();
    auto node = access_.nodes.find(certificate, *preface);
    if (node && uses_.dispatcher.remote_users().is_here(user_of_node((*node)->number, 0))) {
        // The number of a node is computed from its name.
        const auto& own = uses_.dispatcher.remote_users().own_node();
        const auto& other = (*node)->host.node;
        node = Error(ErrorCode::invalid_argument,
                     "the manager is the node " + own + ", and the relay is the node " + other +
                         ", which has the same " + (own == other ? "name" : "number") +
                         ": give each node a name of its own (--node)");
    }
    if (!node) log_refusal(address, node.error().message);
    const PrefaceAnswer answer{node.has_value(), std::string(version()),
                               node ? "" : node.error().message};
    if (!send_at_once(channel, encode(answer)) || !node) co_return std::nullopt;
    uses_.log.write(
        {LogLevel::info,
         "node_connected",
         "a relay has connected",
         {{"node", (*node)->host.node}, {"address", address}, {"version", preface->version}}});
    co_return Peer{*std::move(node), std::move(certificate), *std::move(preface)};
}

asio::awaitable<void> PeerAdmission::serve(std::shared_ptr<LinkSocket> socket) {
    const auto address = address_of(*socket);
    boost::system::error_code error;
    socket->native_non_blocking(true, error);
    set_link_options(socket->native_handle());
    auto channel = access_.tls->accept(socket->native_handle());
    ++incomplete_;
    asio::steady_timer limit(uses_.control, max_time_to_identify);
    limit.async_wait([socket](const boost::system::error_code& cancelled) {
        boost::system::error_code ignored;
        if (!cancelled) socket->close(ignored);
    });
    const auto peer = co_await identify(*socket, *channel, address);
    --incomplete_;
    limit.cancel();
    if (!peer) channel->end_output();
    if (!peer || !socket->is_open()) co_return;
    start_link(socket->release(), std::move(channel), *peer, address);
}

void PeerAdmission::start_link(int socket, std::unique_ptr<TlsChannel> channel, const Peer& peer,
                               const std::string& address) {
    auto& thread = *uses_.threads[next_thread_++ % uses_.threads.size()];
    const auto link = std::make_shared<FramedLink>(socket, std::move(channel), thread);
    auto* const raw = link.get();
    std::erase_if(links_, [](const auto& earlier) { return earlier.link.expired(); });
    links_.push_back({link, peer});
    const auto& node = peer.node;
    uses_.dispatcher.remote_users().add_node(node->host.node);
    NodeLink::Uses uses;
    uses.opened = [this, node, &thread](const std::shared_ptr<RelayedChannel>& client_channel,
                                        const ClientIdentity& client) {
        admit(client_channel, client, node, thread);
    };
    uses.ended = [this, node](const ProcessId& process) {
        uses_.processes.ended(node->host, process);
    };
    uses.found = [this, node](const ProcessReport& report) {
        uses_.processes.found(node->host, report);
    };
    uses.lost = [this, node, raw, address](const std::string& reason) {
        uses_.processes.remove_link(node->host, raw);
        uses_.connections.remove_link(node->host.node);
        uses_.log.write({LogLevel::info,
                         "node_disconnected",
                         "the connection of a relay has ended",
                         {{"node", node->host.node},
                          {"address", address},
                          {"reason", reason.empty() ? "the relay has closed it" : reason}}});
    };
    thread.post([this, link, node, uses = std::move(uses)] {
        uses_.processes.add_link(node->host, link);
        uses_.connections.add_link(node->host.node);
        link->start(std::make_unique<NodeLink>(*link, uses));
    });
}

// Called on the thread of the link. The decision is made on the thread that runs the context.
void PeerAdmission::admit(const std::shared_ptr<RelayedChannel>& channel,
                          const ClientIdentity& client,
                          const std::shared_ptr<const RemoteNode>& node, IoThread& thread) {
    Caller caller;
    caller.uid = user_of_node(node->number, client.uid);
    caller.pid = client.process.pid;
    caller.start_time = client.process.start_time;
    caller.node = node;
    if (!client.tcp) uses_.dispatcher.remote_users().add(*node, client.uid, client.user_name);
    asio::post(uses_.control, [this, channel, caller, tcp = client.tcp, &thread] {
        uses_.admission.admit(channel, caller, tcp, thread,
                              [channel](const std::string& reason) { channel->refuse(reason); });
    });
}

void PeerAdmission::log_refusal(const std::string& address, const std::string& reason) {
    const auto count = logged_.let_through(std::chrono::steady_clock::now());
    if (count == 0) return;
    LogEvent event{LogLevel::warning,
                   "peer_refused",
                   "a connection to the port for relays was refused",
                   {{"address", address}, {"reason", reason}}};
    if (count > 1) event.facts.emplace_back("not_logged", count - 1);
    uses_.log.write(event);
}

}  // namespace rocklock
