#include "daemon/cli/serve/serve_options.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "daemon/cli/etcd_settings.hpp"
#include "daemon/cli/manager_choice.hpp"
#include "daemon/cli/serve/user_limits.hpp"

namespace rocklock {
namespace {

constexpr std::int64_t max_number = std::numeric_limits<std::int64_t>::max();

constexpr std::array<std::pair<const char*, const char*>, 49> operation_defaults = {
    {{"http", ""},
     {"accept-host", ""},
     {"http-secret-file", ""},
     {"peer-listen", ""},
     {"peer-nodes", ""},
     {"status-listen", ""},
     {"peer-cert", ""},
     {"peer-key", ""},
     {"peer-ca", ""},
     {"relay", ""},
     {"relay-timeout", "5s"},
     {"node", ""},
     {"store", ""},
     {"peer-address", ""},
     {"lead-ttl", "3s"},
     {"etcd-timeout", "10s"},
     {"copy", ""},
     {"reads", "confirmed"},
     {"etcd-quota", "2147483648"},
     {"etcd-compaction", "manager"},
     {"etcd-cert", ""},
     {"etcd-key", ""},
     {"etcd-ca", ""},
     {"etcd-user", ""},
     {"etcd-password-file", ""},
     {"admin-group", ""},
     {"principal-from-uid", "off"},
     {"max-connections", "20000"},
     {"shared-memory", "on"},
     {"slow-wait", "5s"},
     {"stall-timeout", "60s"},
     {"reserve-bytes", "64000000"},
     {"log-format", "text"},
     {"log-level", "info"},
     {"log-file", ""},
     {"max-log-bytes", "10000000"},
     {"history-age", "24h"},
     {"max-history-records", "1000000"},
     {"draft-age", "30d"},
     {"max-principal-drafts", "1000"},
     {"audit-age", "0"},
     {"max-audit-rows", "0"},
     {"region", "local"},
     {"sweep-period", "10s"},
     {"throttle", "0%"},
     {"conflict", "0%"},
     {"index-lag", "0"},
     {"ttl-lag", "0"},
     {"rehearsal-seed", "1"}}};

// A container is useful only if clients of other hosts can connect.
const char* default_http(bool container) { return container ? "0.0.0.0:8000" : ""; }

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

// Returns whether a name of a host can be compared with a header Host: it has no port, and only
// characters of host names and of IPv4 addresses.
bool is_host_name(std::string_view name) {
    return std::all_of(name.begin(), name.end(), [](char letter) {
        return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
               (letter >= '0' && letter <= '9') || letter == '-' || letter == '.' || letter == '_';
    });
}

// Reads the settings of the HTTP API over TCP.
Result<void> read_http(const Settings& settings, ServerOptions& options) {
    options.http = words_in(settings.get("http", default_http(options.container)).value);
    options.http_secret_file = absolute_path(settings.get("http-secret-file", "").value);
    options.accept_hosts = words_in(settings.get("accept-host", "").value);
    for (const auto& name : options.accept_hosts) {
        if (is_host_name(name)) continue;
        return Error(ErrorCode::invalid_argument,
                     "accept-host is '" + name +
                         "'; write only the name of a host, without a scheme or a port, as in "
                         "locks.example");
    }
    return {};
}

// Reads the settings of access, limits and logging.
Result<void> read_operation(const Settings& settings, ServerOptions& options) {
    if (auto done = read_http(settings, options); !done) return done;
    options.admin_group = settings.get("admin-group", "").value;
    const auto rule = settings.choice("principal-from-uid", "off", {"off", "require", "prefix"});
    if (!rule) return rule.error();
    if (*rule == "require") options.principal_from_uid = PrincipalFromUid::require;
    if (*rule == "prefix") options.principal_from_uid = PrincipalFromUid::prefix;
    const auto limit = settings.number("max-connections", "20000", {1, 1'000'000});
    if (!limit) return limit.error();
    options.max_connections = static_cast<int>(*limit);
    const auto shared_memory = settings.choice("shared-memory", "on", {"on", "off"});
    if (!shared_memory) return shared_memory.error();
    options.shared_memory = *shared_memory == "on";
    const auto connections = read_max_user_connections(settings);
    if (!connections) return connections.error();
    options.live.max_user_connections = *connections;
    const auto buffers = read_max_user_buffer_bytes(settings);
    if (!buffers) return buffers.error();
    options.live.max_user_buffer_bytes = *buffers;
    const auto user_limits = read_user_limits(settings, options.store);
    if (!user_limits) return user_limits.error();
    options.live.user_limits = *user_limits;
    const auto slow_wait = settings.duration("slow-wait", "5s");
    if (!slow_wait) return slow_wait.error();
    options.live.slow_wait = *slow_wait;
    const auto stall_timeout = settings.duration("stall-timeout", "60s");
    if (!stall_timeout) return stall_timeout.error();
    options.stall_timeout = *stall_timeout;
    const auto reserve = settings.number("reserve-bytes", "64000000", {0, max_number});
    if (!reserve) return reserve.error();
    options.live.reserve_bytes = static_cast<std::uint64_t>(*reserve);
    return {};
}

// A daemon with a store of its own answers the same requests on its other sockets.
Result<void> check_status(const ServerOptions& options) {
    if (options.status_listen.empty()) return {};
    if (is_etcd_url(options.store) || !options.relay.empty()) return {};
    return Error(ErrorCode::invalid_argument,
                 "status-listen has an effect only together with store or relay: for the health "
                 "and the metrics of this daemon, use http");
}

std::string host_name() {
    utsname names{};
    return ::uname(&names) == 0 ? names.nodename : "";
}

// Reads the settings of connections between the daemons of several hosts.
Result<void> read_peers(const Settings& settings, ServerOptions& options) {
    options.peer_listen = words_in(settings.get("peer-listen", "").value);
    options.peer_nodes = absolute_path(settings.get("peer-nodes", "").value);
    options.peer_tls.certificate = absolute_path(settings.get("peer-cert", "").value);
    options.peer_tls.key = absolute_path(settings.get("peer-key", "").value);
    options.peer_tls.authority = absolute_path(settings.get("peer-ca", "").value);
    options.relay = settings.get("relay", "").value;
    options.node = settings.get("node", "").value;
    if (options.node.empty()) options.node = host_name();
    const auto timeout = settings.duration("relay-timeout", "5s");
    if (!timeout) return timeout.error();
    options.relay_timeout = *timeout;
    options.status_listen = settings.get("status-listen", "").value;
    if (options.relay.empty() || options.peer_listen.empty()) return {};
    return Error(ErrorCode::invalid_argument,
                 "relay and peer-listen are both set: a daemon is either a relay or a manager");
}

// Reads the quota, the compaction and the confirmation of reads. Errors: invalid_argument
Result<void> read_etcd_use(const Settings& settings, EtcdOptions& etcd) {
    const auto quota = settings.number("etcd-quota", "2147483648", {0, max_number});
    if (!quota) return quota.error();
    etcd.quota_bytes = static_cast<std::uint64_t>(*quota);
    const auto compaction = settings.get("etcd-compaction", "manager").value;
    if (compaction == "none") {
        etcd.compaction_period = std::chrono::milliseconds{0};
    } else if (compaction != "manager") {
        return Error(ErrorCode::invalid_argument,
                     "etcd-compaction is '" + compaction + "': write manager or none");
    }
    const auto reads = settings.get("reads", "confirmed").value;
    etcd.lease_reads = reads == "lease";
    if (etcd.lease_reads || reads == "confirmed") return {};
    return Error(ErrorCode::invalid_argument, "reads is '" + reads + "': write confirmed or lease");
}

// Returns an error if an option of a store on etcd was given on the command line without a store.
// Settings from other sources are permitted, so that --memory and --db can be tried.
Result<void> check_no_etcd_options(const Settings& settings) {
    for (const char* const name : {"peer-address", "lead-ttl", "etcd-timeout", "copy", "reads",
                                   "etcd-quota", "etcd-compaction", "etcd-cert", "etcd-key",
                                   "etcd-ca", "etcd-user", "etcd-password-file"}) {
        if (settings.get(name, "").source != "the command line") continue;
        return Error(ErrorCode::invalid_argument,
                     std::string(name) +
                         " has an effect only together with a store on etcd: give --store URL");
    }
    return {};
}

// Reads the settings of a store on etcd. Errors: invalid_argument; io_error (the file with the
// password).
Result<void> read_etcd(const Settings& settings, ServerOptions& options) {
    auto url = read_etcd_url(settings);
    if (!url) return std::move(url).error();
    options.store = *std::move(url);
    if (options.store.empty()) return check_no_etcd_options(settings);
    if (!options.relay.empty()) {
        return Error(ErrorCode::invalid_argument,
                     "relay and store are both set: a daemon with relay has no store, and a node "
                     "with store becomes a relay by itself");
    }
    auto& etcd = options.etcd;
    etcd.node = options.node;
    etcd.address = settings.get("peer-address", "").value;
    if (etcd.address.empty() && !options.peer_listen.empty()) {
        etcd.address = options.peer_listen.front();
    }
    const auto ttl = settings.duration("lead-ttl", "3s");
    if (!ttl) return ttl.error();
    if (*ttl < std::chrono::seconds{2} || *ttl > std::chrono::minutes{1}) {
        return Error(
            ErrorCode::invalid_argument,
            "lead-ttl is " + settings.get("lead-ttl", "3s").value + ": it must be 2s to 60s");
    }
    etcd.lead_ttl = *ttl;
    const auto timeout = settings.duration("etcd-timeout", "10s");
    if (!timeout) return timeout.error();
    if (*timeout < std::chrono::seconds{1}) {
        return Error(ErrorCode::invalid_argument, "etcd-timeout is " +
                                                      settings.get("etcd-timeout", "10s").value +
                                                      ": it must be at least 1s");
    }
    etcd.timeout = *timeout;
    if (auto done = read_etcd_use(settings, etcd); !done) return done;
    etcd.copy_directory = absolute_path(settings.get("copy", "").value);
    return read_etcd_access(settings, etcd);
}

// Reads the settings of the log.
Result<void> read_log(const Settings& settings, ServerOptions& options) {
    const auto format = settings.choice("log-format", "text", {"text", "logfmt", "json"});
    if (!format) return format.error();
    if (*format != "text") {
        options.log_format = *format == "json" ? LogFormat::json : LogFormat::logfmt;
    }
    const auto level = settings.choice("log-level", "info", {"debug", "info", "warning", "error"});
    if (!level) return level.error();
    if (*level == "debug") options.live.log_level = LogLevel::debug;
    if (*level == "warning") options.live.log_level = LogLevel::warning;
    if (*level == "error") options.live.log_level = LogLevel::error;
    options.log_file = absolute_path(settings.get("log-file", "").value);
    const auto bytes = settings.number("max-log-bytes", "10000000", {4'096, max_number});
    if (!bytes) return bytes.error();
    options.max_log_bytes = static_cast<std::uint64_t>(*bytes);
    return {};
}

// Reads how long the history, drafts and the audit log are kept.
Result<void> read_retention(const Settings& settings, Retention& retention) {
    for (const auto& [name, standard, age] :
         {std::tuple("history-age", "24h", &Retention::history_age),
          std::tuple("draft-age", "30d", &Retention::draft_age),
          std::tuple("audit-age", "0", &Retention::audit_age)}) {
        const auto given = settings.duration(name, standard);
        if (!given) return given.error();
        retention.*age = *given;
    }
    const auto records = settings.number("max-history-records", "1000000", {0, max_number});
    if (!records) return records.error();
    retention.max_history_records = static_cast<std::uint64_t>(*records);
    const auto drafts = settings.number("max-principal-drafts", "1000",
                                        {1, std::int64_t{limits::drafts_per_principal}});
    if (!drafts) return drafts.error();
    retention.max_principal_drafts = static_cast<std::uint32_t>(*drafts);
    const auto rows = settings.number("max-audit-rows", "0", {0, max_number});
    if (!rows) return rows.error();
    retention.max_audit_rows = static_cast<std::uint64_t>(*rows);
    auto checked = check_retention(retention);
    if (checked) return checked;
    auto error = std::move(checked).error();
    error.message += "; change history-age, draft-age or audit-age";
    return error;
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
    const auto seed = settings.number("rehearsal-seed", "1", {0, max_number});
    if (!seed) return seed.error();
    rehearsal.seed = static_cast<std::uint64_t>(*seed);
    return {};
}

// The settings that can change while the daemon runs, in addition to those of
// `user_limit_settings`.
constexpr std::array<std::string_view, 9> live_settings = {
    "log-level",           "slow-wait", "reserve-bytes",        "history-age",
    "max-history-records", "draft-age", "max-principal-drafts", "audit-age",
    "max-audit-rows"};

bool is_live(std::string_view name) {
    const auto is_limit = [&](const auto& setting) { return setting.first == name; };
    return std::find(live_settings.begin(), live_settings.end(), name) != live_settings.end() ||
           std::any_of(user_limit_settings.begin(), user_limit_settings.end(), is_limit);
}

Result<void> read_paths(const Settings& settings, bool memory, ServeSettings& read) {
    auto socket = server_socket(settings);
    if (!socket) return std::move(socket).error();
    read.options.socket_path = socket->value;
    read.texts["socket"] = *std::move(socket);
    if (!read.options.relay.empty()) {
        read.texts["db"] = {"(none)", "relay"};
        return {};
    }
    if (!read.options.store.empty()) {
        read.texts["db"] = {"(none)", "store"};
        return {};
    }
    if (memory) {
        read.texts["db"] = {"(memory)", "the command line"};
        return {};
    }
    auto store = server_store(settings);
    if (!store) return std::move(store).error();
    read.options.store = store->value;
    read.texts["db"] = *std::move(store);
    return {};
}

void note_texts(const Settings& settings, ServeSettings& read) {
    read.order = {"socket", "db", "durability", "idle-exit", "allow-shared-store", "container"};
    const auto note = [&](const char* name, const char* standard) {
        read.texts[name] = settings.get(name, standard);
    };
    note("durability", "durable");
    note("idle-exit", "0");
    const bool shared = read.options.allow_shared_store;
    read.texts["allow-shared-store"] = {shared ? "yes" : "no",
                                        shared ? "the command line" : "default"};
    const bool container = read.options.container;
    read.texts["container"] = {container ? "yes" : "no",
                               container ? "the command line" : "default"};
    for (const auto& [name, standard] : operation_defaults) {
        note(name, std::string_view(name) == "http" ? default_http(container) : standard);
        read.order.emplace_back(name);
    }
    for (const auto& [name, standard] : user_limit_settings) {
        note(name, standard);
        read.order.emplace_back(name);
    }
}

}  // namespace

Result<ServeSettings> read_serve_settings(const Arguments& arguments) {
    const auto settings = Settings::load(arguments);
    if (!settings) return settings.error();
    const auto durability = settings->choice("durability", "durable", {"durable", "written"});
    if (!durability) return durability.error();
    const auto idle_exit = settings->duration("idle-exit", "0");
    if (!idle_exit) return idle_exit.error();
    ServeSettings read;
    auto& options = read.options;
    options.durability = *durability == "written" ? Durability::written : Durability::durable;
    options.idle_exit = *idle_exit;
    options.allow_shared_store = arguments.has("allow-shared-store");
    options.container = arguments.has("container");
    if (auto done = read_peers(*settings, options); !done) return std::move(done).error();
    if (auto done = read_etcd(*settings, options); !done) return std::move(done).error();
    if (auto done = check_status(options); !done) return std::move(done).error();
    if (auto done = read_paths(*settings, arguments.has("memory"), read); !done) {
        return std::move(done).error();
    }
    if (auto done = read_operation(*settings, options); !done) return std::move(done).error();
    if (auto done = read_log(*settings, options); !done) return std::move(done).error();
    if (auto done = read_retention(*settings, options.live.retention); !done) {
        return std::move(done).error();
    }
    if (auto done = read_tables(*settings, options); !done) return std::move(done).error();
    note_texts(*settings, read);
    return read;
}

Result<ReloadedSettings> reload_serve_settings(const Arguments& arguments, SettingTexts& in_use) {
    auto read = read_serve_settings(arguments);
    if (!read) return std::move(read).error();
    ReloadedSettings reloaded;
    reloaded.live = read->options.live;
    for (const auto& name : read->order) {
        const Setting& now = read->texts[name];
        Setting& used = in_use[name];
        if (now.value == used.value) continue;
        reloaded.changes.push_back({name, used.value, now.value, is_live(name)});
        if (is_live(name)) used = now;
    }
    return reloaded;
}

}  // namespace rocklock
