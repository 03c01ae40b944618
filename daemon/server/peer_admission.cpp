#include "daemon/server/peer_admission.hpp"

#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <rocklock/version.hpp>

#include "daemon/peer/preface.hpp"
#include "daemon/peer/tcp.hpp"

namespace rocklock {
namespace {

namespace asio = boost::asio;

using std::chrono::milliseconds;

constexpr milliseconds max_greeting_time{10'000};
// Further connections are closed, because each of them costs time of the processor before the other
// side is known.
constexpr int max_greeting = 256;

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
    for (auto& listener : listeners) {
        acceptors_.push_back(std::make_unique<Acceptor>(uses_.control, Protocol(AF_INET, 0),
                                                        listener.take_socket()));
    }
    for (auto& acceptor : acceptors_) {
        asio::co_spawn(uses_.control, accept_loop(*acceptor), asio::detached);
    }
}

void PeerAdmission::close() {
    boost::system::error_code ignored;
    for (auto& acceptor : acceptors_) acceptor->close(ignored);
}

asio::awaitable<void> PeerAdmission::accept_loop(Acceptor& acceptor) {
    boost::system::error_code error;
    asio::steady_timer pause(uses_.control);
    while (acceptor.is_open()) {
        auto socket =
            co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
        if (!error && greeting_ < max_greeting) {
            asio::co_spawn(uses_.control, serve(std::make_shared<LinkSocket>(std::move(socket))),
                           asio::detached);
        } else if (error && acceptor.is_open()) {
            // No descriptor is free, or the connection has ended before it was accepted.
            pause.expires_after(milliseconds{50});
            co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
        }
    }
}

// Completes the handshake and sends the greeting, within `max_greeting_time`.
asio::awaitable<bool> PeerAdmission::greet(std::shared_ptr<LinkSocket> socket, TlsChannel& channel,
                                           const std::string& address) {
    ++greeting_;
    asio::steady_timer limit(uses_.control, max_greeting_time);
    limit.async_wait([socket](const boost::system::error_code& cancelled) {
        boost::system::error_code ignored;
        if (!cancelled) socket->close(ignored);
    });
    const bool done = co_await shake_hands(*socket, channel);
    --greeting_;
    limit.cancel();
    if (!done) {
        log_refusal(address, channel.failure().empty() ? "the TLS handshake took too long"
                                                       : "TLS: " + channel.failure());
        co_return false;
    }
    co_return send_at_once(channel, encode(PrefaceAnswer{true, std::string(version()), ""}));
}

asio::awaitable<void> PeerAdmission::serve(std::shared_ptr<LinkSocket> socket) {
    const auto address = address_of(*socket);
    boost::system::error_code error;
    socket->native_non_blocking(true, error);
    set_link_options(socket->native_handle());
    auto channel = access_.tls->accept(socket->native_handle());
    if (!co_await greet(socket, *channel, address)) co_return;
    std::string head;
    if (!co_await receive_exactly(*socket, *channel, preface_head_size, head)) co_return;
    const auto size = preface_rest_size(head);
    if (!size) co_return log_refusal(address, size.error().message);
    std::string rest;
    if (!co_await receive_exactly(*socket, *channel, *size, rest)) co_return;
    const auto preface = decode_preface(head, rest);
    if (!preface) co_return log_refusal(address, preface.error().message);

    auto caller = caller_of(*channel, *preface);
    std::optional<Error> refused;
    if (!caller) {
        refused = caller.error();
        log_refusal(address, refused->message);
    } else {
        refused = uses_.admission.refusal_of(*caller);
    }
    const auto reason = refused ? refused->message : "";
    if (!send_at_once(*channel, encode(PrefaceAnswer{!refused, std::string(version()), reason}))) {
        co_return;
    }
    if (refused) {
        channel->end_output();
        co_return;
    }
    uses_.admission.serve(socket->release(), *caller, preface->tcp, std::move(channel));
}

Result<Caller> PeerAdmission::caller_of(const TlsChannel& channel, const Preface& preface) {
    auto node = access_.nodes.find(channel.peer_certificate(), preface);
    if (!node) return std::move(node).error();
    if (preface.kind != LinkKind::client) {
        return Error(ErrorCode::invalid_argument, "this manager does not know this kind of link");
    }
    Caller caller;
    caller.uid = user_of_node((*node)->number, preface.uid);
    caller.pid = preface.pid;
    caller.start_time = preface.start_time;
    uses_.dispatcher.remote_users().add(**node, preface.uid, preface.user_name);
    caller.node = *std::move(node);
    return caller;
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
