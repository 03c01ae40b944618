// A store on a cluster of etcd, which several nodes can open, one at a time.
//
// The node that has the store open is its manager. If it ends or loses its connection to etcd,
// another node can open the store and continues with the same sessions, grants and items. Each
// commit is one transaction of etcd, which succeeds only if this node is still the manager. A
// manager that was replaced can therefore change nothing, even if it was paused and does not know
// of its successor. Answers from memory are confirmed (Storage::must_confirm()).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include <rocklock/clock.hpp>
#include <rocklock/export.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

namespace rocklock {

namespace etcd {
class Copy;
class Measurements;
}  // namespace etcd

// The size of the database of etcd. The values are a few seconds old.
struct EtcdSpace {
    enum class Level : std::uint8_t {
        normal,
        // At least 60 percent of the quota are used.
        high,
        // At least 85 percent of the quota are used: Storage::accepts_growth() is false.
        full,
    };

    Level level = Level::normal;
    // EtcdOptions::quota_bytes.
    std::uint64_t quota_bytes = 0;
    // The size of the database, and the part of it that is used. The rest can be used again.
    std::uint64_t bytes = 0;
    std::uint64_t used_bytes = 0;
};

struct EtcdOptions {
    // Whether to create an empty store if there is none. Database::open() sets this to
    // DatabaseOptions::create_if_missing.
    bool create_if_missing = true;
    // The name of this node, which other nodes and users see. If empty, the name of the host.
    std::string node;
    // The address at which this node accepts other nodes, as "host:port"; empty if it accepts none.
    std::string address;
    // The time after which another node can become the manager if this one ends without closing the
    // store. At least 2 s, which is the minimum of etcd; at most 60 s.
    std::chrono::milliseconds lead_ttl{3'000};
    // The maximum time that the open waits to become the manager. With 0, it fails at once if
    // another node is the manager.
    std::chrono::milliseconds lead_timeout{0};
    // The maximum time that a commit waits for etcd. After this time the store fails permanently
    // with `indeterminate`.
    std::chrono::milliseconds timeout{10'000};
    // If false, an answer from memory is confirmed by a read of etcd or by a later commit, which is
    // correct in all cases. If true, the lease of the manager also confirms answers, until a fifth
    // of it (at least 200 ms) is left. Such an answer can be out of date if etcd ends a lease too
    // early (etcd issues 12528 and 15247, present in etcd 3.4.23), or if the clocks of this host
    // and of etcd run at different rates. Grants and writes are correct in both cases.
    bool lease_reads = false;
    // The quota of the database of etcd, as in its option --quota-backend-bytes, whose default is
    // 2 GiB. etcd does not report it. If 85 percent of it are used, Storage::accepts_growth() is
    // false. With 0, all growth is accepted.
    std::uint64_t quota_bytes = std::uint64_t{2} << 30;
    // The manager compacts the history of etcd with this period, and keeps the history of one to
    // two periods. With 0, it does not compact; etcd must then do so (--auto-compaction-mode).
    // Compaction concerns all keys of the cluster, also those of other programs.
    std::chrono::milliseconds compaction_period{30'000};
    // Called on a thread of the store after EtcdSpace::level has changed.
    std::function<void(const EtcdSpace&)> on_space_changed;
    // For TLS, files in PEM format: the authority that has signed the certificates of etcd (if
    // empty, the authorities of the system), and the certificate of this client and its key (if
    // empty, none is sent).
    std::string ca_file;
    std::string cert_file;
    std::string key_file;
    // The directory in which this process keeps a copy of all values, from which it answers reads.
    // It is created if it does not exist, and must not be used by another process. The copy can be
    // deleted while the store is closed, and is then loaded from etcd. If empty, the copy is in
    // memory.
    std::string copy_directory;
    // Internal: ends the open early, with the error `closing`, while it reads values.
    std::stop_token stop{};
    // Internal: opens the store for restore_store_to_etcd(). Other nodes do not use it meanwhile.
    bool restoring = false;
    // Internal: a copy that exists longer than the store. Replaces `copy_directory`.
    std::shared_ptr<etcd::Copy> copy;
    // Internal: measurements that continue when the store is opened again. May be null.
    std::shared_ptr<etcd::Measurements> measurements;
    // The user and the password, if etcd requires authentication.
    std::string user;
    std::string password;
};

// Returns whether `location` is the URL of a store on etcd, and not a directory.
ROCKLOCK_API bool is_etcd_url(const std::string& location);

// Becomes the manager of a store on etcd, and opens it. `url` has the form
// etcd://HOST:PORT[,HOST:PORT...][/PREFIX][?tls]; the default of PREFIX is "rocklock". Close the
// store so that another node can take over at once.
//
// Errors: invalid_argument (the URL or an option), store_in_use (another node is the manager),
//         unreachable (no member of etcd answers), not_a_store, access_denied, newer_format,
//         corrupt, no_space, io_error, indeterminate (etcd did not answer in time). With
//         store_in_use, Error::manager names the other node.
ROCKLOCK_API Result<std::unique_ptr<Storage>> open_etcd_storage(const std::string& url,
                                                                Clock& clock,
                                                                const EtcdOptions& options = {});

}  // namespace rocklock
