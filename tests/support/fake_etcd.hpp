// A fake etcd in memory, for tests, with the faults of a network and of etcd itself.
//
// All nodes of a test share a FakeCluster. Each node has its own path to it, a FakeNode, whose
// faults do not affect other nodes:
//
//     SimulatedClock clock;
//     FakeCluster cluster(clock);
//     const auto client = cluster.connect("a");
//     cluster.node("a").fail_next(EtcdFault::answer_lost);
//     client->txn(...);        // takes effect, and returns indeterminate
//
// The fake does not wait, except in Watch::next(): a request that fails with indeterminate returns
// without waiting for its timeout. If one thread calls it, equal calls have equal results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/result.hpp>

#include "base/mutex.hpp"
#include "storage/etcd/client/client.hpp"
#include "support/fake_etcd_node.hpp"
#include "support/fake_etcd_state.hpp"

namespace rocklock::testing {

// Threads:  thread-safe.
// Lifetime: borrows `clock`, whose boot clock ends the leases. Clients and watches borrow the
//           cluster and its nodes.
class FakeCluster {
public:
    explicit FakeCluster(Clock& clock, const EtcdLimits& limits = {},
                         std::uint64_t cluster_id = 0xCDF8'1819'4E3A'8C32);

    // Returns the node with this name, and creates it if necessary. Nodes are never removed.
    FakeNode& node(const std::string& name = "node");
    // Returns a new connection of the node.
    std::unique_ptr<etcd::Client> connect(const std::string& name = "node");

    // Events of the cluster.

    // Ends a lease now, although it may have been renewed. Errors: resource_not_found.
    Result<void> end_lease(etcd::LeaseId lease);
    // Ends the leases whose time is over. Requests and watches do this by themselves.
    void expire_leases();
    // Compacts the history; 0 means at the current revision.
    Result<void> compact(etcd::Revision revision = 0);
    // 0 means no limit. A larger quota does not end a refusal that has begun.
    void set_quota(std::int64_t bytes);
    // Begins or ends the refusal of writes because of the quota.
    void refuse_writes(bool refuse);
    // Simulates a cluster that was restored from a snapshot: changes after `revision` are lost.
    void restore(etcd::Revision revision);
    void set_cluster_id(std::uint64_t id);

    // Late effects of requests, in the order of the requests.

    std::size_t late_requests() const;
    // Executes all late requests, or the one at `index`.
    void apply_late();
    void apply_late(std::size_t index);
    // Discards all late requests without an effect.
    void drop_late();

    // The facts for a test's verdict. A compaction does not change them.

    // Returns the changes of all keys since `first`.
    std::vector<EtcdChange> history(etcd::Revision first = 1) const;
    // Returns the changes of one key, deletions included.
    std::vector<EtcdChange> history_of(const std::string& key) const;
    std::optional<EtcdChange> find(const std::string& key) const;
    std::optional<std::string> value(const std::string& key) const;
    etcd::Revision revision() const;
    etcd::Revision compacted() const;
    std::vector<etcd::LeaseId> leases() const;
    // Returns the number of executed transactions, late ones included.
    std::uint64_t transactions() const;
    // Returns the number of requests of all nodes, those that were lost included.
    std::uint64_t requests() const;

private:
    friend class FakeClient;
    friend class FakeWatch;

    using Effect = std::function<void(EtcdState&, BootTime)>;
    struct LateRequest {
        Effect effect;
        std::optional<unsigned> after_requests;
    };
    // The stream of one watch. Guarded by `mutex_` of the cluster.
    struct Stream {
        FakeNode& node;
        std::string key;
        std::string end;
        // The first revision that is not in `responses`.
        etcd::Revision next = 0;
        std::uint64_t epoch = 0;
        std::list<etcd::WatchResponse> responses{};
        // The error after the last response.
        std::optional<Error> error{};
        bool cancelled = false;
    };

    // Executes a request. `course` says whether it has an effect at once, which `effect` causes,
    // and whether it has one later. `late_effect` may be called after process() has returned, and
    // must not refer to objects of the caller.
    void process(const FakeNode::Course& course, const Effect& effect, const Effect& late_effect);
    std::shared_ptr<Stream> open_stream(FakeNode& node, const std::string& key,
                                        const std::string& end, etcd::Revision first);
    Result<std::optional<etcd::WatchResponse>> next(Stream& stream,
                                                    std::chrono::milliseconds timeout);
    // Returns nullopt if the stream has neither changes nor an error.
    std::optional<Result<std::optional<etcd::WatchResponse>>> take(Stream& stream)
        ROCKLOCK_REQUIRES(mutex_);
    void cancel(Stream& stream);

    void disturb(const FakeNode::Course& course) ROCKLOCK_REQUIRES(mutex_);
    void count_down_late() ROCKLOCK_REQUIRES(mutex_);
    // Ends expired leases.
    void refresh() ROCKLOCK_REQUIRES(mutex_);
    // Appends new changes to all streams. Called after each change, because a watch that has not
    // fallen behind has received a change before a later compaction.
    void publish() ROCKLOCK_REQUIRES(mutex_);
    void fill(Stream& stream) ROCKLOCK_REQUIRES(mutex_);
    etcd::Revision append_response(Stream& stream, etcd::Revision through)
        ROCKLOCK_REQUIRES(mutex_);

    Clock& clock_;
    // Locked before the mutex of a FakeNode.
    mutable Mutex mutex_;
    CondVar changed_;
    EtcdState state_ ROCKLOCK_GUARDED_BY(mutex_);
    std::map<std::string, std::unique_ptr<FakeNode>> nodes_ ROCKLOCK_GUARDED_BY(mutex_);
    std::vector<std::weak_ptr<Stream>> streams_ ROCKLOCK_GUARDED_BY(mutex_);
    std::list<LateRequest> late_ ROCKLOCK_GUARDED_BY(mutex_);
    std::uint64_t requests_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
};

// A connection of one node. Threads: thread-safe.
class FakeClient final : public etcd::Client {
public:
    FakeClient(FakeCluster& cluster, FakeNode& node) : cluster_(cluster), node_(node) {}

    Result<etcd::TxnResponse> txn(const etcd::Txn& txn, Timeout timeout) override;
    Result<etcd::RangeResponse> range(const etcd::Range& range, Timeout timeout) override;
    Result<void> compact(etcd::Revision revision, Timeout timeout) override;
    Result<etcd::Lease> grant_lease(std::chrono::seconds ttl, Timeout timeout) override;
    Result<std::chrono::seconds> keep_alive(etcd::LeaseId lease, Timeout timeout) override;
    Result<void> revoke_lease(etcd::LeaseId lease, Timeout timeout) override;
    Result<etcd::Status> status(Timeout timeout) override;
    // Has no effect: all nodes are equal.
    void use_leader(Timeout /*timeout*/) override {}
    Result<std::unique_ptr<etcd::Watch>> watch(const std::string& key, const std::string& end,
                                               etcd::Revision first) override;

private:
    // Sends a request that the cluster executes with `execute`, a function that returns a Result.
    template <typename Execute>
    auto send(const FakeNode::Course& course, Execute execute);

    FakeCluster& cluster_;
    FakeNode& node_;
};

}  // namespace rocklock::testing
