#include "daemon/server/server.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <rocklock/clock.hpp>

#include "base/duration_text.hpp"
#include "base/mutex.hpp"
#include "daemon/api/process_watch.hpp"
#include "daemon/net/io_thread.hpp"
#include "daemon/server/admission.hpp"
#include "daemon/server/daemon_setup.hpp"
#include "daemon/server/http_access.hpp"
#include "daemon/server/listeners.hpp"
#include "daemon/server/peer_admission.hpp"
#include "daemon/server/reload.hpp"
#include "daemon/server/remote_processes.hpp"
#include "daemon/server/run_manager.hpp"
#include "daemon/server/served_store.hpp"
#include "daemon/server/service_manager.hpp"
#include "daemon/server/session_watches.hpp"
#include "daemon/server/socket_drain.hpp"
#include "daemon/support/rethrow.hpp"
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

// After SIGTERM, responses have this long to reach their clients.
constexpr milliseconds drain_time{1500};
constexpr milliseconds maintenance_period{10'000};
// The period of checks of the socket file. If it is lost, the daemon exits so that another can
// start.
constexpr milliseconds socket_check_period{1'000};
constexpr milliseconds takeover_check_period{100};

std::function<Result<void>(const std::string&)> backup_of(Database& database,
                                                          const ServerOptions& options) {
    if (options.store.empty()) return {};
    return [&database](const std::string& directory) { return database.backup(directory); };
}

// Returns whether the storage has failed because another node is, or could be, the manager.
bool is_takeover(const Error& error) {
    return error.code == ErrorCode::not_the_manager || error.code == ErrorCode::indeterminate;
}

// Returns whether a node opens the store again after the failure: the cause can end without a
// change on this host.
bool is_retried(const Error& error) {
    return is_takeover(error) || error.code == ErrorCode::no_space;
}

Error storage_failure(const Error& error, bool is_node) {
    if (is_takeover(error) || (is_node && is_retried(error))) return error;
    const std::string what =
        "the storage has failed, and the daemon cannot grant any more locks: " + error.message;
    if (is_node) return {error.code, what};
    return {
        error.code,
        what + "; repair the disk, then start the daemon again: no acknowledged change is lost"};
}

class Server {
public:
    explicit Server(const ManagerParts& parts);
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    ~Server();

    // Returns nullopt after a requested stop, or the failure that ended the server.
    std::optional<Error> run();

private:
    Log& log() const { return *parts_.setup.log; }
    HttpServices services();
    void watch_recovered();
    asio::awaitable<void> watch_socket_file();
    asio::awaitable<void> watch_takeover();
    asio::awaitable<void> run_maintenance();
    asio::awaitable<void> feed_watchdog();
    asio::awaitable<void> catch_up();
    SettingUsers setting_users();
    void await_reload();
    void reload();
    void reload_settings();
    void flush_soon();
    std::function<void()> flush_of_tables();
    void judge(const Error& error);
    void hand_over();
    bool idle();
    bool continues_as_standby();
    void request_stop(const char* reason);
    void shut_down();

    const ManagerParts parts_;
    ServerService& service_;
    // Destroyed after `control_`, because connections decrement the counters when they end.
    Traffic traffic_;
    // One thread runs this context: it accepts connections, handles signals and watches processes.
    asio::io_context control_;
    // Declared before the threads, which end connections that it has admitted.
    Admission admission_;
    PeerAdmission peers_;
    ProcessWatch local_processes_;
    RemoteProcesses remote_processes_;
    SessionWatches watch_;
    std::atomic<bool> stopping_{false};
    CallRecorder recorder_;
    // Limits the log: an SDK repeats a call that failed with status 500, so the same damage can be
    // found many times.
    RateLimiter damage_logged_{std::chrono::milliseconds{1000}, 10};
    Dispatcher dispatcher_;
    StatusPages pages_;
    // The threads that serve connections. New connections are assigned round-robin.
    std::vector<std::unique_ptr<IoThread>> threads_;
    std::size_t next_flusher_ = 0;
    asio::signal_set signals_;
    // Not cleared at shutdown, so that a late SIGHUP does not end the process.
    asio::signal_set reload_signal_;
    steady_clock::time_point last_busy_ = steady_clock::now();
    Mutex mutex_;
    std::optional<Error> failure_ ROCKLOCK_GUARDED_BY(mutex_);
    // Long searches run on separate threads, so that they delay only each other. The locks of
    // disconnected clients are released on another thread, for the same reason. The tasks use the
    // members above.
    asio::thread_pool searches_{2};
    asio::thread_pool cleaning_{1};
    ItemEndpoint tables_;
    EditEndpoint edits_;
};

// Returns the host that is stored with the sessions of local clients.
ClientHost own_host_of(const ManagerParts& parts) {
    if (!parts.is_node) return {};
    return {parts.options.node, system_clock().boot_id()};
}

std::string durability_word(const ServerOptions& options) {
    return options.durability == Durability::durable ? "durable" : "written";
}

Server::Server(const ManagerParts& parts)
    : parts_(parts),
      service_(*server_service(parts.database.service())),
      admission_({control_, *parts.setup.log, traffic_, dispatcher_, services(), threads_,
                  parts.setup.admin_group, parts.setup.max_connections,
                  parts.options.stall_timeout}),
      peers_({control_, *parts.setup.log, admission_, dispatcher_, remote_processes_, threads_,
              traffic_.nodes, default_max_connections(parts.setup.max_connections)},
             parts.peer_access),
      local_processes_(
          control_.get_executor(),
          [this](const SessionId& session) { dispatcher_.close_session(session, process_gone); }),
      remote_processes_(
          [this](const SessionId& session) { dispatcher_.close_session(session, process_gone); }),
      watch_(local_processes_, remote_processes_, own_host_of(parts)),
      recorder_([&log = *parts.setup.log](const LogEvent& event) { log.write(event); },
                [this](const Error& error) {
                    {
                        MutexLock lock(mutex_);
                        failure_ = storage_failure(error, parts_.is_node);
                    }
                    const char* const reason = is_takeover(error)
                                                   ? "another node is, or may be, the manager"
                                                   : "the storage has failed";
                    asio::post(control_, [this, reason] { request_stop(reason); });
                },
                [&storage = parts.database.storage()] { return storage.failure().has_value(); }),
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
           .tables = parts.database.tables().value(),
           .cluster = parts.cluster,
           .own_host = own_host_of(parts),
           .principal_from_uid = parts.options.principal_from_uid,
           .low_space = [&storage = parts.database.storage()] { return !storage.accepts_growth(); },
           .shared_memory = parts.setup.max_shared_connections > 0}),
      pages_(parts.database.service(), recorder_, traffic_, stopping_,
             {parts.listeners.all.front().name(), durability_word(parts.options),
              [&storage = parts.database.storage()] { return storage.statistics(); },
              &dispatcher_.remote_users(), parts.more_metrics},
             &tables_, &edits_),
      signals_(control_, SIGTERM, SIGINT),
      reload_signal_(control_),
      tables_(
          *parts.database.tables().value(), parts.database.service(),
          [this](const Error& error) { judge(error); }, flush_of_tables(),
          &dispatcher_.principals()),
      edits_(*parts.database.tables().value(), parts.database.service(),
             [this](const Error& error) { judge(error); }) {
    // If the daemon runs in a terminal, closing the terminal ends it.
    auto& hangup = ::isatty(STDIN_FILENO) == 1 ? signals_ : reload_signal_;
    hangup.add(SIGHUP);
    set_connection_limits(parts.options.live, setting_users());
    traffic_.shared.set_maximum(parts.setup.max_shared_connections);
    // The other half of the processors is for decisions and commits.
    const unsigned count = std::clamp(std::thread::hardware_concurrency() / 2, 1U, 8U);
    for (unsigned i = 0; i < count; ++i) {
        threads_.push_back(std::make_unique<IoThread>([this] {
            dispatcher_.release_disconnected();
            tables_.flush();
            return service_.flush();
        }));
    }
}

Server::~Server() {
    error_code ignored;
    reload_signal_.clear(ignored);
    ::signal(SIGHUP, SIG_IGN);
}

SettingUsers Server::setting_users() {
    return {parts_.database, traffic_, pages_, log(), parts_.setup.max_connections};
}

void Server::await_reload() {
    reload_signal_.async_wait([this](const error_code& error, int) {
        if (error) return;
        if (!stopping_) reload();
        await_reload();
    });
}

void Server::reload() {
    const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
        steady_clock::now().time_since_epoch());
    parts_.setup.manager.notify("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(now.count()));
    log().reopen();
    if (parts_.options.reload) reload_settings();
    parts_.setup.manager.notify("READY=1");
}

// The settings and the files for relays are applied together, or not at all.
void Server::reload_settings() {
    const auto access = open_peer_access(parts_.options);
    const auto settings =
        access ? parts_.options.reload() : Result<ReloadedSettings>(access.error());
    const bool applied = apply_reloaded(settings, setting_users());
    if (applied && !parts_.options.peer_listen.empty()) peers_.replace_access(*access);
}

// Returns the objects that connections use.
HttpServices Server::services() {
    HttpServices services;
    services.pages = &pages_;
    services.background = [this](std::function<void()> read) {
        asio::post(searches_, std::move(read));
    };
    services.tables = &tables_;
    services.edits = &edits_;
    services.access = &parts_.http_access;
    return services;
}

// Requests a flush after the input of this round. It runs on the calling I/O thread, or on the
// first one if the caller is not an I/O thread.
void Server::flush_soon() {
    auto* thread = IoThread::current();
    if (thread != nullptr) return thread->flush_soon();
    threads_.front()->post([this] { threads_.front()->flush_soon(); });
}

// Returns the function that requests a flush after a write to a table; empty if commits wait for
// the disk. If they do not, flushing on this thread is faster than waking another thread for it.
std::function<void()> Server::flush_of_tables() {
    const bool waits =
        parts_.options.durability == Durability::durable && parts_.database.storage().syncs();
    if (waits) return {};
    return [this] { flush_soon(); };
}

// A call of a table failed because of the server. If the storage has failed as a whole, the server
// stops. That includes damage in the lock state. Damage in the data of a table fails only the calls
// that read it.
void Server::judge(const Error& error) {
    if (parts_.database.storage().failure()) return recorder_.judge(error);
    if (error.code != ErrorCode::corrupt) return;
    const auto count = damage_logged_.let_through(steady_clock::now());
    if (count == 0) return;
    LogEvent event{
        LogLevel::error,
        "damaged_data",
        "a call failed because data of a table is damaged: check the store with `rocklock "
        "db check`, and restore a backup",
        {{"error", error.message}}};
    if (count > 1) event.facts.emplace_back("not_logged", count - 1);
    log().write(event);
}

// Ends the role of the manager as if another node had taken over.
void Server::hand_over() {
    constexpr const char* reason = "the role of the manager is handed over";
    {
        MutexLock lock(mutex_);
        failure_ = Error(ErrorCode::not_the_manager, reason);
    }
    request_stop(reason);
}

std::optional<Error> Server::run() {
    // Set up before the service receives requests.
    service_.on_stall([this] { asio::co_spawn(control_, catch_up(), rethrow); },
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
    await_reload();
    admission_.start(parts_.listeners);
    peers_.start(std::move(parts_.listeners.peers));
    asio::co_spawn(control_, run_maintenance(), rethrow);
    asio::co_spawn(control_, watch_socket_file(), rethrow);
    if (parts_.is_node) asio::co_spawn(control_, watch_takeover(), rethrow);
    asio::co_spawn(control_, feed_watchdog(), rethrow);
    if (parts_.hand_over != nullptr) {
        parts_.hand_over->on_request([this] { asio::post(control_, [this] { hand_over(); }); });
    }

    for (auto& thread : threads_) thread->start();
    std::thread control([this] { control_.run(); });
    {
        const std::stop_callback stop(parts_.stop, [this] {
            asio::post(control_, [this] { request_stop("SIGTERM or SIGINT"); });
        });
        stopping_.wait(false);
    }
    if (parts_.hand_over != nullptr) parts_.hand_over->on_request(nullptr);
    shut_down();
    work.reset();
    control_.stop();
    control.join();
    for (auto& thread : threads_) thread->stop();
    MutexLock lock(mutex_);
    return failure_;
}

// Watches the processes of recovered sessions. If they ended while no daemon was running, the
// sessions end now. Sessions of connections stay until their clients reconnect or their leases end.
void Server::watch_recovered() {
    const auto sessions = parts_.database.service().sessions({});
    if (!sessions) return;
    for (const auto& session : *sessions) {
        if (session.bound == Bound::process) {
            watch_.watch(session.id, session.host, session.processes);
        }
        if (session.bound == Bound::connection) dispatcher_.unbind(session.id);
    }
}

// Runs after a stall: processes the input that clients sent meanwhile, before any lease is judged.
asio::awaitable<void> Server::catch_up() {
    co_await drain_sockets(control_, admission_.connections(), [this] {
        return admission_.has_waiting_clients() || peers_.has_unread();
    });
    service_.resume();
}

// Notices a takeover by another node even if there are no requests.
asio::awaitable<void> Server::watch_takeover() {
    const auto& storage = parts_.database.storage();
    error_code error;
    asio::steady_timer timer(control_);
    while (!stopping_) {
        timer.expires_after(takeover_check_period);
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
        if (const auto failure = storage.failure(); failure && !stopping_) {
            recorder_.judge(*failure);
        }
    }
}

// Periodically removes ended sessions from the process watch, and stops an idle daemon.
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
        remote_processes_.end_old_queries(steady_clock::now());
        if (!stopping_ && idle()) request_stop("no sessions and no requests");
    }
}

// Stops the daemon if its socket file was removed: clients cannot find it any more, and it would
// keep the next daemon from opening the store.
asio::awaitable<void> Server::watch_socket_file() {
    const auto* const file = parts_.listeners.watched_file();
    error_code error;
    asio::steady_timer timer(control_);
    while (file != nullptr && !stopping_) {
        timer.expires_after(socket_check_period);
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
        if (stopping_ || file->there()) continue;
        {
            MutexLock lock(mutex_);
            failure_ = lost_socket_file(*file);
        }
        request_stop("its socket file was removed or replaced");
    }
}

// Notifies the service manager as long as this thread runs and the lock table responds.
asio::awaitable<void> Server::feed_watchdog() {
    const auto period = parts_.setup.manager.watchdog() / 3;
    error_code error;
    asio::steady_timer timer(control_);
    while (period.count() > 0 && !stopping_) {
        parts_.database.service().statistics();
        parts_.setup.manager.notify("WATCHDOG=1");
        timer.expires_after(period);
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
    }
}

bool Server::idle() {
    const auto now = steady_clock::now();
    // Read before the service is queried: a session that is opened in between must not be
    // forgotten.
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
    if (parts_.on_end) parts_.on_end(reason);
    error_code ignored;
    // From now on clients cannot connect; they start another daemon if they are allowed to.
    if (parts_.listeners.file) parts_.listeners.file->remove();
    admission_.close();
    peers_.close();
    // A second signal ends the process immediately. The store is consistent at any time.
    signals_.clear(ignored);
    if (continues_as_standby()) {
        std::vector<LogFact> facts;
        {
            const MutexLock lock(mutex_);
            if (failure_ && failure_->message != reason)
                facts.emplace_back("error", failure_->message);
        }
        log().write({LogLevel::warning, "stepped_down", reason, std::move(facts)});
    } else {
        parts_.setup.manager.notify("STOPPING=1");
        log().write({LogLevel::info, "leaving", std::string("shutting down: ") + reason, {}});
    }
    stopping_.notify_all();
}

bool Server::continues_as_standby() {
    MutexLock lock(mutex_);
    return parts_.is_node && failure_ && is_retried(*failure_);
}

void Server::shut_down() {
    const auto deadline = steady_clock::now() + drain_time;
    const auto closed = parts_.database.close();
    if (!closed && !continues_as_standby()) {
        log().write({LogLevel::error,
                     "close_failed",
                     "the store could not be closed cleanly",
                     {{"error", closed.error().message}}});
    }
    while (traffic_.busy > 0 && steady_clock::now() < deadline) {
        std::this_thread::sleep_for(milliseconds{2});
    }
    local_processes_.stop();
    remote_processes_.stop();
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
               "fault injection is on: requests for tables fail or are delayed on purpose",
               {{"throttle_percent", options.rehearsal.throttle_percent},
                {"conflict_percent", options.rehearsal.conflict_percent},
                {"index_lag", exact_duration(options.rehearsal.index_lag)},
                {"ttl_lag", exact_duration(options.rehearsal.time_to_live_lag)},
                {"seed", options.rehearsal.seed}}});
}

Result<void> serve_store(const ServerOptions& options) {
    const auto peer_access = open_peer_access(options);
    if (!peer_access) return peer_access.error();
    const auto http_access = http_access_of(options);
    if (!http_access) return http_access.error();
    auto setup = set_up_daemon(options);
    if (!setup) return std::move(setup).error();
    auto database = open_served_store(options, *setup->log);
    if (!database) return std::move(database).error();
    const auto failure =
        run_manager({options, *setup, *setup->listeners, *database, *peer_access, *http_access});
    if (failure) return *failure;
    return {};
}

}  // namespace

std::optional<Error> run_manager(const ManagerParts& parts) {
    Server server(parts);
    const auto& options = parts.options;
    if (!parts.is_node) log_listeners(*parts.setup.log, parts.listeners);
    log_start(*parts.setup.log, parts.database, options);
    parts.setup.manager.notify("READY=1\nSTATUS=serving locks");
    notify_ready(options.ready_fd, "ready\n");
    if (options.on_started) options.on_started();
    return server.run();
}

Result<void> serve(const ServerOptions& options) {
    prepare_process();
    // Calls allocate and free memory at a high rate. glibc's allocator, which is used without
    // jemalloc, then gets memory from the system in pieces of 1 MB and returns it only above 16 MB.
    ::mallopt(M_TOP_PAD, 1 << 20);
    ::mallopt(M_TRIM_THRESHOLD, 16 << 20);
    auto served = serve_store(options);
    if (!served) notify_ready(options.ready_fd, served.error().message + "\n");
    return served;
}

}  // namespace rocklock
