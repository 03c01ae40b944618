#include <rocklock/database.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <tuple>
#include <utility>

#include "base/fork.hpp"
#include "client/manager_program.hpp"
#include "client/remote_service.hpp"
#include "client/remote_tables.hpp"
#include "database/end_sessions.hpp"
#include "database/item_locks.hpp"
#include "database/lock_tables.hpp"
#include "database/manager_gate.hpp"
#include "database/session_keeper.hpp"
#include "database/table_sweeper.hpp"
#include "lock/manager/lock_manager.hpp"
#include "lock/records/records.hpp"

namespace rocklock {

// Each member uses only members before it. They are destroyed in reverse order.
struct Database::State {
    Clock& clock;
    std::unique_ptr<Storage> storage;
    // Exactly one of these is set: `manager` for an own store, `remote` for a daemon.
    std::unique_ptr<LockManager> manager;
    std::unique_ptr<RemoteService> remote;
    // For an own store only.
    std::unique_ptr<ManagerGate> gate;
    std::unique_ptr<LockTables> lock_tables;
    // The tables in the own store, or those of the daemon.
    std::unique_ptr<TableService> tables;
    // For an own store only.
    std::unique_ptr<TableSweeper> sweeper;
    std::unique_ptr<SessionKeeper> keeper;
    // Whether the usage of users is counted.
    bool counts_users = false;
    bool closed = false;
    ForkCheck fork_check{};

    LockService& service() const {
        if (manager != nullptr) return *manager;
        return *remote;
    }
    Result<void> close_service() const {
        return manager != nullptr ? manager->close() : remote->close();
    }
    std::optional<BootTime> tick_service() const {
        return manager != nullptr ? manager->tick() : remote->tick();
    }

    // Returns an error if the settings cannot be changed by this object.
    std::optional<Error> refuse_settings() const {
        if (remote != nullptr) {
            return Error(
                ErrorCode::invalid_argument,
                "this database is a connection to a daemon: change the settings in the daemon's "
                "configuration file, and send SIGHUP to the daemon");
        }
        if (!fork_check.in_child()) return std::nullopt;
        return Error(ErrorCode::store_in_use, "this database belongs to the parent process");
    }

    // In a child after a fork, the threads do not exist and the files belong to the parent. The
    // state is therefore not destroyed but leaked.
    static void end(std::unique_ptr<State> state) {
        if (state != nullptr && state->fork_check.in_child()) std::ignore = state.release();
    }
};

namespace {

// The time for the program to find the manager and, if necessary, to start it. The recovery of a
// large store can take a minute.
constexpr std::chrono::milliseconds max_search{70'000};

Error moved_away() {
    return {ErrorCode::invalid_argument,
            "this Database object is empty, because it was moved from"};
}

}  // namespace

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {}
Database::Database(Database&&) noexcept = default;

Database& Database::operator=(Database&& other) noexcept {
    if (this == &other) return *this;
    if (state_) [[maybe_unused]]
        const auto closed = close();
    State::end(std::exchange(state_, std::move(other.state_)));
    return *this;
}

Database::~Database() {
    if (state_) [[maybe_unused]]
        const auto closed = close();
    State::end(std::move(state_));
}

Result<Database> Database::open(const std::string& directory, DatabaseOptions options) {
    Clock& clock = options.clock != nullptr ? *options.clock : system_clock();
    if (is_etcd_url(directory)) {
        options.etcd.create_if_missing = options.create_if_missing;
        auto storage = open_etcd_storage(directory, clock, options.etcd);
        if (!storage) return std::move(storage).error();
        return open_on(*std::move(storage), std::move(options));
    }
    RocksdbOptions rocksdb = options.rocksdb;
    rocksdb.create_if_missing = options.create_if_missing;
    auto storage = open_rocksdb_storage(directory, clock, rocksdb);
    if (!storage) return std::move(storage).error();
    return open_on(*std::move(storage), std::move(options));
}

Result<Database> Database::in_memory(DatabaseOptions options) {
    Clock& clock = options.clock != nullptr ? *options.clock : system_clock();
    return open_on(make_memory_storage(clock), std::move(options));
}

Result<Database> Database::open_on(std::unique_ptr<Storage> storage, DatabaseOptions options) {
    if (options.durability == Durability::deferred) {
        return Error(ErrorCode::invalid_argument,
                     "the durability of a store must be durable or written: with deferred, calls "
                     "would be answered before their changes are written");
    }
    if (auto checked = check_retention(options.retention); !checked) return checked.error();
    // A commit is durable when it is written, and a durable commit is also a confirmation.
    if (storage->must_confirm()) options.durability = Durability::durable;
    Clock& clock = options.clock != nullptr ? *options.clock : system_clock();
    auto state =
        std::make_unique<State>(State{clock, std::move(storage), {}, {}, {}, {}, {}, {}, {}});
    LockManagerOptions manager_options;
    manager_options.durability = options.durability;
    manager_options.background = options.background;
    manager_options.restored = options.restored;
    manager_options.events_kept = options.events_kept;
    manager_options.timings = options.timings;
    manager_options.slow_wait = options.slow_wait;
    manager_options.retention = options.retention;
    manager_options.table.user_limits = options.user_limits;
    manager_options.table.count_users = options.count_users;
    state->counts_users = options.count_users;
    manager_options.on_slow_wait = std::move(options.on_slow_wait);
    auto manager = LockManager::open(*state->storage, clock, std::move(manager_options));
    if (!manager) return std::move(manager).error();
    state->manager = *std::move(manager);
    state->gate = std::make_unique<ManagerGate>(*state->manager, *state->storage);
    if (auto kept = state->gate->open(); !kept) return std::move(kept).error();
    TableOptions table_options;
    table_options.durability = options.durability;
    table_options.sweep_period = options.sweep_period;
    table_options.region = options.region;
    table_options.user_limits = options.user_limits;
    table_options.count_users = options.count_users;
    table_options.retention = options.retention;
    table_options.rehearsal = options.rehearsal;
    table_options.gate = state->gate.get();
    state->lock_tables = std::make_unique<LockTables>(*state->manager);
    table_options.system = state->lock_tables.get();
    auto tables = open_tables(*state->storage, clock, table_options);
    if (!tables) return std::move(tables).error();
    state->tables = *std::move(tables);
    if (options.background) state->sweeper = std::make_unique<TableSweeper>(*state->tables);
    state->keeper =
        std::make_unique<SessionKeeper>(*state->manager, nullptr, clock, options.background);
    state->gate->on_released(
        [keeper = state->keeper.get()](const SessionId& session, GrantId grant) {
            keeper->given_up(session, grant);
        });
    state->manager->on_lost(
        [keeper = state->keeper.get()](const LostNotice& notice) { keeper->lost(notice); },
        [keeper = state->keeper.get()](const SessionId& id) { return keeper->keeps(id); });
    state->manager->on_wanted(
        [keeper = state->keeper.get()](const WantedNotice& notice) { keeper->wanted(notice); });
    state->manager->on_answered(
        [keeper = state->keeper.get()](const AnsweredNotice& notice) { keeper->answered(notice); });
    return Database(std::move(state));
}

Result<Database> Database::connect(const std::string& socket_path, const ConnectOptions& options) {
    Clock& clock = options.clock != nullptr ? *options.clock : system_clock();
    if (options.patience.count() < 0) {
        return Error(ErrorCode::invalid_argument,
                     "patience must not be negative: give 0 not to wait");
    }
    auto path = socket_path;
    RemoteOptions remote_options{options.patience, options.background};
    if (path.empty()) {
        FindManager find{options.program, options.start, max_search};
        auto found = find_manager(find);
        if (!found) return std::move(found).error();
        path = found->socket;
        if (options.start && found->is_private) {
            remote_options.restart = [find](const std::stop_token& stop) {
                auto again = find;
                again.stop = stop;
                std::ignore = find_manager(again);
            };
        }
    }
    auto remote = RemoteService::connect(path, clock, remote_options);
    if (!remote) return std::move(remote).error();
    // There is no local storage, so storage() returns a closed one.
    auto storage = make_memory_storage(clock);
    std::ignore = storage->close();
    auto state = std::make_unique<State>(
        State{clock, std::move(storage), {}, *std::move(remote), {}, {}, {}, {}, {}});
    state->keeper = std::make_unique<SessionKeeper>(*state->remote, state->remote.get(), clock,
                                                    options.background);
    state->tables = std::make_unique<RemoteTables>(
        path, *state->remote, options.patience,
        [keeper = state->keeper.get()](const SessionId& session, GrantId grant) {
            keeper->given_up(session, grant);
        });
    state->remote->on_lost(
        [keeper = state->keeper.get()](const LostNotice& notice) { keeper->lost(notice); });
    state->remote->on_wanted(
        [keeper = state->keeper.get()](const WantedNotice& notice) { keeper->wanted(notice); });
    state->remote->on_answered(
        [keeper = state->keeper.get()](const AnsweredNotice& notice) { keeper->answered(notice); });
    return Database(std::move(state));
}

Result<Session> Database::open_session(std::string_view principal, SessionOptions options) {
    if (!state_) return moved_away();
    auto times = keeping_times(options);
    if (!times) return std::move(times).error();
    OpenSession request;
    request.principal = principal;
    request.lease = options.lease;
    request.note = std::move(options.note);
    request.metadata = std::move(options.metadata);
    // Shown to other clients, so that they can find the process.
    request.pid = ::getpid();
    request.uid = ::getuid();
    auto opened = state_->service().ask(std::move(request));
    if (!opened) return std::move(opened).error();
    return Session(state_->keeper->keep(*opened, *times));
}

Result<Session> Database::resume_session(const SessionCredentials& credentials,
                                         SessionOptions options) {
    if (!state_) return moved_away();
    auto known = state_->service().authenticate(credentials.id, credentials.secret);
    if (!known) return std::move(known).error();
    options.lease = known->lease;
    auto times = keeping_times(options);
    if (!times) return std::move(times).error();
    auto renewed = state_->service().ask(RenewSession{credentials.id, {}, {}, {}, {}});
    if (!renewed) return std::move(renewed).error();
    renewed->secret = credentials.secret;
    return Session(state_->keeper->keep(*renewed, *times));
}

Result<LockClass> Database::put_class(const LockClass& lock_class) {
    if (!state_) return moved_away();
    return state_->service().ask(PutClass{lock_class});
}

Result<LockClass> Database::delete_class(std::string_view pattern) {
    if (!state_) return moved_away();
    return state_->service().ask(DeleteClass{std::string(pattern)});
}

Result<LockClass> Database::drain_class(std::string_view pattern, std::string_view reason,
                                        std::string_view by) {
    if (!state_) return moved_away();
    return state_->service().ask(
        DrainClass{std::string(pattern), std::string(reason), std::string(by)});
}

Result<LockClass> Database::resume_class(std::string_view pattern, std::string_view by) {
    if (!state_) return moved_away();
    return state_->service().ask(ResumeClass{std::string(pattern), std::string(by)});
}

std::vector<LockClass> Database::classes() const {
    if (!state_) return {};
    return state_->service().classes();
}

Result<LockView> Database::show(std::string_view resource) const {
    if (!state_) return moved_away();
    return state_->service().show(resource);
}

Result<LockView> Database::who_edits(const std::string& table, const AttributeMap& key) {
    auto all = tables();
    if (!all) return std::move(all).error();
    const auto resource = resource_of_bound(**all, table, key);
    if (!resource) return Error(resource.error());
    return show(*resource);
}

Result<LockPage> Database::list(const ListLocks& request) const {
    if (!state_) return moved_away();
    return state_->service().list(request);
}

Result<std::vector<SessionView>> Database::sessions(std::string_view principal) const {
    if (!state_) return moved_away();
    return state_->service().sessions(principal);
}

LockStatistics Database::statistics() const {
    if (!state_) return {};
    return state_->service().statistics();
}

Result<void> Database::set_user_limits(const UserLimits& limits) {
    if (!state_) return moved_away();
    if (auto refused = state_->refuse_settings()) return *std::move(refused);
    const bool limited = (limits.sessions | limits.grants | limits.waiters | limits.lock_bytes |
                          limits.drafts | limits.table_bytes) != 0;
    if (limited && !state_->counts_users) {
        return Error(ErrorCode::invalid_argument,
                     "the usage of users is not counted: open the database with "
                     "DatabaseOptions::count_users");
    }
    state_->manager->set_user_limits(limits);
    state_->tables->set_user_limits(limits);
    return {};
}

Result<void> Database::set_retention(const Retention& retention) {
    if (!state_) return moved_away();
    if (auto refused = state_->refuse_settings()) return *std::move(refused);
    if (auto checked = check_retention(retention); !checked) return checked;
    state_->manager->set_retention(retention);
    state_->tables->set_retention(retention);
    return {};
}

Result<void> Database::set_slow_wait(std::chrono::milliseconds slow_wait) {
    if (!state_) return moved_away();
    if (auto refused = state_->refuse_settings()) return *std::move(refused);
    state_->manager->set_slow_wait(slow_wait);
    return {};
}

Result<Released> Database::break_grant(GrantId grant, std::string_view by,
                                       std::string_view reason) {
    if (!state_) return moved_away();
    return state_->service().ask(Break{grant, std::string(reason), std::string(by)});
}

Result<ClosedSession> Database::end_session(const SessionId& session, std::string_view by,
                                            std::string_view reason) {
    if (!state_) return moved_away();
    return state_->service().ask(EndSession{session, std::string(reason), std::string(by)});
}

Result<std::uint64_t> Database::end_sessions(std::string_view principal, std::string_view by,
                                             std::string_view reason) {
    if (!state_) return moved_away();
    return end_all_sessions(state_->service(), {principal}, by, reason);
}

Result<std::uint64_t> Database::end_sessions_of_user(UserId uid, std::string_view by,
                                                     std::string_view reason) {
    if (!state_) return moved_away();
    return end_all_sessions(state_->service(), {{}, uid}, by, reason);
}

Result<TableService*> Database::tables() {
    if (!state_) return moved_away();
    // The sweeper's thread is started only if the tables are used.
    if (state_->sweeper != nullptr && !state_->fork_check.in_child()) state_->sweeper->start();
    return state_->tables.get();
}

Result<TableBinding> Database::bind_table(const TableBinding& binding) {
    if (!state_) return moved_away();
    return state_->tables->bind_table(binding);
}

Result<TableBinding> Database::unbind_table(const std::string& table) {
    if (!state_) return moved_away();
    return state_->tables->unbind_table(table);
}

Result<std::vector<TableBinding>> Database::bindings() const {
    if (!state_) return moved_away();
    return state_->tables->list_bindings();
}

LockService& Database::service() { return state_->service(); }

Storage& Database::storage() { return *state_->storage; }

Result<void> Database::backup(const std::string& directory) {
    if (!state_) return moved_away();
    if (state_->remote != nullptr) return state_->remote->back_up(directory);
    return state_->storage->copy_to(directory, {records::copy_mark(state_->clock.now().wall)});
}

std::optional<BootTime> Database::tick() {
    if (!state_ || state_->fork_check.in_child()) return std::nullopt;
    const auto service_next = state_->tick_service();
    const auto keeper_next = state_->keeper->work();
    if (!service_next) return keeper_next;
    return std::min(*service_next, keeper_next.value_or(BootTime::max()));
}

Result<void> Database::close() {
    if (!state_) return moved_away();
    if (state_->fork_check.in_child()) return state_->close_service();
    if (std::atomic_ref(state_->closed).exchange(true)) return {};
    if (state_->remote != nullptr) state_->remote->begin_closing();
    if (state_->sweeper != nullptr) state_->sweeper->stop();
    state_->keeper->close();
    auto service_closed = state_->close_service();
    // If the item counts cannot be stored, they are computed again after the next open.
    if (state_->tables != nullptr) std::ignore = state_->tables->close();
    // All decisions have been reported by now. Delivers the notices that arrived after the keeper
    // was closed.
    state_->keeper->notify();
    auto storage_closed = state_->storage->close();
    if (!service_closed) return service_closed;
    return storage_closed;
}

}  // namespace rocklock
