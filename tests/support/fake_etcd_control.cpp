// The functions of FakeCluster that tests call: events, late requests and facts.
#include <iterator>

#include "base/assert.hpp"
#include "support/fake_etcd.hpp"

namespace rocklock::testing {

Result<void> FakeCluster::end_lease(etcd::LeaseId lease) {
    const MutexLock lock(mutex_);
    auto done = state_.revoke_lease(lease);
    publish();
    return done;
}

void FakeCluster::expire_leases() {
    const MutexLock lock(mutex_);
    refresh();
}

Result<void> FakeCluster::compact(etcd::Revision revision) {
    const MutexLock lock(mutex_);
    return state_.compact(revision > 0 ? revision : state_.revision());
}

void FakeCluster::set_quota(std::int64_t bytes) {
    const MutexLock lock(mutex_);
    state_.limits().quota_bytes = bytes;
}

void FakeCluster::refuse_writes(bool refuse) {
    const MutexLock lock(mutex_);
    if (refuse) {
        state_.set_no_space();
    } else {
        state_.clear_no_space();
    }
}

void FakeCluster::restore(etcd::Revision revision) {
    const MutexLock lock(mutex_);
    state_.restore(revision);
    // The members were stopped, which ends all streams.
    for (const auto& [name, node] : nodes_) node->end_watches();
    changed_.notify_all();
}

void FakeCluster::set_cluster_id(std::uint64_t id) {
    const MutexLock lock(mutex_);
    state_.set_cluster_id(id);
}

std::size_t FakeCluster::late_requests() const {
    const MutexLock lock(mutex_);
    return late_.size();
}

void FakeCluster::apply_late() {
    const MutexLock lock(mutex_);
    refresh();
    for (; !late_.empty(); late_.pop_front()) {
        late_.front().effect(state_, clock_.now().boot);
        publish();
    }
}

void FakeCluster::apply_late(std::size_t index) {
    const MutexLock lock(mutex_);
    ROCKLOCK_ASSERT(index < late_.size());
    refresh();
    const auto late = std::next(late_.begin(), static_cast<std::ptrdiff_t>(index));
    late->effect(state_, clock_.now().boot);
    late_.erase(late);
    publish();
}

void FakeCluster::drop_late() {
    const MutexLock lock(mutex_);
    late_.clear();
}

std::vector<EtcdChange> FakeCluster::history(etcd::Revision first) const {
    const MutexLock lock(mutex_);
    std::vector<EtcdChange> changes;
    for (const auto& change : state_.history()) {
        if (change.kv.mod_revision >= first) changes.push_back(change);
    }
    return changes;
}

std::vector<EtcdChange> FakeCluster::history_of(const std::string& key) const {
    const MutexLock lock(mutex_);
    std::vector<EtcdChange> changes;
    for (const auto index : state_.changes_of(key)) changes.push_back(state_.history()[index]);
    return changes;
}

std::optional<EtcdChange> FakeCluster::find(const std::string& key) const {
    const MutexLock lock(mutex_);
    const auto* change = state_.find(key);
    return change ? std::optional(*change) : std::nullopt;
}

std::optional<std::string> FakeCluster::value(const std::string& key) const {
    const auto change = find(key);
    return change ? std::optional(change->kv.value) : std::nullopt;
}

etcd::Revision FakeCluster::revision() const {
    const MutexLock lock(mutex_);
    return state_.revision();
}

etcd::Revision FakeCluster::compacted() const {
    const MutexLock lock(mutex_);
    return state_.compacted();
}

std::vector<etcd::LeaseId> FakeCluster::leases() const {
    const MutexLock lock(mutex_);
    return state_.leases();
}

std::uint64_t FakeCluster::transactions() const {
    const MutexLock lock(mutex_);
    return state_.transactions();
}

std::uint64_t FakeCluster::requests() const {
    const MutexLock lock(mutex_);
    return requests_;
}

}  // namespace rocklock::testing
