#include "daemon/server/served_store.hpp"

#include <sys/stat.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <rocklock/clock.hpp>

#include "base/duration_text.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The events kept for watchers: minutes of a busy daemon, in about ten megabytes of memory.
constexpr std::size_t events_kept = 100'000;

// Returns the log entry for a long wait: the waiter, the number of holders and the first of them.
LogEvent slow_wait_event(const SlowWait& wait) {
    const auto now = system_clock().now().wall;
    LogEvent event{LogLevel::warning,
                   "slow_wait",
                   "a request has waited longer than slow-wait",
                   {{"resource", wait.waiter.resource},
                    {"principal", wait.waiter.principal},
                    {"mode", std::string(to_string(wait.waiter.mode))},
                    {"waited", format_duration(wait.waited)},
                    {"holders", wait.holders.size()}}};
    if (!wait.holders.empty()) {
        const auto& holder = wait.holders.front();
        event.facts.emplace_back("holder", holder.principal);
        event.facts.emplace_back("grant", number(holder.grant));
        event.facts.emplace_back("held_for", format_duration(now - holder.acquired_at));
        event.facts.emplace_back("left", format_duration(holder.remaining));
        event.facts.emplace_back("pid", holder.pid);
        event.facts.emplace_back("note", holder.note);
    }
    return event;
}

// Returns the log entry for the time at which the disk becomes almost full, or has room again.
LogEvent space_event(const SpaceReserveState& space) {
    LogEvent event{LogLevel::info,
                   "space_available",
                   "the disk has room again: new sessions, locks and data are accepted",
                   {{"free_bytes", space.free_bytes}, {"reserve_bytes", space.bytes}}};
    if (space.low) {
        event.level = LogLevel::error;
        event.event = "space_low";
        event.message =
            "the disk is almost full: new sessions, locks and data are refused until there is "
            "room; releases, renewals and deletions continue";
    }
    return event;
}

// Returns the log entry for a change of EtcdSpace::level.
LogEvent etcd_space_event(const EtcdSpace& space) {
    LogEvent event{LogLevel::info,
                   "etcd_space_available",
                   "the database of etcd has room",
                   {{"used_bytes", space.used_bytes},
                    {"bytes", space.bytes},
                    {"quota_bytes", space.quota_bytes}}};
    if (space.level == EtcdSpace::Level::high) {
        event.level = LogLevel::warning;
        event.event = "etcd_space_high";
        event.message =
            "the database of etcd uses more than 60% of its quota: above 85%, new sessions, locks "
            "and data are refused";
    } else if (space.level == EtcdSpace::Level::full) {
        event.level = LogLevel::error;
        event.event = "etcd_space_low";
        event.message =
            "the database of etcd is almost full: new sessions, locks and data are refused until "
            "there is room; releases, renewals and deletions continue";
    }
    return event;
}

// Returns an error if other users can enter the directory of the store, unless that is allowed.
std::optional<Error> check_private(const ServerOptions& options) {
    struct stat status {};
    if (options.allow_shared_store || ::stat(options.store.c_str(), &status) != 0) return {};
    if (!S_ISDIR(status.st_mode) || (status.st_mode & (S_IXGRP | S_IXOTH)) == 0) return {};
    std::array<char, 8> mode{};
    std::snprintf(mode.data(), mode.size(), "%04o", status.st_mode & 07777U);
    return Error(
        ErrorCode::read_only,
        "the directory " + options.store + " has mode " + mode.data() +
            ", so that other users can enter it and read the store's key: run `chmod 700 " +
            options.store + "`, or serve it with --allow-shared-store");
}

}  // namespace

void report_discarded(Database& database, const Log& log) {
    const std::uint64_t bytes = database.storage().discarded_log_bytes();
    if (bytes == 0) return;
    log.write({LogLevel::warning,
               "log_cut",
               "the end of the store's log was incomplete or damaged and was discarded",
               {{"bytes", bytes}}});
}

Result<Database> open_served_store(const ServerOptions& options, const Log& log) {
    DatabaseOptions database;
    database.durability = options.durability;
    database.events_kept = events_kept;
    database.timings = true;
    database.slow_wait = options.live.slow_wait;
    database.user_limits = options.live.user_limits;
    // A limit can be added while the daemon runs.
    database.count_users = true;
    database.retention = options.live.retention;
    database.sweep_period = options.sweep_period;
    database.region = options.region;
    database.rehearsal = options.rehearsal;
    // Thousands of waits can become slow at the same time. A sample of them is logged.
    database.on_slow_wait = [&log, some = std::make_shared<RateLimiter>(milliseconds{1000}, 100)](
                                const SlowWait& wait) {
        const auto count = some->let_through(steady_clock::now());
        if (count == 0) return;
        auto event = slow_wait_event(wait);
        if (count > 1) event.facts.emplace_back("not_logged", count - 1);
        log.write(event);
    };
    if (options.store.empty()) return Database::in_memory(database);
    if (is_etcd_url(options.store)) {
        database.etcd = options.etcd;
        database.etcd.on_space_changed = [&log](const EtcdSpace& space) {
            log.write(etcd_space_event(space));
        };
        return Database::open(options.store, database);
    }
    database.rocksdb.reserve_bytes = options.live.reserve_bytes;
    database.rocksdb.on_space_changed = [&log](const SpaceReserveState& space) {
        log.write(space_event(space));
    };
    if (auto shared = check_private(options)) return *std::move(shared);
    const auto deadline = steady_clock::now() + options.patience;
    while (true) {
        auto opened = Database::open(options.store, database);
        if (opened || opened.error().code != ErrorCode::store_in_use) return opened;
        if (steady_clock::now() >= deadline) {
            auto error = std::move(opened).error();
            error.message +=
                "; use the daemon that serves it, end that process, or give another --db";
            return error;
        }
        std::this_thread::sleep_for(milliseconds{20});
    }
}

}  // namespace rocklock
