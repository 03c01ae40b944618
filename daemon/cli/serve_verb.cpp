#include <array>
#include <charconv>
#include <cstdio>
#include <limits>
#include <utility>
#include <vector>

#include "base/duration_text.hpp"
#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/manager_choice.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/user_limits.hpp"
#include "daemon/cli/verbs.hpp"
#include "daemon/server/server.hpp"

namespace rocklock {
namespace {

void print_setting(const char* name, const Setting& setting) {
    print(std::string(name) + " = " + setting.value + "    # " + setting.source);
}

std::string directory_of(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos || slash == 0 ? "" : path.substr(0, slash);
}

constexpr std::array<std::pair<const char*, const char*>, 14> operation_defaults = {
    {{"http", ""},
     {"admin-group", ""},
     {"max-connections", "20000"},
     {"slow-wait", "5s"},
     {"stall-timeout", "60s"},
     {"log-format", "text"},
     {"log-level", "info"},
     {"region", "local"},
     {"sweep-period", "10s"},
     {"throttle", "0%"},
     {"conflict", "0%"},
     {"index-lag", "0"},
     {"ttl-lag", "0"},
     {"rehearsal-seed", "1"}}};

std::vector<std::string> words_in(const std::string& list) {
    std::vector<std::string> words;
    std::string word;
    for (const char letter : list + ",") {
        if (letter != ',' && letter != ' ') {
            word += letter;
        } else if (!word.empty()) {
            words.push_back(std::exchange(word, {}));
        }
    }
    return words;
}

// Reads the settings of access, limits and logging.
Result<void> read_operation(const Settings& settings, ServerOptions& options) {
    options.http = words_in(settings.get("http", "").value);
    options.admin_group = settings.get("admin-group", "").value;
    const auto limit = settings.number("max-connections", "20000", {1, 1'000'000});
    if (!limit) return limit.error();
    options.max_connections = static_cast<int>(*limit);
    const auto connections = read_max_user_connections(settings);
    if (!connections) return connections.error();
    options.max_user_connections = *connections;
    const auto buffers = read_max_user_buffer_bytes(settings);
    if (!buffers) return buffers.error();
    options.max_user_buffer_bytes = *buffers;
    const auto user_limits = read_user_limits(settings, options.store);
    if (!user_limits) return user_limits.error();
    options.user_limits = *user_limits;
    const auto slow_wait = settings.duration("slow-wait", "5s");
    if (!slow_wait) return slow_wait.error();
    options.slow_wait = *slow_wait;
    const auto stall_timeout = settings.duration("stall-timeout", "60s");
    if (!stall_timeout) return stall_timeout.error();
    options.stall_timeout = *stall_timeout;
    const auto format = settings.choice("log-format", "text", {"text", "logfmt", "json"});
    if (!format) return format.error();
    if (*format != "text") {
        options.log_format = *format == "json" ? LogFormat::json : LogFormat::logfmt;
    }
    const auto level = settings.choice("log-level", "info", {"debug", "info", "warning", "error"});
    if (!level) return level.error();
    if (*level == "debug") options.log_level = LogLevel::debug;
    if (*level == "warning") options.log_level = LogLevel::warning;
    if (*level == "error") options.log_level = LogLevel::error;
    return {};
}

// Reads the settings of tables.
Result<void> read_tables(const Settings& settings, ServerOptions& options) {
    const auto period = settings.duration("sweep-period", "10s");
    if (!period) return period.error();
    if (period->count() == 0) {
        return Error(ErrorCode::invalid_argument, "sweep-period is 0: the minimum is 1ms");
    }
    options.sweep_period = *period;
    const auto region = settings.get("region", "local");
    if (!is_region(region.value)) {
        return Error(
            ErrorCode::invalid_argument,
            "region (from " + region.source + ") is '" + region.value +
                "'; write 1 to 63 lower-case letters, digits and hyphens, as in eu-west-1");
    }
    options.region = region.value;
    auto& rehearsal = options.rehearsal;
    const auto throttle = settings.percent("throttle", "0%");
    if (!throttle) return throttle.error();
    rehearsal.throttle_percent = *throttle;
    const auto conflict = settings.percent("conflict", "0%");
    if (!conflict) return conflict.error();
    rehearsal.conflict_percent = *conflict;
    const auto index_lag = settings.duration("index-lag", "0");
    if (!index_lag) return index_lag.error();
    rehearsal.index_lag = *index_lag;
    const auto ttl_lag = settings.duration("ttl-lag", "0");
    if (!ttl_lag) return ttl_lag.error();
    rehearsal.time_to_live_lag = *ttl_lag;
    const auto seed =
        settings.number("rehearsal-seed", "1", {0, std::numeric_limits<std::int64_t>::max()});
    if (!seed) return seed.error();
    rehearsal.seed = static_cast<std::uint64_t>(*seed);
    return {};
}

// The socket and the store that a daemon uses.
struct DaemonPaths {
    Setting socket;
    Setting store;
};
Result<DaemonPaths> read_paths(const Settings& settings, bool memory) {
    auto socket = server_socket(settings);
    if (!socket) return std::move(socket).error();
    if (memory) return DaemonPaths{*std::move(socket), {"(memory)", "the command line"}};
    auto store = server_store(settings);
    if (!store) return std::move(store).error();
    return DaemonPaths{*std::move(socket), *std::move(store)};
}

// Prints the settings and their origins for --print-config.
void print_settings(const Settings& settings, const DaemonPaths& paths, bool shared) {
    print_setting("socket", paths.socket);
    print_setting("db", paths.store);
    print_setting("durability", settings.get("durability", "durable"));
    print_setting("idle-exit", settings.get("idle-exit", "0"));
    print_setting("allow-shared-store",
                  {shared ? "yes" : "no", shared ? "the command line" : "default"});
    for (const auto& [name, value] : operation_defaults) {
        print_setting(name, settings.get(name, value));
    }
    for (const auto& [name, value] : user_limit_settings) {
        print_setting(name, settings.get(name, value));
    }
}

}  // namespace

int serve_verb(const Arguments& arguments) {
    const auto settings = Settings::load(arguments);
    if (!settings) return fail(settings.error());
    const auto durability = settings->choice("durability", "durable", {"durable", "written"});
    if (!durability) return fail(durability.error());
    const auto idle_exit = settings->duration("idle-exit", "0");
    if (!idle_exit) return fail(idle_exit.error());
    ServerOptions options;
    options.durability = *durability == "written" ? Durability::written : Durability::durable;
    options.idle_exit = *idle_exit;
    const bool memory = arguments.has("memory");
    const auto paths = read_paths(*settings, memory);
    if (!paths) return fail(paths.error());
    options.store = memory ? "" : paths->store.value;
    if (auto read = read_operation(*settings, options); !read) return fail(read.error());
    if (auto read = read_tables(*settings, options); !read) return fail(read.error());
    if (memory && arguments.has("db")) {
        return fail({ErrorCode::invalid_argument,
                     "--memory keeps the store in memory, and --db names its directory: give only "
                     "one of them"});
    }

    if (arguments.has("print-config")) {
        print_settings(*settings, *paths, arguments.has("allow-shared-store"));
        return exit_status::done;
    }

    options.socket_path = paths->socket.value;
    options.allow_shared_store = arguments.has("allow-shared-store");
    if (const auto fd = arguments.get("ready-fd")) {
        std::from_chars(fd->data(), fd->data() + fd->size(), options.ready_fd);
        // If the daemon is started automatically, the previous one may still be shutting down.
        options.patience = std::chrono::seconds{20};
    }
    // Checked before any directory is created.
    if (auto checked = check_socket_path(options.socket_path); !checked) {
        return fail(checked.error());
    }
    for (const auto& directory : {directory_of(options.socket_path), directory_of(options.store)}) {
        if (directory.empty()) continue;
        if (auto made = make_directories(directory); !made) return fail(made.error());
    }
    const auto served = serve(options);
    return served ? exit_status::done : fail(about_store(served.error(), options.store));
}

}  // namespace rocklock
