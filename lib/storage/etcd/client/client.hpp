// The operations of etcd that Rocklock uses, independent of the transport.
//
// The implementation for a real cluster is in a shared library of its own, librocklock_etcd, which
// uses gRPC and is loaded only if a store has an etcd:// URL (load_client.hpp). Tests use a fake
// etcd in memory. The library contains no rule of Rocklock: it sends one request and returns its
// response.
//
// The meaning of requests and members is that of etcd's API, version 3:
// https://etcd.io/docs/v3.4/learning/api/
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <rocklock/result.hpp>

namespace rocklock::etcd {

// The number of a change of the cluster's keys. Each successful transaction that writes increases
// it by one.
using Revision = std::int64_t;
using LeaseId = std::int64_t;

struct KeyValue {
    std::string key;
    std::string value;
    // The revisions of the creation and of the last change of the key.
    Revision create_revision = 0;
    Revision mod_revision = 0;
    // The lease that deletes the key when it ends; 0 if there is none.
    LeaseId lease = 0;
};

// The header of every response.
struct Header {
    std::uint64_t cluster_id = 0;
    std::uint64_t member_id = 0;
    // The revision of the cluster when it processed the request.
    Revision revision = 0;
};

// A condition of a transaction: the key has this create revision (0 means that the key is absent),
// or this value.
struct Compare {
    std::string key;
    std::variant<Revision, std::string> create_revision_or_value;
};

struct Put {
    std::string key;
    std::string value{};
    LeaseId lease = 0;
};

// Deletes the keys in [key, end), or only `key` if `end` is empty.
struct DeleteRange {
    std::string key;
    std::string end{};
};

// Reads the keys in [key, end), or only `key` if `end` is empty.
struct Range {
    std::string key;
    std::string end{};
    // The maximum number of keys; 0 means no limit.
    std::int64_t limit = 0;
    // The revision to read at; 0 means the newest one.
    Revision revision = 0;
    // If false, the read is linearizable: it reflects every transaction that was complete before
    // the request was sent. If true, a member answers from its own state, which may be older.
    bool serializable = false;
};

using Operation = std::variant<Put, DeleteRange, Range>;

// If all conditions hold, executes the operations in `success`, otherwise those in `failure`; in
// one step.
struct Txn {
    std::vector<Compare> compares;
    std::vector<Operation> success;
    std::vector<Operation> failure;
};

struct RangeResponse {
    Header header;
    std::vector<KeyValue> kvs;
    // Whether more keys exist than `limit` allowed.
    bool more = false;

    // Returns the first key, or null if there is none.
    const KeyValue* first() const { return kvs.empty() ? nullptr : &kvs.front(); }
};

struct TxnResponse {
    Header header;
    // Whether all conditions held.
    bool succeeded = false;
    // The results of the Range operations that were executed, in their order.
    std::vector<RangeResponse> ranges;
};

struct Lease {
    LeaseId id = 0;
    // The duration that etcd has granted, which may be longer than the requested one.
    std::chrono::seconds ttl{};
};

struct Status {
    Header header;
    // The version of the member that answered, such as "3.4.23".
    std::string version;
    // The member that is etcd's leader, and its term of office, as far as the answering member
    // knows; 0 if it knows no leader.
    std::uint64_t leader_id = 0;
    std::uint64_t raft_term = 0;
    std::int64_t db_bytes = 0;
    std::int64_t db_bytes_in_use = 0;
};

// A change of a key that a watch reports.
struct WatchEvent {
    // If true, the key was deleted, and `kv` contains only `key` and `mod_revision`.
    bool deleted = false;
    KeyValue kv;
};

// All watched changes of one or more revisions, in their order. The changes of one revision are
// never divided between two responses.
struct WatchResponse {
    Header header;
    std::vector<WatchEvent> events;
};

// A stream of changes. Threads: one thread calls next(); cancel() is thread-safe.
class Watch {
public:
    Watch() = default;
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    // Cancels the watch.
    virtual ~Watch() = default;

    // Returns the next changes, or nullopt if there were none within `timeout`.
    //
    // Errors: precondition_failed  the start revision has been compacted; load the keys again
    //         unreachable          the stream has ended; start a watch after the last revision
    //         access_denied        the user is not permitted to read the keys
    //         closing              cancel() was called
    virtual Result<std::optional<WatchResponse>> next(std::chrono::milliseconds timeout) = 0;
    // Ends the watch; a call of next() returns soon.
    virtual void cancel() = 0;
};

// A connection to the members of one cluster. A request is sent to one member; after a failure,
// the next request is sent to the next member.
//
// Threads: thread-safe. Each call waits at most for its `timeout`.
// Errors:  unreachable          no member has accepted the request, which has therefore had no
//                               effect
//          indeterminate        the response did not arrive; it is unknown whether the request had
//                               or will still have an effect
//          access_denied        the user or the certificate is not permitted
//          no_space             the database of the cluster has exceeded its quota; a transaction
//                               may nevertheless have had its effect, because etcd executes the
//                               one that exceeds the quota
//          resource_not_found   the lease does not exist
//          precondition_failed  the requested revision has been compacted
//          invalid_argument     the request exceeds a limit of the cluster
//          io_error             any other error of etcd; the message contains it
class Client {
public:
    using Timeout = std::chrono::milliseconds;

    Client() = default;
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    virtual ~Client() = default;

    virtual Result<TxnResponse> txn(const Txn& txn, Timeout timeout) = 0;
    virtual Result<RangeResponse> range(const Range& range, Timeout timeout) = 0;
    // Deletes the history of the keys before `revision`.
    virtual Result<void> compact(Revision revision, Timeout timeout) = 0;

    virtual Result<Lease> grant_lease(std::chrono::seconds ttl, Timeout timeout) = 0;
    // Renews the lease once, and returns its new remaining time.
    virtual Result<std::chrono::seconds> keep_alive(LeaseId lease, Timeout timeout) = 0;
    virtual Result<void> revoke_lease(LeaseId lease, Timeout timeout) = 0;

    virtual Result<Status> status(Timeout timeout) = 0;
    // Sends the next requests to etcd's leader, if it is one of the members of the connection and
    // answers. Any other member would forward a write to it. `timeout` is for each member.
    virtual void use_leader(Timeout timeout) = 0;

    // Starts a watch of the keys in [key, end), beginning with the changes of revision `first`.
    // Waits at most 5 s for a connection. The client must outlive the watch.
    //
    // Errors: unreachable, access_denied
    virtual Result<std::unique_ptr<Watch>> watch(const std::string& key, const std::string& end,
                                                 Revision first) = 0;
};

// The settings of a connection.
struct ClientOptions {
    // The addresses of the members, as "host:port".
    std::vector<std::string> endpoints;
    // Whether to use TLS. The files are in PEM format. If `ca_file` is empty, the authorities of
    // the system are trusted; without `cert_file`, the client sends no certificate.
    bool tls = false;
    std::string ca_file;
    std::string cert_file;
    std::string key_file;
    // The user for etcd's authentication; empty without authentication.
    std::string user;
    std::string password;
};

}  // namespace rocklock::etcd
