#include "daemon/server/server.hpp"

#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/duration_text.hpp"
#include "base/mutex.hpp"
#include "daemon/api/call_recorder.hpp"
#include "daemon/api/dispatcher.hpp"
#include "daemon/api/edit_endpoint.hpp"
#include "daemon/api/item_endpoint.hpp"
#include "daemon/api/process_watch.hpp"
#include "daemon/net/connection.hpp"
#include "daemon/net/io_thread.hpp"
#include "daemon/server/listeners.hpp"
#include "daemon/server/refusals.hpp"
#include "daemon/server/served_store.hpp"
#include "daemon/server/service_manager.hpp"
#include "daemon/server/socket_drain.hpp"
#include "daemon/support/admin_group.hpp"
#include "daemon/support/descriptors.hpp"

namespace rocklock {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Protocol = asio::generic::stream_protocol;
using Acceptor = asio::basic_socket_acceptor<Protocol>;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// What SIGTERM leaves for answers to reach their clients.
constexpr milliseconds drain_time{1500};
constexpr milliseconds maintenance_period{10'000};
// How long nobody may find us, at the most, before we make room for a daemon that is found.
constexpr milliseconds socket_check_period{1'000};
// At most this many connections are accepted and not served yet.
constexpr int max_arrivals = 4096;
// How long to wait for room when nothing reports that there is some.
constexpr milliseconds room_pause{50};
// Where there is no place left, who has asked nothing for so long makes room: for an administrator,
// who is not to be kept out, sooner.
constexpr milliseconds max_silence{5'000};
constexpr milliseconds silence_before_administrators{1'000};
// Of all connections one in so many is for administrators, but not more than these.
constexpr int reserve_divisor = 10;
constexpr int max_reserved = 32;
// Those who make room may be here for a moment beside those who came for it.
constexpr int max_beyond = 32;

constexpr const char* too_many_connections =
    "the daemon has as many connections as it may have: try again later, or raise its "
    "--max-connections";

Caller caller_of(int socket, std::optional<gid_t> admin_group) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
        // Nobody: may look and lock, not administer.
        return {nobody_known, 0};
    }
    return {credentials.uid, credentials.pid, admin_group && peer_is_member(socket, *admin_group)};
}

// Whether a client that was just accepted sends no more and has sent nothing. It needs no answer,
// and to find that out here costs a tenth of serving it.
bool has_closed(int socket) {
    char byte = 0;
    return ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

// What the server is made of that outlives it.
struct Parts {
    const ServerOptions& options;
    const Log& log;
    const ServiceManager& manager;
    Database& database;
    Listeners& listeners;
    std::optional<gid_t> admin_group;
    int max_connections = 0;
    std::uint64_t max_user_connections = 0;
};

std::function<Result<void>(const std::string&)> backup_of(Database& database,
                                                          const ServerOptions& options) {
    if (options.store.empty()) return {};
    return [&database](const std::string& directory) { return database.backup(directory); };
}

Error storage_failure(const Error& error) {
    return {error.code,
            "the storage has failed, so nothing more could be granted: " + error.message +
                "; see to the disk, then start the daemon again: what it had answered "
                "is kept"};
}

class Server {
public:
    explicit Server(const Parts& parts);

    // Nothing, or the failure that ended it.
    std::optional<Error> run();

private:
    struct ListeningSocket {
        Acceptor acceptor;
        bool tcp = false;
    };

    void watch_recovered();
    asio::awaitable<void> accept_loop(ListeningSocket& listening);
    asio::awaitable<void> await_room();
    void admit(Protocol::socket socket, bool tcp);
    std::optional<Error> refusal_of(const Caller& caller);
    bool has_place_for(const Caller& caller);
    bool make_room(bool for_administrator);
    asio::awaitable<void> watch_socket_file();
    asio::awaitable<void> run_maintenance();
    asio::awaitable<void> feed_watchdog();
    asio::awaitable<void> catch_up();
    bool somebody_waits();
    void flush_soon();
    std::function<void()> flush_of_tables();
    void judge(const Error& error);
    bool idle();
    void request_stop(const char* reason);
    void shut_down();

    const Parts parts_;
    // Connections, which the context owns, count themselves out when they go.
    Traffic traffic_;
    RequestMemory memory_;
    IdleConnections idle_connections_;
    ConnectionSet connections_;
    ArrivalGate arrivals_;
    // What accepts, what ends it, and what minds processes run here, on one thread.
    asio::io_context control_;
    // Ends a wait for room.
    asio::steady_timer room_{control_};
    ProcessWatch watch_;
    std::atomic<bool> stopping_{false};
    CallRecorder recorder_;
    Dispatcher dispatcher_;
    StatusPages places_;
    // Those who serve the connections, which are dealt out in turn.
    std::vector<std::unique_ptr<IoThread>> threads_;
    std::size_t next_thread_ = 0;
    std::size_t next_flusher_ = 0;
    std::vector<std::unique_ptr<ListeningSocket>> listening_;
    asio::signal_set signals_;
    SpareDescriptor spare_;
    Refusals refusals_;
    RateLimiter drops_{milliseconds{10'000}};
    steady_clock::time_point last_busy_ = steady_clock::now();
    Mutex mutex_;
    std::optional<Error> failure_ ROCKLOCK_GUARDED_BY(mutex_);
    // Who looks through everything waits for others who do, and for nobody else. What clients leave
    // behind keeps nobody waiting. Last: they use all of the above.
    asio::thread_pool searches_{2};
    asio::thread_pool cleaning_{1};
    ItemEndpoint tables_;
    EditEndpoint edits_;
};

std::string durability_word(const ServerOptions& options) {
    return options.durability == Durability::durable ? "durable" : "written";
}

Server::Server(const Parts& parts)
    : parts_(parts),
      traffic_(parts.max_user_connections),
      arrivals_(max_arrivals, [this] { asio::post(control_, [this] { room_.cancel(); }); }),
      watch_(
          control_.get_executor(),
          [this](const SessionId& session) { dispatcher_.close_session(session, process_gone); }),
      recorder_(parts.log,
                [this](const Error& error) {
                    {
                        MutexLock lock(mutex_);
                        failure_ = storage_failure(error);
                    }
                    asio::post(control_, [this] { request_stop("the storage has failed"); });
                }),
      dispatcher_(
          parts.database.service(), &watch_,
          {.store = parts.options.store.empty() ? "memory" : parts.options.store,
           .durability = durability_word(parts.options),
           .administrator = ::geteuid(),
           .observer = &recorder_,
           .backup = backup_of(parts.database, parts.options),
           .background =
               [this](std::function<void()> search) { asio::post(searches_, std::move(search)); },
           .cleanup =
               [this](std::function<void()> clean) { asio::post(cleaning_, std::move(clean)); },
           .flush_soon = [this] { flush_soon(); },
           .tables = parts.database.tables().value()}),
      places_(parts.database.service(), recorder_, traffic_, stopping_,
              {parts.listeners.all.front().name(), durability_word(parts.options),
               parts.options.user_limits, parts.max_user_connections},
              &tables_, &edits_),
      signals_(control_, SIGTERM, SIGINT),
      refusals_(control_, parts.log, traffic_, parts.max_connections, [this] { room_.cancel(); }),
      tables_(
          *parts.database.tables().value(), parts.database.service(),
          [this](const Error& error) { judge(error); }, flush_of_tables()),
      edits_(*parts.database.tables().value(), parts.database.service(),
             [this](const Error& error) { judge(error); }) {
    // A terminal that closes takes us along; elsewhere it says nothing to us.
    if (::isatty(STDIN_FILENO) == 1) signals_.add(SIGHUP);
    // Those who decide and those who commit need the others.
    const unsigned count = std::clamp(std::thread::hardware_concurrency() / 2, 1U, 8U);
    for (unsigned i = 0; i < count; ++i) {
        threads_.push_back(std::make_unique<IoThread>([this] {
            dispatcher_.release_disconnected();
            tables_.flush();
            return parts_.database.service().flush();
        }));
    }
    for (auto& listener : parts.listeners.all) {
        const int family = listener.tcp() ? AF_INET : AF_UNIX;
        listening_.push_back(std::make_unique<ListeningSocket>(ListeningSocket{
            Acceptor(control_, Protocol(family, 0), listener.take_socket()), listener.tcp()}));
    }
}

// Behind what is read in this round, by the thread that reads it.
void Server::flush_soon() {
    auto* thread = IoThread::current();
    if (thread != nullptr) return thread->flush_soon();
    threads_.front()->post([this] { threads_.front()->flush_soon(); });
}

// A write that waits for no device takes less than to wake another thread and be woken by it.
std::function<void()> Server::flush_of_tables() {
    const bool waits =
        parts_.options.durability == Durability::durable && parts_.database.storage().syncs();
    if (waits) return {};
    return [this] { flush_soon(); };
}

// A look that fails may only have met a bad place on the disk; a storage that has failed has ended.
void Server::judge(const Error& error) {
    if (parts_.database.storage().failure()) recorder_.judge(error);
}

std::optional<Error> Server::run() {
    // Before anything is asked of it.
    parts_.database.service().on_stall(
        [this] { asio::co_spawn(control_, catch_up(), asio::detached); },
        [this] {
            std::chrono::nanoseconds longest{0};
            for (const auto& thread : threads_) longest = std::max(longest, thread->unread_for());
            return longest;
        });
    parts_.database.service().on_flush_needed([this] {
        auto& thread = *threads_[next_flusher_++ % threads_.size()];
        thread.post([&thread] { thread.flush_soon(); });
    });
    watch_recovered();
    auto work = asio::make_work_guard(control_);
    signals_.async_wait([this](const error_code& error, int signal) {
        if (error) return;
        request_stop(signal == SIGTERM ? "SIGTERM" : signal == SIGINT ? "SIGINT" : "SIGHUP");
    });
    for (auto& listening : listening_) {
        asio::co_spawn(control_, accept_loop(*listening), asio::detached);
    }
    asio::co_spawn(control_, run_maintenance(), asio::detached);
    asio::co_spawn(control_, watch_socket_file(), asio::detached);
    asio::co_spawn(control_, feed_watchdog(), asio::detached);

    for (auto& thread : threads_) thread->start();
    std::thread control([this] { control_.run(); });
    stopping_.wait(false);
    shut_down();
    work.reset();
    control_.stop();
    control.join();
    for (auto& thread : threads_) thread->stop();
    MutexLock lock(mutex_);
    return failure_;
}

// Sessions of processes that have gone while no daemon was there end now; the others are watched
// again. Those of connections wait for their clients to come back.
void Server::watch_recovered() {
    const auto sessions = parts_.database.service().sessions({});
    if (!sessions) return;
    for (const auto& session : *sessions) {
        if (session.bound == Bound::process) watch_.watch(session.id, session.processes);
        if (session.bound == Bound::connection) dispatcher_.unbind(session.id);
    }
}

asio::awaitable<void> Server::accept_loop(ListeningSocket& listening) {
    error_code error;
    asio::steady_timer pause(control_);
    while (listening.acceptor.is_open()) {
        co_await await_room();
        auto socket = co_await listening.acceptor.async_accept(
            asio::redirect_error(asio::use_awaitable, error));
        if (!error) {
            admit(std::move(socket), listening.tcp);
        } else if (error == asio::error::no_descriptors) {
            // Somebody is told; and somebody may leave.
            spare_.give();
            auto refused = Protocol::socket(control_);
            listening.acceptor.non_blocking(true, error);
            listening.acceptor.accept(refused, error);
            if (!error) refusals_.refuse(std::move(refused), too_many_connections);
            pause.expires_after(milliseconds{50});
            co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
            spare_.take();
        } else if (listening.acceptor.is_open() && error != asio::error::operation_aborted) {
            pause.expires_after(milliseconds{50});
            co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
        }
    }
}

// While there are enough connections that are not served yet, or that are being refused, further
// ones wait in the kernel's queue.
asio::awaitable<void> Server::await_room() {
    error_code cancelled;
    while (!stopping_ && (arrivals_.full() || refusals_.full())) {
        room_.expires_after(room_pause);
        co_await room_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    }
}

void Server::admit(Protocol::socket socket, bool tcp) {
    ++traffic_.accepted;
    if (has_closed(socket.native_handle())) return;
    const auto caller =
        tcp ? Caller{nobody_known, 0} : caller_of(socket.native_handle(), parts_.admin_group);
    if (const auto refused = refusal_of(caller)) {
        return refusals_.refuse(std::move(socket), refused->message);
    }
    if (tcp) {
        const int yes = 1;
        ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    }
    const Connection::Side side{
        caller,
        {tcp, &places_, &memory_,
         [this](std::function<void()> read) { asio::post(searches_, std::move(read)); }, &tables_,
         &edits_},
        dispatcher_,
        traffic_,
        &idle_connections_,
        &arrivals_};
    auto& thread = *threads_[next_thread_++ % threads_.size()];
    connections_.add(Connection::start(socket.release(), thread, side));
}

// Why a client gets no connection.
std::optional<Error> Server::refusal_of(const Caller& caller) {
    if (!dispatcher_.may_administer(caller)) {
        if (auto over = traffic_.users.check(caller.uid)) return over;
    }
    if (has_place_for(caller)) return std::nullopt;
    return Error(ErrorCode::limit_exceeded, too_many_connections);
}

// Nobody but administrators gets the last places, so that they find one however many others come.
bool Server::has_place_for(const Caller& caller) {
    const int most = parts_.max_connections;
    const bool administrator = dispatcher_.may_administer(caller);
    const int reserve = administrator ? 0 : std::min(most / reserve_divisor, max_reserved);
    const int here = traffic_.connections;
    return here < most - reserve || (here < most + max_beyond && make_room(administrator));
}

bool Server::make_room(bool for_administrator) {
    const auto now = steady_clock::now();
    const auto silence = for_administrator ? silence_before_administrators : max_silence;
    if (!idle_connections_.end_oldest(now - silence)) return false;
    ++traffic_.dropped;
    if (const auto count = drops_.let_through(now); count > 0) {
        parts_.log.write({LogLevel::warning,
                          "connection_dropped",
                          "too many connections, some that had asked nothing made room",
                          {{"dropped", count},
                           {"connections", traffic_.connections.load()},
                           {"most", parts_.max_connections}}});
    }
    return true;
}

// After a stall: what was sent meanwhile is heard before anything is decided by time.
asio::awaitable<void> Server::catch_up() {
    co_await drain_sockets(control_, connections_, [this] { return somebody_waits(); });
    parts_.database.service().resume();
}

// Whether a client waits to be accepted.
bool Server::somebody_waits() {
    return std::any_of(listening_.begin(), listening_.end(), [](const auto& listening) {
        if (!listening->acceptor.is_open()) return false;
        pollfd listener{listening->acceptor.native_handle(), POLLIN, 0};
        return ::poll(&listener, 1, 0) > 0;
    });
}

// Forgets sessions that have ended, and leaves when nobody needs us.
asio::awaitable<void> Server::run_maintenance() {
    auto period = maintenance_period;
    if (parts_.options.idle_exit.count() > 0) {
        period = std::clamp(parts_.options.idle_exit / 4, milliseconds{20}, period);
    }
    error_code error;
    asio::steady_timer timer(control_);
    while (!stopping_) {
        timer.expires_after(period);
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
        if (!stopping_ && idle()) request_stop("nobody needs it");
    }
}

// Without its socket file a daemon keeps the store from the next one, and no client finds it.
asio::awaitable<void> Server::watch_socket_file() {
    const auto& file = parts_.listeners.file;
    error_code error;
    asio::steady_timer timer(control_);
    while (file && !stopping_) {
        timer.expires_after(socket_check_period);
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
        if (stopping_ || file->there()) continue;
        {
            MutexLock lock(mutex_);
            failure_ = Error(ErrorCode::io_error,
                             "the socket file " + file->path() +
                                 " was removed or replaced, so that nobody finds this daemon; "
                                 "start it again, and leave the file to it");
        }
        request_stop("its socket file is gone");
    }
}

// Tells the service manager that we are alive, if our threads and the lock table still answer.
asio::awaitable<void> Server::feed_watchdog() {
    const auto period = parts_.manager.watchdog() / 3;
    error_code error;
    asio::steady_timer timer(control_);
    while (period.count() > 0 && !stopping_) {
        parts_.database.service().statistics();
        parts_.manager.notify("WATCHDOG=1");
        timer.expires_after(period);
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
    }
}

bool Server::idle() {
    const auto now = steady_clock::now();
    // Before the service is asked: one that is opened and watched meanwhile is not among these.
    std::set<SessionId> ended = watch_.sessions();
    const auto sessions = parts_.database.service().sessions({});
    if (!sessions) return false;
    for (const auto& session : *sessions) ended.erase(session.id);
    watch_.forget(ended);

    const steady_clock::time_point last_request{milliseconds{traffic_.last_request}};
    if (!sessions->empty() || traffic_.busy > 0) last_busy_ = now;
    last_busy_ = std::max(last_busy_, last_request);
    const auto idle_exit = parts_.options.idle_exit;
    return idle_exit.count() > 0 && now - last_busy_ >= idle_exit;
}

void Server::request_stop(const char* reason) {
    if (stopping_.exchange(true)) return;
    error_code ignored;
    // Whoever comes from now on finds nobody, and starts another daemon if that is its way.
    if (parts_.listeners.file) parts_.listeners.file->remove();
    for (auto& listening : listening_) listening->acceptor.close(ignored);
    // A second signal ends us at once: what is on the disk is whole at any time.
    signals_.clear(ignored);
    parts_.manager.notify("STOPPING=1");
    parts_.log.write({LogLevel::info, "leaving", std::string("leaving: ") + reason, {}});
    stopping_.notify_all();
}

void Server::shut_down() {
    const auto deadline = steady_clock::now() + drain_time;
    const auto closed = parts_.database.close();
    if (!closed) {
        parts_.log.write({LogLevel::error,
                          "close_failed",
                          "the store could not be closed in order",
                          {{"error", closed.error().message}}});
    }
    while (traffic_.busy > 0 && steady_clock::now() < deadline) {
        std::this_thread::sleep_for(milliseconds{2});
    }
    watch_.stop();
}

std::uint64_t max_user_connections(const ServerOptions& options, int max_connections) {
    const auto automatic = std::max(max_connections / 4 * 3, 1);
    return options.max_user_connections.value_or(static_cast<std::uint64_t>(automatic));
}

void notify_ready(int fd, const std::string& line) {
    if (fd < 0) return;
    [[maybe_unused]] const auto size = ::write(fd, line.data(), line.size());
    ::close(fd);
}

void log_start(const Log& log, Database& database, const ServerOptions& options) {
    const auto statistics = database.statistics();
    log.write({LogLevel::info,
               "opened",
               "the store is open",
               {{"store", options.store.empty() ? "memory" : options.store},
                {"sessions", statistics.sessions},
                {"grants", statistics.held}}});
    report_discarded(database, log);
    if (!options.rehearsal.is_on()) return;
    log.write({LogLevel::warning,
               "rehearsal",
               "this is a rehearsal: requests for tables meet nuisances on purpose",
               {{"throttle_percent", options.rehearsal.throttle_percent},
                {"conflict_percent", options.rehearsal.conflict_percent},
                {"index_lag", exact_duration(options.rehearsal.index_lag)},
                {"ttl_lag", exact_duration(options.rehearsal.time_to_live_lag)},
                {"seed", options.rehearsal.seed}}});
}

Result<void> serve_store(const ServerOptions& options) {
    const Log log(options.log_format, options.log_level);
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
    auto database = open_served_store(options, log);
    if (!database) return std::move(database).error();
    const int connections = std::min(options.max_connections, *descriptors);
    Server server({options, log, manager, *database, *listeners, group, connections,
                   max_user_connections(options, connections)});
    for (const auto& listener : listeners->all) {
        log.write({LogLevel::info, "listening", "listening on " + listener.name(), {}});
    }
    log_start(log, *database, options);
    manager.notify("READY=1\nSTATUS=serving locks");
    notify_ready(options.ready_fd, "ready\n");
    const auto failure = server.run();
    if (failure) return *failure;
    return {};
}

}  // namespace

Result<void> serve(const ServerOptions& options) {
    // What asks other daemons for something that we do not do must not end us.
    // A write beyond a limit of the size of files fails, too, instead of ending us.
    for (const int signal : {SIGPIPE, SIGHUP, SIGUSR1, SIGUSR2, SIGXFSZ}) {
        ::signal(signal, SIG_IGN);
    }
    // A store holds the key that proves who owns a session: no file of it is for others.
    ::umask(077);
    // What calls need comes and goes all the time. It is asked of the system in larger pieces, of
    // which one at a time is kept. That is for glibc's allocator, where jemalloc is not there.
    ::mallopt(M_TOP_PAD, 1 << 20);
    ::mallopt(M_TRIM_THRESHOLD, 16 << 20);
    auto served = serve_store(options);
    if (!served) notify_ready(options.ready_fd, served.error().message + "\n");
    return served;
}

}  // namespace rocklock
