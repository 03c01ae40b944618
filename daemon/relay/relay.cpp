#include "daemon/relay/relay.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
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
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <rocklock/clock.hpp>
#include <rocklock/version.hpp>

#include "daemon/api/process_ends.hpp"
#include "daemon/net/io_thread.hpp"
#include "daemon/net/refuse_unreachable.hpp"
#include "daemon/peer/peer_nodes.hpp"
#include "daemon/peer/preface.hpp"
#include "daemon/peer/tcp.hpp"
#include "daemon/peer/tls.hpp"
#include "daemon/relay/link_connector.hpp"
#include "daemon/relay/relay_link.hpp"
#include "daemon/relay/run_relay.hpp"
#include "daemon/server/daemon_setup.hpp"
#include "daemon/server/listeners.hpp"
#include "daemon/server/service_manager.hpp"
#include "daemon/status/own_pages.hpp"
#include "daemon/status/role_status.hpp"
#include "daemon/status/status_server.hpp"
#include "daemon/support/log.hpp"
#include "daemon/support/rethrow.hpp"
#include "service/dispatcher.hpp"
#include "service/process_id.hpp"

namespace rocklock {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds socket_file_period{1'000};
// The names of users are looked up again after this time.
constexpr std::chrono::seconds max_name_age{60};
constexpr milliseconds wait_check_period{100};
// A response of the manager takes about as long as a sync of its disk. A thread that sleeps in the
// meantime needs some ten microseconds to wake up.
constexpr std::chrono::microseconds max_spin{300};

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

// Threads: one, which calls run(). The clients are served by threads of their own, each with a
// link.
class Relay {
public:
    explicit Relay(const RelayParts& parts);
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
    // A thread and its link, which is null while the manager cannot be reached. The link is used on
    // the thread only; the relay's own thread passes it on.
    struct Lane {
        IoThread thread{[] { return std::nullopt; }, max_spin};
        std::shared_ptr<FramedLink> link;
        RelayLink* receiver = nullptr;
    };
    // A client that waits until a link is established.
    struct Waiting {
        steady_clock::time_point until;
        std::shared_ptr<Protocol::socket> socket;
        ClientIdentity identity;
    };

    asio::awaitable<void> accept_loop(ListeningSocket& listening);
    asio::awaitable<void> watch_socket_file();
    asio::awaitable<void> end_waits();
    asio::awaitable<void> refuse(Waiting client);
    asio::awaitable<void> feed_watchdog();
    void await_reload();
    void reload();
    void admit(Protocol::socket socket, bool tcp);
    ClientIdentity identity_of(int socket, bool tcp);
    void connect(Lane& lane);
    void connected(Lane& lane, int socket, std::unique_ptr<TlsChannel> channel);
    void lost(Lane& lane, const std::string& reason);
    void pass_on(Lane& lane, int socket, const ClientIdentity& identity);
    Lane* next_lane();
    void process_ended(const ProcessId& process);
    void report_links(const std::string& failure) const;
    void stop(const std::string& reason);
    void end();

    const RelayParts parts_;
    Log& log_;
    // Used by clients until their threads are destroyed.
    std::atomic<int> connections_{0};
    asio::io_context control_;
    LinkConnector connector_;
    ProcessEnds processes_;
    asio::signal_set signals_;
    asio::signal_set reload_signal_;
    std::vector<std::unique_ptr<ListeningSocket>> listening_;
    std::vector<std::unique_ptr<Lane>> lanes_;
    std::size_t next_lane_ = 0;
    std::deque<Waiting> waiting_;
    UserNames names_;
    bool stopping_ = false;
    std::optional<Error> failure_;
};

Relay::Relay(const RelayParts& parts)
    : parts_(parts),
      log_(*parts.setup.log),
      connector_(control_, log_, parts.target.tls, parts.target.address,
                 {parts.options.node, system_clock().boot_id(), std::string(version())}),
      processes_(control_.get_executor(),
                 [this](const ProcessId& process) { process_ended(process); }),
      signals_(control_, SIGTERM, SIGINT),
      reload_signal_(control_, SIGHUP) {
    const unsigned count = std::clamp(std::thread::hardware_concurrency() / 2, 1U, 8U);
    for (unsigned i = 0; i < count; ++i) lanes_.push_back(std::make_unique<Lane>());
    for (auto& listener : parts.listeners.all) {
        const int family = listener.tcp() ? AF_INET : AF_UNIX;
        listening_.push_back(std::make_unique<ListeningSocket>(ListeningSocket{
            {control_, Protocol(family, 0), listener.take_socket()}, listener.tcp()}));
    }
}

Relay::~Relay() {
    // A node that waits afterwards must not be ended by SIGHUP.
    error_code ignored;
    reload_signal_.clear(ignored);
    ::signal(SIGHUP, SIG_IGN);
    processes_.stop();
    for (auto& lane : lanes_) lane->thread.stop();
}

std::optional<Error> Relay::run() {
    signals_.async_wait([this](const error_code& error, int signal) {
        if (!error) stop(signal == SIGTERM ? "SIGTERM" : "SIGINT");
    });
    for (auto& lane : lanes_) {
        lane->thread.start();
        connect(*lane);
    }
    for (auto& listening : listening_) {
        asio::co_spawn(control_, accept_loop(*listening), rethrow);
    }
    asio::co_spawn(control_, watch_socket_file(), rethrow);
    asio::co_spawn(control_, end_waits(), rethrow);
    asio::co_spawn(control_, feed_watchdog(), rethrow);
    await_reload();
    if (parts_.until != nullptr) {
        parts_.until->on_request([this] { asio::post(control_, [this] { end(); }); });
    }
    {
        const std::stop_callback on_stop(
            parts_.stop, [this] { asio::post(control_, [this] { stop("SIGTERM or SIGINT"); }); });
        control_.run();
    }
    if (parts_.until != nullptr) parts_.until->on_request(nullptr);
    return failure_;
}

void Relay::stop(const std::string& reason) {
    if (stopping_) return;
    if (parts_.listeners.file) parts_.listeners.file->remove();
    parts_.setup.manager.notify("STOPPING=1");
    log_.write({LogLevel::info, "leaving", "shutting down: " + reason, {}});
    end();
}

void Relay::end() {
    if (std::exchange(stopping_, true)) return;
    for (auto& lane : lanes_) {
        lane->thread.post([link = lane->link] {
            // The clients of the link are disconnected, too.
            if (link) link->disconnect("the relay ends");
        });
    }
    control_.stop();
}

void Relay::await_reload() {
    reload_signal_.async_wait([this](const error_code& error, int) {
        if (error) return;
        reload();
        await_reload();
    });
}

// Opens the log file again, in case another program has renamed it, and reads the certificates
// again. The existing links stay.
void Relay::reload() {
    log_.reopen();
    auto tls = TlsContext::for_relay(parts_.options.peer_tls);
    if (!tls) {
        return log_.write({LogLevel::error,
                           "reload_failed",
                           "the certificates could not be read again, and the relay continues "
                           "to use the previous ones",
                           {{"error", tls.error().message}}});
    }
    connector_.use(*std::move(tls));
    log_.write({LogLevel::info, "reloaded", "the certificates were read again", {}});
}

// Notifies the service manager as long as this thread runs.
asio::awaitable<void> Relay::feed_watchdog() {
    const auto period = parts_.setup.manager.watchdog() / 3;
    error_code error;
    asio::steady_timer timer(control_);
    while (period.count() > 0 && !stopping_) {
        parts_.setup.manager.notify("WATCHDOG=1");
        timer.expires_after(period);
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
    }
}

asio::awaitable<void> Relay::watch_socket_file() {
    const auto* const file = parts_.listeners.watched_file();
    error_code error;
    asio::steady_timer timer(control_);
    while (file != nullptr && !stopping_) {
        timer.expires_after(socket_file_period);
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
        if (stopping_ || file->there()) continue;
        failure_ = lost_socket_file(*file);
        stop("its socket file was removed or replaced");
    }
}

// ---- Links ----

void Relay::connect(Lane& lane) {
    connector_.connect([this, &lane](int socket, std::unique_ptr<TlsChannel> channel) {
        connected(lane, socket, std::move(channel));
    });
}

void Relay::connected(Lane& lane, int socket, std::unique_ptr<TlsChannel> channel) {
    const auto link = std::make_shared<FramedLink>(socket, std::move(channel), lane.thread);
    RelayLink::Uses uses;
    uses.watch = [this](const ProcessId& process) {
        asio::post(control_, [this, process] { processes_.watch(process); });
    };
    uses.unwatch = [this](const ProcessId& process) {
        asio::post(control_, [this, process] { processes_.forget(process); });
    };
    uses.closed = [this] { --connections_; };
    uses.lost = [this, &lane](const std::string& reason) {
        asio::post(control_, [this, &lane, reason] { lost(lane, reason); });
    };
    auto receiver = std::make_unique<RelayLink>(*link, std::move(uses));
    lane.link = link;
    lane.receiver = receiver.get();
    lane.thread.post([link, receiver = std::make_shared<std::unique_ptr<RelayLink>>(
                                std::move(receiver))] { link->start(std::move(*receiver)); });
    report_links("");
    while (!waiting_.empty()) {
        const auto client = std::move(waiting_.front());
        waiting_.pop_front();
        pass_on(lane, client.socket->release(), client.identity);
    }
}

void Relay::lost(Lane& lane, const std::string& reason) {
    lane.link.reset();
    lane.receiver = nullptr;
    if (stopping_) return;
    const std::string why = reason.empty() ? "the manager has closed it" : reason;
    log_.write({LogLevel::warning,
                "manager_lost",
                "the connection to the manager has ended",
                {{"manager", parts_.target.manager}, {"reason", why}}});
    report_links(why);
    connect(lane);
}

// `failure`: why there is no link; empty if this is unknown.
void Relay::report_links(const std::string& failure) const {
    if (parts_.status == nullptr) return;
    const auto links = std::count_if(lanes_.begin(), lanes_.end(),
                                     [](const auto& lane) { return lane->link != nullptr; });
    std::string reason;
    if (links == 0 && !failure.empty()) {
        reason = "there is no link to the manager " + parts_.target.manager + ": " + failure;
    }
    parts_.status->set_links(static_cast<int>(links), connections_, reason);
}

void Relay::process_ended(const ProcessId& process) {
    // The manager asks over its oldest link; another link is as good.
    for (auto& lane : lanes_) {
        if (!lane->link) continue;
        return lane->thread.post(
            [link = lane->link, process] { link->send(LinkFrame::ended, 0, encode(process)); });
    }
}

// ---- Clients ----

asio::awaitable<void> Relay::accept_loop(ListeningSocket& listening) {
    error_code error;
    asio::steady_timer retry(control_);
    while (!stopping_) {
        // While the limit is reached, further clients wait in the kernel's queue.
        const bool has_room = connections_ < parts_.setup.max_connections;
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

ClientIdentity Relay::identity_of(int socket, bool tcp) {
    ClientIdentity identity;
    identity.tcp = tcp;
    identity.uid = nobody_known;
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (tcp || ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
        return identity;
    }
    identity.uid = credentials.uid;
    identity.user_name = names_.name_of(credentials.uid);
    identity.process = find_process(credentials.pid).value_or(ProcessId{});
    return identity;
}

Relay::Lane* Relay::next_lane() {
    for (std::size_t tries = 0; tries < lanes_.size(); ++tries) {
        auto& lane = *lanes_[next_lane_++ % lanes_.size()];
        if (lane.link) return &lane;
    }
    return nullptr;
}

void Relay::admit(Protocol::socket socket, bool tcp) {
    ++connections_;
    const auto identity = identity_of(socket.native_handle(), tcp);
    if (auto* lane = next_lane()) return pass_on(*lane, socket.release(), identity);
    waiting_.push_back({steady_clock::now() + parts_.options.relay_timeout,
                        std::make_shared<Protocol::socket>(std::move(socket)), identity});
}

void Relay::pass_on(Lane& lane, int socket, const ClientIdentity& identity) {
    lane.thread.introduce([this, link = lane.link, receiver = lane.receiver, socket, identity] {
        if (link->is_open()) return receiver->add(socket, identity);
        // The link was lost in the meantime.
        ::close(socket);
        --connections_;
    });
}

// Refuses the clients that have waited too long for a link.
asio::awaitable<void> Relay::end_waits() {
    error_code error;
    asio::steady_timer timer(control_);
    while (!stopping_) {
        timer.expires_after(wait_check_period);
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
        // The number of clients and the reason of a failure can have changed.
        report_links(connector_.last_failure());
        while (!waiting_.empty() && waiting_.front().until <= steady_clock::now()) {
            asio::co_spawn(control_, refuse(std::move(waiting_.front())), asio::detached);
            waiting_.pop_front();
        }
    }
}

asio::awaitable<void> Relay::refuse(Waiting client) {
    const auto& failure = connector_.last_failure();
    // A separate statement: g++ 12 can destroy temporary objects of a co_await expression too
    // early.
    std::string reason = "the relay cannot connect to the manager " + parts_.target.manager + ": " +
                         (failure.empty() ? "it has not answered yet" : failure) +
                         "; check that the manager runs, and see the log of the relay";
    co_await refuse_unreachable(std::move(client.socket), std::move(reason));
    --connections_;
}

}  // namespace

Result<RelayTarget> relay_target(const ServerOptions& options, const std::string& manager) {
    auto address = parse_host_and_port("relay", manager);
    if (!address) return std::move(address).error();
    if (auto checked = check_node_name(options.node); !checked) return std::move(checked).error();
    if (options.peer_tls.empty() && !is_loopback_host(address->host)) {
        return Error(ErrorCode::invalid_argument,
                     "relay: " + manager +
                         " is on another host, so this daemon needs a certificate: give "
                         "peer-cert, peer-key and peer-ca");
    }
    auto tls = TlsContext::for_relay(options.peer_tls);
    if (!tls) return std::move(tls).error();
    return RelayTarget{manager, *std::move(address), *std::move(tls)};
}

std::string no_link_yet(const RelayTarget& target) {
    return "there is no link to the manager " + target.manager + " yet";
}

std::optional<Error> run_relay(const RelayParts& parts) {
    Relay relay(parts);
    const auto& manager = parts.target.manager;
    parts.setup.log->write(
        {LogLevel::info, "relaying", "relaying clients", {{"manager", manager}}});
    parts.setup.manager.notify("READY=1\nSTATUS=relaying to " + manager);
    if (parts.options.on_started) parts.options.on_started();
    return relay.run();
}

Result<void> serve_relay(const ServerOptions& options) {
    prepare_process();
    auto target = relay_target(options, options.relay);
    if (!target) return std::move(target).error();
    auto setup = set_up_daemon(options);
    if (!setup) return std::move(setup).error();
    RoleStatus role;
    role.set_role(ProcessRole::relay, no_link_yet(*target));
    const OwnPages pages(role, nullptr);
    const auto status = StatusServer::start(options.status_listen, pages, *setup->log);
    if (!status) return status.error();
    log_listeners(*setup->log, *setup->listeners);
    RelayParts parts{options, *setup, *setup->listeners, *std::move(target)};
    parts.status = &role;
    if (auto failure = run_relay(parts)) return *std::move(failure);
    return {};
}

}  // namespace rocklock
