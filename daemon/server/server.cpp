#include "daemon/server/server.hpp"

#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/duration_text.hpp"
#include "base/mutex.hpp"
#include "daemon/api/process_watch.hpp"
#include "daemon/net/io_thread.hpp"
#include "daemon/server/admission.hpp"
#include "daemon/server/listeners.hpp"
#include "daemon/server/served_store.hpp"
#include "daemon/server/service_manager.hpp"
#include "daemon/server/socket_drain.hpp"
#include "daemon/support/admin_group.hpp"
#include "daemon/support/descriptors.hpp"
#include "service/call_recorder.hpp"
#include "service/dispatcher.hpp"
#include "service/edit_endpoint.hpp"
#include "service/item_endpoint.hpp"

namespace rocklock {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// What SIGTERM leaves for answers to reach their clients.
constexpr milliseconds drain_time{1500};
constexpr milliseconds maintenance_period{10'000};
// How long nobody may find us, at the most, before we make room for a daemon that is found.
constexpr milliseconds socket_check_period{1'000};
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
    HttpServices services();
    void watch_recovered();
    asio::awaitable<void> watch_socket_file();
    asio::awaitable<void> run_maintenance();
    asio::awaitable<void> feed_watchdog();
    asio::awaitable<void> catch_up();
    void flush_soon();
    std::function<void()> flush_of_tables();
    void judge(const Error& error);
    bool idle();
    void request_stop(const char* reason);
    void shut_down();

    const Parts parts_;
    ServerService& service_;
    // Connections, which the context owns, count themselves out when they go.
    Traffic traffic_;
    RequestMemory memory_;
    // What accepts, what ends it, and what minds processes run here, on one thread.
    asio::io_context control_;
    // Before the threads, which end connections that it has admitted.
    Admission admission_;
    ProcessWatch watch_;
    std::atomic<bool> stopping_{false};
    CallRecorder recorder_;
    Dispatcher dispatcher_;
    StatusPages places_;
    // Those who serve the connections, which are dealt out in turn.
    std::vector<std::unique_ptr<IoThread>> threads_;
    std::size_t next_flusher_ = 0;
    asio::signal_set signals_;
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
      service_(*server_service(parts.database.service())),
      traffic_(parts.max_user_connections),
      admission_({control_, parts.log, traffic_, dispatcher_, services(), threads_,
                  parts.admin_group, parts.max_connections}),
      watch_(
          control_.get_executor(),
          [this](const SessionId& session) { dispatcher_.close_session(session, process_gone); }),
      recorder_([&log = parts.log](const LogEvent& event) { log.write(event); },
                [this](const Error& error) {
                    {
                        MutexLock lock(mutex_);
                        failure_ = storage_failure(error);
                    }
                    asio::post(control_, [this] { request_stop("the storage has failed"); });
                }),
      dispatcher_(
          service_, &watch_,
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
            return service_.flush();
        }));
    }
}

// What connections may use.
HttpServices Server::services() {
    return {
        false,    &places_,
        &memory_, [this](std::function<void()> read) { asio::post(searches_, std::move(read)); },
        &tables_, &edits_};
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
    service_.on_stall([this] { asio::co_spawn(control_, catch_up(), asio::detached); },
                      [this] {
                          std::chrono::nanoseconds longest{0};
                          for (const auto& thread : threads_)
                              longest = std::max(longest, thread->unread_for());
                          return longest;
                      });
    service_.on_flush_needed([this] {
        auto& thread = *threads_[next_flusher_++ % threads_.size()];
        thread.post([&thread] { thread.flush_soon(); });
    });
    watch_recovered();
    auto work = asio::make_work_guard(control_);
    signals_.async_wait([this](const error_code& error, int signal) {
        if (error) return;
        request_stop(signal == SIGTERM ? "SIGTERM" : signal == SIGINT ? "SIGINT" : "SIGHUP");
    });
    admission_.start(parts_.listeners);
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

// After a stall: what was sent meanwhile is heard before anything is decided by time.
asio::awaitable<void> Server::catch_up() {
    co_await drain_sockets(control_, admission_.connections(),
                           [this] { return admission_.has_waiting_clients(); });
    service_.resume();
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
    admission_.close();
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
