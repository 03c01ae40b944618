// The daemon: serves one store to the clients of its sockets.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/database.hpp>
#include <rocklock/result.hpp>

#include "daemon/peer/tls.hpp"
#include "daemon/support/log.hpp"
#include "service/principal_rule.hpp"

namespace rocklock {

// The settings that can change while the daemon runs.
struct LiveSettings {
    LogLevel log_level = LogLevel::info;
    // A wait for a lock is logged if it takes longer than this time. If the time is 0, no wait is
    // logged.
    std::chrono::milliseconds slow_wait{0};
    UserLimits user_limits{};
    // The maximum number of connections of each user. 0 means no limit. nullopt means three
    // quarters of the maximum for all users. That maximum is ServerOptions::max_connections, or the
    // number of file descriptors for connections if this is lower.
    std::optional<std::uint64_t> max_user_connections;
    // The maximum number of bytes of incomplete requests and unread responses of each user. 0 means
    // no limit.
    std::uint64_t max_user_buffer_bytes = 0;
    // How long the history, drafts and the audit log are kept.
    Retention retention{};
    // The reserve of disk space; see RocksdbOptions::reserve_bytes.
    std::uint64_t reserve_bytes = 0;
};

// The settings after the configuration file was read again.
struct ReloadedSettings {
    struct Change {
        std::string name;
        std::string before;
        std::string after;
        // If false, the daemon uses the new value only after a restart.
        bool live = false;
    };
    LiveSettings live;
    std::vector<Change> changes;
};

struct ServerOptions {
    std::string socket_path;
    // Addresses (HOST:PORT) to listen on, in addition to the socket. They must be loopback
    // addresses, unless `container` is true.
    std::vector<std::string> http;
    // If true, the addresses of `http` may accept clients of other hosts. Over TCP, the daemon then
    // offers only the DynamoDB API, unless there is a secret.
    bool container = false;
    // Names that the header Host of a request over TCP may contain, in addition to those of this
    // machine.
    std::vector<std::string> accept_hosts;
    // The file with the secret that requests of the lock API over TCP must send. Empty if there is
    // no secret.
    std::string http_secret_file;
    // Addresses (HOST:PORT) to listen on for relays.
    std::vector<std::string> peer_listen;
    // The certificate of this daemon. Required if an address of `peer_listen`, or the address of
    // `relay`, is not a loopback address.
    TlsFiles peer_tls;
    // The file with the nodes whose relays may connect (PeerNodes). Required if there is a
    // certificate.
    std::string peer_nodes;
    // If not empty, the address (HOST:PORT) at which a node or a relay answers requests about its
    // own health and metrics (StatusServer).
    std::string status_listen;
    // If not empty, the address (HOST:PORT) of the manager to which this daemon relays its clients.
    // The daemon then has no store.
    std::string relay;
    // The name of this host, which the manager uses if there are no certificates.
    std::string node;
    // The maximum time for which a new client waits until the manager can be reached.
    std::chrono::milliseconds relay_timeout{5'000};
    // The directory of the store, or an etcd:// URL. If it is empty, the store is in memory.
    std::string store;
    // For an etcd:// URL.
    EtcdOptions etcd;
    Durability durability = Durability::durable;
    // The members of this group can use the socket and are administrators. Empty if there is no
    // such group.
    std::string admin_group;
    // Determines which principals a client may use. Does not apply to administrators.
    PrincipalFromUid principal_from_uid = PrincipalFromUid::off;
    // The maximum number of connections. Further connections are refused. Some slots are reserved
    // for administrators.
    int max_connections = 20'000;
    // Whether clients of the Unix socket can continue their connections in shared memory.
    bool shared_memory = true;
    // The maximum time for an incomplete request and for an unread response, to which 1 s is added
    // for each 16 KB (TransferLimits). 0 means no limit.
    std::chrono::milliseconds stall_timeout{60'000};
    LiveSettings live;
    // Reads the settings again. Called on SIGHUP. Errors: invalid_argument if the configuration
    // file cannot be read or a setting is invalid. After an error, no setting is changed.
    std::function<Result<ReloadedSettings>()> reload;
    // If true, a store is served even if other users can enter its directory.
    bool allow_shared_store = false;
    // The time from the start of one sweep, which deletes expired items, to the start of the next.
    std::chrono::milliseconds sweep_period{10'000};
    // The region in the ARNs of tables.
    std::string region = "local";
    // Fault injection for requests to tables.
    Rehearsal rehearsal;
    LogFormat log_format = LogFormat::text;
    // The file to which stdout and stderr are redirected, and the size at which it is rotated.
    // Empty if there is no such file.
    std::string log_file;
    std::uint64_t max_log_bytes = 0;
    // The daemon exits after it has had neither sessions nor requests for this time. If the time is
    // 0, the daemon does not exit.
    std::chrono::milliseconds idle_exit{0};
    // If another daemon has the store open or listens on the socket, serve() waits up to this time
    // until that daemon has shut down.
    std::chrono::milliseconds patience{0};
    // Called when the daemon is ready.
    std::function<void()> on_started;
    // The descriptor to which one line is written: "ready", or the reason why the start failed. -1
    // if no line is to be written.
    int ready_fd = -1;
};

// Serves until SIGTERM or SIGINT is received, the idle limit is reached, or the storage fails. Logs
// to stderr. On SIGHUP, opens the log file again, applies the settings that `options.reload`
// returns, and reads the certificates and the file of nodes again. If stdin is a terminal, SIGHUP
// has the effect of SIGTERM.
//
// Errors: as Database::open; store_in_use if another daemon listens on the socket; io_error if the
//         socket file was removed or replaced; io_error, no_space or corrupt if the storage failed
Result<void> serve(const ServerOptions& options);

}  // namespace rocklock
