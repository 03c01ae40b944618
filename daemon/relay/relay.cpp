#include "daemon/relay/relay.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <rocklock/clock.hpp>

#include "daemon/net/io_thread.hpp"
#include "daemon/peer/peer_nodes.hpp"
#include "daemon/peer/preface.hpp"
#include "daemon/peer/tcp.hpp"
#include "daemon/peer/tls.hpp"
#include "daemon/relay/link_pool.hpp"
#include "daemon/relay/relayed_connection.hpp"
#include "daemon/server/listeners.hpp"
#include "daemon/server/service_manager.hpp"
#include "daemon/support/admin_group.hpp"
#include "daemon/support/descriptors.hpp"
#include "daemon/support/log.hpp"
#include "service/process_id.hpp"

namespace rocklock {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds socket_check_period{1'000};
// The names of users are looked up again after this time.
constexpr std::chrono::seconds max_name_age{60};
// The uid of a client over TCP, as in lib/service/dispatcher.hpp.
constexpr std::uint32_t unknown_uid = UINT32_MAX;

// The names of the users of clients.
class UserNames {
public:
    // Returns an empty text if the user has no name.
    std::string name_of(uid_t uid) {
        const auto now = steady_clock::now();
        auto& known = known_[uid];
        if (now >= known.until) known = {find_user_name(uid).value_or(""), now + max_name_age};
        return known.name;
    }

private:
    struct Known {
        std::string name;
        steady_clock::time_point until{};
    };
    std::map<uid_t, Known> known_;
};

// Threads: one, which calls run(). The connections are served by threads of their own.
class Relay {
public:
    Relay(const ServerOptions& options, const Log& log, const ServiceManager& manager,
          Listeners& listeners, std::shared_ptr<const TlsContext> tls, HostAndPort address,
          int max_connections);
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;
    ~Relay();

    // Returns nullopt after a requested stop, or the failure that ended the relay.
    std::optional<Error> run();

private:
    using Protocol = asio::generic::stream_protocol;
    struct ListeningSocket {
        asio::basic_socket_acceptor<Protocol> acceptor;
        bool tcp = false;
    };

    asio::awaitable<void> accept_loop(ListeningSocket& listening);
    asio::awaitable<void> watch_socket_file();
    void admit(Protocol::socket socket, bool tcp);
    Preface preface_of(int socket, bool tcp);
    void stop(const std::string& reason);

    const ServerOptions& options_;
    const Log& log_;
    const ServiceManager& manager_;
    Listeners& listeners_;
    const int max_connections_;
    const std::string boot_id_ = system_clock().boot_id();
    // Used by connections until their threads are destroyed.
    std::atomic<int> connections_{0};
    asio::io_context control_;
    LinkPool links_;
    asio::signal_set signals_;
    std::vector<std::unique_ptr<ListeningSocket>> listening_;
    std::vector<std::unique_ptr<IoThread>> threads_;
    std::size_t next_thread_ = 0;
    UserNames names_;
    bool stopping_ = false;
    std::optional<Error> failure_;
};

Relay::Relay(const ServerOptions& options, const Log& log, const ServiceManager& manager,
             Listeners& listeners, std::shared_ptr<const TlsContext> tls, HostAndPort address,
             int max_connections)
    : options_(options),
      log_(log),
      manager_(manager),
      listeners_(listeners),
      max_connections_(max_connections),
      links_(control_, log, std::move(tls), std::move(address)),
      signals_(control_, SIGTERM, SIGINT) {
    const unsigned count = std::clamp(std::thread::hardware_concurrency() / 2, 1U, 8U);
    for (unsigned i = 0; i < count; ++i) {
        threads_.push_back(std::make_unique<IoThread>([] { return std::nullopt; }));
    }
    for (auto& listener : listeners.all) {
        const int family = listener.tcp() ? AF_INET : AF_UNIX;
        listening_.push_back(std::make_unique<ListeningSocket>(ListeningSocket{
            {control_, Protocol(family, 0), listener.take_socket()}, listener.tcp()}));
    }
}

Relay::~Relay() {
    for (auto& thread : threads_) thread->stop();
}

std::optional<Error> Relay::run() {
    signals_.async_wait([this](const error_code& error, int signal) {
        if (!error) stop(signal == SIGTERM ? "SIGTERM" : "SIGINT");
    });
    links_.start();
    for (auto& listening : listening_) {
        asio::co_spawn(control_, accept_loop(*listening), asio::detached);
    }
    asio::co_spawn(control_, watch_socket_file(), asio::detached);
    for (auto& thread : threads_) thread->start();
    control_.run();
    return failure_;
}

void Relay::stop(const std::string& reason) {
    if (std::exchange(stopping_, true)) return;
    if (listeners_.file) listeners_.file->remove();
    manager_.notify("STOPPING=1");
    log_.write({LogLevel::info, "leaving", "shutting down: " + reason, {}});
    control_.stop();
}

asio::awaitable<void> Relay::watch_socket_file() {
    const auto& file = listeners_.file;
    error_code error;
    asio::steady_timer timer(control_);
    while (file && !stopping_) {
        timer.expires_after(socket_check_period);
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
        if (stopping_ || file->there()) continue;
        failure_ = Error(ErrorCode::io_error,
                         "the socket file " + file->path() +
                             " was removed or replaced, so that clients cannot find this daemon; "
                             "start the daemon again, and do not remove or replace the file");
        stop("its socket file was removed or replaced");
    }
}

asio::awaitable<void> Relay::accept_loop(ListeningSocket& listening) {
    error_code error;
    asio::steady_timer retry(control_);
    while (!stopping_) {
        // While the limit is reached, further clients wait in the kernel's queue.
        const bool has_room = connections_ < max_connections_;
        if (has_room) {
            auto socket = co_await listening.acceptor.async_accept(
                asio::redirect_error(asio::use_awaitable, error));
            if (!error) admit(std::move(socket), listening.tcp);
        }
        if (has_room && !error) continue;
        retry.expires_after(milliseconds{50});
        co_await retry.async_wait(asio::redirect_error(asio::use_awaitable, error));
    }
}

Preface Relay::preface_of(int socket, bool tcp) {
    Preface preface;
    preface.node = options_.node;
    preface.boot_id = boot_id_;
    preface.tcp = tcp;
    preface.uid = unknown_uid;
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (tcp || ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
        return preface;
    }
    preface.uid = credentials.uid;
    preface.user_name = names_.name_of(credentials.uid);
    if (const auto process = find_process(credentials.pid)) {
        preface.pid = process->pid;
        preface.start_time = process->start_time;
    }
    return preface;
}

void Relay::admit(Protocol::socket socket, bool tcp) {
    const auto preface = encode(preface_of(socket.native_handle(), tcp));
    auto client = std::make_shared<Protocol::socket>(std::move(socket));
    ++connections_;
    links_.take(options_.relay_timeout, [this, client, preface](std::unique_ptr<Link> link) {
        // If no link is available in time, the connection of the client is closed.
        if (!link) {
            --connections_;
            return;
        }
        auto& thread = *threads_[next_thread_++ % threads_.size()];
        RelayedConnection::start(client->release(), std::move(link), preface, thread,
                                 [this] { --connections_; });
    });
}

}  // namespace

Result<void> serve_relay(const ServerOptions& options) {
    for (const int signal : {SIGPIPE, SIGHUP, SIGUSR1, SIGUSR2}) ::signal(signal, SIG_IGN);
    ::umask(077);
    auto address = parse_host_and_port("relay", options.relay);
    if (!address) return std::move(address).error();
    if (!is_node_name(options.node)) {
        return Error(ErrorCode::invalid_argument,
                     "node: '" + options.node +
                         "' is not a name of a node: use 1 to 64 letters, digits, dots, hyphens "
                         "and underscores");
    }
    if (options.peer_tls.empty() && !is_loopback_host(address->host)) {
        return Error(ErrorCode::invalid_argument,
                     "relay: " + options.relay +
                         " is on another host, so this daemon needs a certificate: give "
                         "peer-cert, peer-key and peer-ca");
    }
    auto tls = TlsContext::for_relay(options.peer_tls);
    if (!tls) return std::move(tls).error();

    const Log log(options.log_format, options.live.log_level);
    ServiceManager manager;
    std::optional<gid_t> group;
    if (!options.admin_group.empty()) {
        auto found = find_group(options.admin_group);
        if (!found) return std::move(found).error();
        group = *found;
    }
    auto passed = manager.take_sockets();
    if (!passed) return std::move(passed).error();
    auto listeners = open_listeners(*std::move(passed), options, group);
    if (!listeners) return std::move(listeners).error();
    const auto descriptors = raise_descriptor_limit();
    if (!descriptors) return descriptors.error();
    // Each connection needs two descriptors.
    Relay relay(options, log, manager, *listeners, *std::move(tls), *std::move(address),
                std::min(options.max_connections, *descriptors / 2));
    for (const auto& listener : listeners->all) {
        log.write({LogLevel::info, "listening", "listening on " + listener.name(), {}});
    }
    log.write({LogLevel::info, "relaying", "relaying clients", {{"manager", options.relay}}});
    manager.notify("READY=1\nSTATUS=relaying to " + options.relay);
    if (options.on_started) options.on_started();
    if (auto failure = relay.run()) return *std::move(failure);
    return {};
}

}  // namespace rocklock
