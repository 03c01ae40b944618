#include "daemon/server.hpp"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <rocklock/version.hpp>

#include "daemon/connection.hpp"
#include "daemon/dispatcher.hpp"
#include "daemon/process_watch.hpp"
#include "daemon/socket_file.hpp"

namespace rocklock {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Local = asio::local::stream_protocol;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int most_connections = 20'000;
// What SIGTERM leaves for answers to reach their clients.
constexpr milliseconds farewell{1500};
constexpr milliseconds housekeeping_period{10'000};

// As many descriptors as we may have: each client takes one, and each process that is watched.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

Caller caller_of(int socket) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
        // Nobody: may look and lock, not administer.
        return {static_cast<uid_t>(-1), 0};
    }
    return {credentials.uid, credentials.pid};
}

// Opens the store, waiting for one that is just leaving it.
Result<Database> open_database(const ServerOptions& options) {
    DatabaseOptions database;
    database.durability = options.durability;
    if (options.store.empty()) return Database::in_memory(database);
    const auto deadline = steady_clock::now() + options.patience;
    while (true) {
        auto opened = Database::open(options.store, database);
        if (opened || opened.error().code != ErrorCode::store_in_use ||
            steady_clock::now() >= deadline) {
            return opened;
        }
        std::this_thread::sleep_for(milliseconds{20});
    }
}

Result<SocketFile> listen_on(const ServerOptions& options) {
    const auto deadline = steady_clock::now() + options.patience;
    while (true) {
        auto file = SocketFile::listen(options.socket_path);
        if (file || file.error().code != ErrorCode::store_in_use ||
            steady_clock::now() >= deadline) {
            return file;
        }
        std::this_thread::sleep_for(milliseconds{20});
    }
}

class Server {
public:
    Server(Database& database, SocketFile& file, const ServerOptions& options)
        : database_(database),
          file_(file),
          options_(options),
          watch_(io_.get_executor(),
                 [this](const SessionId& session) { dispatcher_.close_session(session); }),
          dispatcher_(
              database.service(), &watch_,
              {options.store.empty() ? "memory" : options.store,
               options.durability == Durability::durable ? "durable" : "written", ::geteuid()}),
          control_(asio::make_strand(io_)),
          acceptor_(control_, Local(), file.take_descriptor()),
          signals_(control_, SIGTERM, SIGINT) {}

    void run();

private:
    void watch_recovered();
    asio::awaitable<void> accept_loop();
    void admit(Local::socket socket);
    asio::awaitable<void> keep_house();
    bool idle();
    void request_stop();
    void shut_down();

    Database& database_;
    SocketFile& file_;
    const ServerOptions& options_;
    // Connections, which the context owns, count themselves out when they go.
    Traffic traffic_;
    asio::io_context io_;
    ProcessWatch watch_;
    Dispatcher dispatcher_;
    // What accepts, and what ends it, run here, one at a time.
    asio::strand<asio::io_context::executor_type> control_;
    Local::acceptor acceptor_;
    asio::signal_set signals_;
    std::atomic<bool> stopping_{false};
    steady_clock::time_point last_busy_ = steady_clock::now();
};

void Server::run() {
    watch_recovered();
    auto work = asio::make_work_guard(io_);
    signals_.async_wait([this](const error_code& error, int) {
        if (!error) request_stop();
    });
    asio::co_spawn(control_, accept_loop(), asio::detached);
    asio::co_spawn(control_, keep_house(), asio::detached);

    const unsigned count = std::clamp(std::thread::hardware_concurrency(), 2U, 8U);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < count; ++i) threads.emplace_back([this] { io_.run(); });
    stopping_.wait(false);
    shut_down();
    work.reset();
    io_.stop();
    for (auto& thread : threads) thread.join();
}

// Sessions of processes that have gone while no daemon was there end now; the others are watched
// again.
void Server::watch_recovered() {
    const auto sessions = database_.service().sessions({});
    if (!sessions) return;
    for (const auto& session : *sessions) {
        if (session.bound == Bound::process) watch_.watch(session.id, session.processes);
    }
}

asio::awaitable<void> Server::accept_loop() {
    error_code error;
    asio::steady_timer pause(control_);
    while (acceptor_.is_open()) {
        auto socket =
            co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, error));
        if (!error) {
            admit(std::move(socket));
        } else if (acceptor_.is_open() && error != asio::error::operation_aborted) {
            // Out of descriptors, most likely: somebody may leave.
            pause.expires_after(milliseconds{50});
            co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
        }
    }
}

void Server::admit(Local::socket socket) {
    if (traffic_.connections >= most_connections) return;
    const auto caller = caller_of(socket.native_handle());
    std::make_shared<Connection>(Connection::Socket(std::move(socket)), asio::make_strand(io_),
                                 dispatcher_, caller, traffic_)
        ->start();
}

// Forgets sessions that have ended, and leaves when nobody needs us.
asio::awaitable<void> Server::keep_house() {
    auto period = housekeeping_period;
    if (options_.idle_exit.count() > 0) {
        period = std::clamp(options_.idle_exit / 4, milliseconds{20}, period);
    }
    error_code error;
    asio::steady_timer timer(control_);
    while (!stopping_) {
        timer.expires_after(period);
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
        if (!stopping_ && idle()) request_stop();
    }
}

bool Server::idle() {
    const auto now = steady_clock::now();
    // Before the service is asked: one that is opened and watched meanwhile is not among these.
    std::set<SessionId> ended = watch_.sessions();
    const auto sessions = database_.service().sessions({});
    if (!sessions) return false;
    for (const auto& session : *sessions) ended.erase(session.id);
    watch_.forget(ended);

    const steady_clock::time_point last_request{milliseconds{traffic_.last_request}};
    if (!sessions->empty() || traffic_.busy > 0) last_busy_ = now;
    last_busy_ = std::max(last_busy_, last_request);
    return options_.idle_exit.count() > 0 && now - last_busy_ >= options_.idle_exit;
}

void Server::request_stop() {
    if (stopping_.exchange(true)) return;
    error_code ignored;
    // Whoever comes from now on finds nobody, and starts another daemon if that is its way.
    file_.remove();
    acceptor_.close(ignored);
    stopping_.notify_all();
}

void Server::shut_down() {
    const auto deadline = steady_clock::now() + farewell;
    const auto closed = database_.close();
    if (!closed) {
        std::cerr << "rocklock: while closing the store: " << closed.error().message << std::endl;
    }
    while (traffic_.busy > 0 && steady_clock::now() < deadline) {
        std::this_thread::sleep_for(milliseconds{2});
    }
    watch_.stop();
}

void tell(int fd, const std::string& line) {
    if (fd < 0) return;
    [[maybe_unused]] const auto size = ::write(fd, line.data(), line.size());
    ::close(fd);
}

Result<void> serve_store(const ServerOptions& options) {
    auto file = listen_on(options);
    if (!file) return std::move(file).error();
    auto database = open_database(options);
    if (!database) return std::move(database).error();
    Server server(*database, *file, options);
    std::cerr << "rocklock: listening on " << options.socket_path << std::endl;
    tell(options.ready_fd, "ready\n");
    server.run();
    std::cerr << "rocklock: leaving" << std::endl;
    return {};
}

}  // namespace

Result<void> serve(const ServerOptions& options) {
    ::signal(SIGPIPE, SIG_IGN);
    raise_descriptor_limit();
    auto served = serve_store(options);
    if (!served) tell(options.ready_fd, served.error().message + "\n");
    return served;
}

}  // namespace rocklock
