// The state of an etcd cluster in memory: keys, revisions, leases and limits, for tests.
//
// It executes one request after the other, without a network and without faults (fake_etcd.hpp).
// The behavior is that of etcd 3.4.23, including two properties that programs often overlook:
//  - A compaction at a revision also removes the deletions of this revision, so that a watch that
//    begins with this revision does not report them (etcd issue 19179).
//  - If the database exceeds its quota, deletions are still executed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/result.hpp>

#include "storage/etcd/client/client.hpp"

namespace rocklock::testing {

// The limits of a cluster. The defaults are those of etcd 3.4.
struct EtcdLimits {
    // The maximum number of elements in each list of a transaction: in the conditions, in `success`
    // and in `failure`.
    std::size_t operations = 128;
    std::size_t request_bytes = 1536U * 1024U;
    // Requests that write values are refused while the database is larger. 0 means no limit.
    std::int64_t quota_bytes = 0;
    // The minimum duration of a lease. A shorter one is extended to this duration.
    std::chrono::seconds lease_ttl{2};
    // The time from the end of a lease until its keys are deleted.
    std::chrono::nanoseconds lease_delay{0};
    // The maximum number of revisions in one response of a watch that has fallen behind.
    std::size_t watch_revisions = 1000;
};

// A change of a key.
struct EtcdChange {
    // If true, `kv` contains only `key` and `mod_revision`.
    bool deleted = false;
    etcd::KeyValue kv;
    // The number of changes of the key since its creation, this one included; 0 if it is deleted.
    std::int64_t version = 0;
};

// Returns whether `key` is in the range from `first` to `end` of a request. If `end` is empty, only
// `first` is; if `end` is one zero byte, the range has no end.
bool in_etcd_range(std::string_view key, std::string_view first, std::string_view end);

// Threads: one thread.
class EtcdState {
public:
    EtcdState(std::uint64_t cluster_id, const EtcdLimits& limits)
        : limits_(limits), cluster_id_(cluster_id) {}

    // The requests. `now` must not go back.
    Result<etcd::TxnResponse> txn(const etcd::Txn& txn);
    // Executes `range` on a member that has received the changes up to `newest`, which is the
    // current revision unless the read is serializable.
    Result<etcd::RangeResponse> range(const etcd::Range& range, etcd::Revision newest) const;
    Result<void> compact(etcd::Revision revision);
    Result<etcd::Lease> grant_lease(std::chrono::seconds ttl, BootTime now);
    Result<std::chrono::seconds> keep_alive(etcd::LeaseId lease, BootTime now);
    // Returns what keep_alive() would return, but does not renew the lease.
    Result<std::chrono::seconds> granted_ttl(etcd::LeaseId lease, BootTime now) const;
    Result<void> revoke_lease(etcd::LeaseId lease);
    etcd::Status status() const;

    // Revokes the leases that have expired, one after the other.
    void expire_leases(BootTime now);

    etcd::Header header() const { return {cluster_id_, 0, revision_}; }
    etcd::Revision revision() const { return revision_; }
    etcd::Revision compacted() const { return compacted_; }
    // Returns the number of transactions that were executed, with or without a write.
    std::uint64_t transactions() const { return transactions_; }
    // Returns all changes since revision 1. A compaction does not remove them.
    const std::vector<EtcdChange>& history() const { return history_; }
    // Returns the changes of `key`, as indexes of history(), in their order.
    std::vector<std::size_t> changes_of(const std::string& key) const;
    // Returns the newest change of a key that exists; null if it is absent.
    const EtcdChange* find(const std::string& key) const;
    std::vector<etcd::LeaseId> leases() const;
    // Returns whether a watch still reports the change.
    bool watchable(const EtcdChange& change) const;

    EtcdLimits& limits() { return limits_; }
    // Removes the changes after `revision`. Leases continue, with their remaining keys.
    void restore(etcd::Revision revision);
    void set_cluster_id(std::uint64_t id) { cluster_id_ = id; }
    // Ends the refusal of writes that began when the quota was exceeded.
    void clear_no_space() { no_space_ = false; }
    void set_no_space() { no_space_ = true; }

private:
    struct LeaseState {
        std::chrono::seconds ttl{};
        BootTime end;
        std::set<std::string> keys;
    };

    Result<void> check(const etcd::Txn& txn) const;
    Result<void> check_quota(const etcd::Txn& txn);
    Result<void> check_revision(etcd::Revision revision, etcd::Revision newest) const;
    Result<void> check_branch(const std::vector<etcd::Operation>& operations) const;
    bool holds(const etcd::Compare& compare) const;
    etcd::RangeResponse read(const etcd::Range& range, etcd::Revision newest) const;
    const EtcdChange* at(const std::string& key, etcd::Revision revision) const;
    void put(const etcd::Put& put, etcd::Revision revision);
    bool erase(const etcd::DeleteRange& range, etcd::Revision revision);
    void append(EtcdChange change);
    void detach(const etcd::KeyValue& kv);
    std::int64_t count_bytes_in_use() const;

    EtcdLimits limits_;
    std::uint64_t cluster_id_;
    etcd::Revision revision_ = 1;
    etcd::Revision compacted_ = 0;
    std::uint64_t transactions_ = 0;
    std::vector<EtcdChange> history_;
    // Per key, the indexes of its changes in `history_`.
    std::map<std::string, std::vector<std::size_t>, std::less<>> keys_;
    std::map<etcd::LeaseId, LeaseState> leases_;
    etcd::LeaseId last_lease_ = 0x7000'0000'0000'0000;
    std::int64_t db_bytes_ = 0;
    std::int64_t bytes_in_use_ = 0;
    bool no_space_ = false;
};

}  // namespace rocklock::testing
