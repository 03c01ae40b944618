#include "daemon/server/admission.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "daemon/support/admin_group.hpp"
#include "daemon/support/rethrow.hpp"
#include "service/node_rights.hpp"

namespace rocklock {
namespace {

namespace asio = boost::asio;

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// At most this many connections are accepted and not served yet.
constexpr int max_arrivals = 4096;
// The maximum wait for room if no notification arrives.
constexpr milliseconds room_pause{50};
// If the limit is reached, a connection that has been open for this long without sending a request
// is closed. If the new client is an administrator, the shorter time applies.
constexpr milliseconds max_silence{5'000};
constexpr milliseconds silence_before_administrators{1'000};
// 1 / reserve_divisor of the connections, but at most `max_reserved`, are reserved for
// administrators.
constexpr int reserve_divisor = 10;
constexpr int max_reserved = 32;
// While connections are being closed, the limit may be exceeded by at most this number.
constexpr int max_beyond = 32;

constexpr const char* too_many_connections =
    "the daemon has reached its maximum number of connections: try again later, or raise its "
    "--max-connections";

Caller caller_of(int socket, std::optional<gid_t> admin_group) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
        // The client is unknown: it may query and lock, but not administer.
        return {nobody_known, 0};
    }
    return {credentials.uid, credentials.pid, admin_group && peer_is_member(socket, *admin_group)};
}

// Returns true if a client that was just accepted has closed its connection without sending
// anything. This check costs a tenth of serving the connection.
bool has_closed(int socket) {
    char byte = 0;
    return ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

}  // namespace

Admission::Admission(Uses uses)
    : uses_(std::move(uses)),
      arrivals_(max_arrivals, [this] { asio::post(uses_.control, [this] { room_.cancel(); }); }),
      room_(uses_.control),
      refusals_(uses_.control, uses_.log, uses_.traffic, uses_.max_connections,
                refusal_descriptors(), [this] { room_.cancel(); }) {}

void Admission::start(Listeners& listeners) {
    for (auto& listener : listeners.all) {
        const int family = listener.tcp() ? AF_INET : AF_UNIX;
        listening_.push_back(std::make_unique<ListeningSocket>(ListeningSocket{
            {uses_.control, Protocol(family, 0), listener.take_socket()}, listener.tcp()}));
    }
    for (auto& listening : listening_) {
        asio::co_spawn(uses_.control, accept_loop(*listening), rethrow);
    }
}

void Admission::close() {
    closed_ = true;
    boost::system::error_code ignored;
    for (auto& listening : listening_) listening->acceptor.close(ignored);
}

asio::awaitable<void> Admission::accept_loop(ListeningSocket& listening) {
    boost::system::error_code error;
    asio::steady_timer pause(uses_.control);
    while (listening.acceptor.is_open()) {
        co_await await_room();
        auto socket = co_await listening.acceptor.async_accept(
            asio::redirect_error(asio::use_awaitable, error));
        if (!error) {
            admit(std::move(socket), listening.tcp);
        } else if (error == asio::error::no_descriptors) {
            // Accept one connection with the spare descriptor and refuse it, so that the client
            // gets a response. Meanwhile other connections may close.
            spare_.give();
            auto refused = Protocol::socket(uses_.control);
            listening.acceptor.non_blocking(true, error);
            listening.acceptor.accept(refused, error);
            if (!error) {
                const auto caller = caller_at(refused, listening.tcp);
                refusals_.refuse(std::move(refused), caller.uid, too_many_connections);
            }
            pause.expires_after(milliseconds{50});
            co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
            spare_.take();
        } else if (listening.acceptor.is_open() && error != asio::error::operation_aborted) {
            pause.expires_after(milliseconds{50});
            co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
        }
    }
}

// Waits until connections may be accepted. While too many connections are not served yet or are
// being refused, further clients wait in the kernel's queue.
asio::awaitable<void> Admission::await_room() {
    boost::system::error_code cancelled;
    while (!closed_ && (arrivals_.full() || refusals_.full())) {
        room_.expires_after(room_pause);
        co_await room_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    }
}

Caller Admission::caller_at(Protocol::socket& socket, bool tcp) const {
    auto caller =
        tcp ? Caller{nobody_known, 0} : caller_of(socket.native_handle(), uses_.admin_group);
    caller.uid = uses_.dispatcher.user_here(uid_of(caller.uid));
    return caller;
}

void Admission::admit(Protocol::socket socket, bool tcp) {
    ++uses_.traffic.accepted;
    if (has_closed(socket.native_handle())) return;
    const auto caller = caller_at(socket, tcp);
    if (const auto refused = refusal_of(caller)) {
        return refusals_.refuse(std::move(socket), caller.uid, refused->message);
    }
    if (tcp) {
        const int yes = 1;
        ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    }
    auto& thread = *uses_.threads[next_thread_++ % uses_.threads.size()];
    connections_.add(Connection::start(socket.release(), thread, side_of(caller, tcp)));
}

void Admission::admit(std::shared_ptr<ClientChannel> channel, const Caller& caller, bool tcp,
                      IoThread& thread, std::function<void(const std::string& reason)> refuse) {
    ++uses_.traffic.accepted;
    // The node is checked first: if it has reached its limit, no idle connection is closed for it.
    auto slot = uses_.traffic.nodes.add(caller.node->host.node);
    if (const auto refused = slot ? refusal_of(caller) : slot.error()) {
        refusals_.report(refused->message);
        return thread.post(
            [refuse = std::move(refuse), reason = refused->message] { refuse(reason); });
    }
    auto side = side_of(caller, tcp);
    // The thread has accepted the channel already.
    side.arrivals = nullptr;
    side.node_slot = *std::move(slot);
    thread.post([this, channel = std::move(channel), &thread, side = std::move(side)] {
        connections_.add(Connection::start(channel, thread, side));
    });
}

Connection::Side Admission::side_of(const Caller& caller, bool tcp) {
    HttpServices services = uses_.services;
    services.tcp = tcp;
    if (caller.node && !caller.node->may_use_tables) services.tables = nullptr;
    if (caller.node && !caller.node->may_use_tables) services.edits = nullptr;
    // The pages show all resources.
    if (caller.node && !may_name_all(*caller.node)) services.pages = nullptr;
    return {caller,     services,           uses_.dispatcher, uses_.traffic, &idle_connections_,
            &arrivals_, uses_.stall_timeout};
}

// Returns the reason why a client is refused, or nullopt if it is admitted.
std::optional<Error> Admission::refusal_of(const Caller& caller) {
    if (!uses_.dispatcher.may_administer(caller)) {
        if (auto over = uses_.traffic.users.check(caller.uid)) return over;
    }
    if (has_slot_for(caller)) return std::nullopt;
    return Error(ErrorCode::limit_exceeded, too_many_connections);
}

// Only administrators get the last slots, so that other clients cannot lock them out.
bool Admission::has_slot_for(const Caller& caller) {
    const int limit = uses_.max_connections;
    const bool administrator = uses_.dispatcher.may_administer(caller);
    const int reserve = administrator ? 0 : std::min(limit / reserve_divisor, max_reserved);
    const int here = uses_.traffic.connections;
    return here < limit - reserve || (here < limit + max_beyond && make_room(administrator));
}

bool Admission::make_room(bool for_administrator) {
    const auto now = steady_clock::now();
    const auto silence = for_administrator ? silence_before_administrators : max_silence;
    if (!idle_connections_.close_oldest(now - silence)) return false;
    ++uses_.traffic.dropped;
    if (const auto count = dropped_.let_through(now); count > 0) {
        uses_.log.write({LogLevel::warning,
                         "connection_dropped",
                         "the limit of connections was reached, and idle connections were closed",
                         {{"dropped", count},
                          {"connections", uses_.traffic.connections.load()},
                          {"max_connections", uses_.max_connections}}});
    }
    return true;
}

bool Admission::has_waiting_clients() {
    return std::any_of(listening_.begin(), listening_.end(), [](const auto& listening) {
        if (!listening->acceptor.is_open()) return false;
        pollfd listener{listening->acceptor.native_handle(), POLLIN, 0};
        return ::poll(&listener, 1, 0) > 0;
    });
}

}  // namespace rocklock
