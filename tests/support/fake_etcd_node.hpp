// The path from one node to a FakeCluster, with faults that a test plans or draws from a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>

#include "base/mutex.hpp"
#include "simulation/random.hpp"
#include "storage/etcd/client/client.hpp"

namespace rocklock::testing {

enum class EtcdRequest : std::uint8_t {
    txn,
    range,
    compact,
    grant_lease,
    keep_alive,
    revoke_lease,
    status,
    watch,
};

// Where a fault fails with indeterminate, a read fails with unreachable, because it has no effect
// that could be unknown.
enum class EtcdFault : std::uint8_t {
    none,
    // Fails with indeterminate. No effect.
    request_lost,
    // Takes effect, and fails with indeterminate.
    answer_lost,
    // Fails with indeterminate, and takes effect later: see PlannedFault::after_requests.
    applied_late,
    // Takes effect and returns its response. Takes effect once more, later.
    duplicated,
    // Fails with unreachable. No effect.
    unreachable,
    // A keep-alive returns the duration of the lease, but does not renew it (etcd issue 15247).
    keep_alive_ignored,
    // Takes effect, and fails with no_space. etcd 3.4 does this if the quota was not exceeded when
    // the request was received, but is when the request is executed.
    no_space_reported,
    // Fails with access_denied. No effect.
    access_denied,
    // Fails with io_error. No effect.
    io_error,
};

struct PlannedFault {
    EtcdFault fault = EtcdFault::none;
    // If set, only a request of this kind fails. Requests of other kinds leave the fault planned.
    std::optional<EtcdRequest> request = std::nullopt;
    // For applied_late and duplicated: the late effect follows after this number of further
    // requests of any node, at least 1. If it is not set, FakeCluster::apply_late() causes it.
    std::optional<unsigned> after_requests = std::nullopt;
};

// The probabilities of faults of one request, in percent.
struct EtcdFaultRates {
    unsigned request_lost = 0;
    unsigned answer_lost = 0;
    unsigned applied_late = 0;
    unsigned duplicated = 0;
    unsigned unreachable = 0;
    unsigned keep_alive_ignored = 0;
    // The cluster ends a lease of any node before its time, as after etcd issue 12528.
    unsigned lease_ended = 0;
    // The cluster is compacted at any revision.
    unsigned compacted = 0;
    // Per call of Watch::next(): all watches of the node end; and no further changes are visible.
    unsigned watch_ended = 0;
    unsigned watch_delayed = 0;
    // A late effect follows after 1 to this number of further requests.
    unsigned max_late_requests = 8;
};

enum class EtcdCut : std::uint8_t {
    none,
    // Connections are refused: requests fail with unreachable.
    refused,
    // Requests fail with indeterminate and have no effect. Existing watches continue.
    requests_lost,
    // Requests take effect and fail with indeterminate. Watches receive no changes.
    answers_lost,
};

// Threads: thread-safe.
class FakeNode {
public:
    explicit FakeNode(std::uint64_t member_id) : member_id_(member_id) {}

    // Plans faults for the next `count` requests. Planned faults occur in the order of the calls,
    // and before drawn ones.
    void fail_next(EtcdFault fault, unsigned count = 1);
    void fail_next(const PlannedFault& fault, unsigned count = 1);
    // Returns the number of planned faults that have not occurred.
    std::size_t planned() const;
    void plan_none();
    // Returns the number of requests that had this fault.
    std::uint64_t occurred(EtcdFault fault) const;

    // Draws faults of later requests. Equal seeds and equal requests have equal faults.
    void draw(std::uint64_t seed, const EtcdFaultRates& rates);
    void draw_none();

    // Cuts the node off. Planned and drawn faults wait until the cut ends.
    void cut(EtcdCut cut);
    void heal() { cut(EtcdCut::none); }

    // Lets watches and serializable reads of this node see changes only up to `revision`. nullopt
    // shows all changes.
    void show_changes_through(std::optional<etcd::Revision> revision);
    // Ends all current watches of this node. Changes that they have not returned are lost.
    void end_watches();

    std::uint64_t member_id() const { return member_id_; }

    // Functions that FakeCluster and FakeClient call.

    // The course of one request. `end_lease` and `compact` are random numbers, if the cluster shall
    // end a lease or compact.
    struct Course {
        EtcdRequest request = EtcdRequest::txn;
        EtcdFault fault = EtcdFault::none;
        std::optional<unsigned> after_requests;
        std::optional<std::uint64_t> end_lease;
        std::optional<std::uint64_t> compact;
    };
    Course next_course(EtcdRequest request);
    // Draws the faults of one call of Watch::next().
    void next_of_watch(etcd::Revision newest);
    // Returns the newest visible revision, or nullopt if the node receives no changes.
    std::optional<etcd::Revision> visible(etcd::Revision newest);
    // Returns a number that end_watches() changes.
    std::uint64_t watch_epoch() const;

private:
    Course draw_course(EtcdRequest request) ROCKLOCK_REQUIRES(mutex_);
    std::optional<PlannedFault> take_planned(EtcdRequest request) ROCKLOCK_REQUIRES(mutex_);
    EtcdFault draw_fault(EtcdRequest request) ROCKLOCK_REQUIRES(mutex_);

    const std::uint64_t member_id_;
    mutable Mutex mutex_;
    std::list<PlannedFault> planned_ ROCKLOCK_GUARDED_BY(mutex_);
    std::map<EtcdFault, std::uint64_t> occurred_ ROCKLOCK_GUARDED_BY(mutex_);
    EtcdCut cut_ ROCKLOCK_GUARDED_BY(mutex_) = EtcdCut::none;
    std::optional<etcd::Revision> shown_ ROCKLOCK_GUARDED_BY(mutex_);
    std::uint64_t watch_epoch_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    EtcdFaultRates rates_ ROCKLOCK_GUARDED_BY(mutex_);
    simulation::Random random_ ROCKLOCK_GUARDED_BY(mutex_){0};
    // The newest visible revision, if `rates_` delay watches.
    std::optional<etcd::Revision> drawn_shown_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock::testing
