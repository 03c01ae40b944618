#include "simulation/stepped_etcd.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/assert.hpp"
#include "storage/etcd/etcd_storage.hpp"
#include "storage/etcd/stage.hpp"

namespace rocklock::simulation {
namespace {

using etcd::CommitRecord;

std::size_t size_of(const Batch& batch) {
    std::size_t bytes = 0;
    for (const Write& write : batch.writes) {
        bytes += write.key.size() + (write.value ? write.value->size() : 0) + 32;
    }
    return bytes;
}

}  // namespace

// A connection that calls a function before a transaction is sent again. Renewals of the lease,
// compactions and questions about the size come from threads of the storage, so they do not reach
// etcd: the simulation renews the lease and compacts.
class SteppedEtcd::Connection final : public etcd::Client {
public:
    Connection(std::unique_ptr<etcd::Client> client, Act before_retry)
        : client_(std::move(client)), before_retry_(std::move(before_retry)) {}

    Result<etcd::TxnResponse> txn(const etcd::Txn& txn, Timeout timeout) override {
        if (failed_ && *before_retry_) std::exchange(*before_retry_, nullptr)();
        auto response = client_->txn(txn, timeout);
        failed_ = !response;
        return response;
    }
    Result<etcd::RangeResponse> range(const etcd::Range& range, Timeout timeout) override {
        return client_->range(range, timeout);
    }
    Result<void> compact(etcd::Revision /*revision*/, Timeout /*timeout*/) override { return {}; }
    Result<etcd::Lease> grant_lease(std::chrono::seconds ttl, Timeout timeout) override {
        return client_->grant_lease(ttl, timeout);
    }
    Result<std::chrono::seconds> keep_alive(etcd::LeaseId /*lease*/, Timeout /*timeout*/) override {
        return std::chrono::seconds{60};
    }
    Result<void> revoke_lease(etcd::LeaseId lease, Timeout timeout) override {
        return client_->revoke_lease(lease, timeout);
    }
    Result<etcd::Status> status(Timeout /*timeout*/) override { return etcd::Status(); }
    void use_leader(Timeout /*timeout*/) override {}
    Result<std::unique_ptr<etcd::Watch>> watch(const std::string& key, const std::string& end,
                                               etcd::Revision first) override {
        return client_->watch(key, end, first);
    }

private:
    const std::unique_ptr<etcd::Client> client_;
    const Act before_retry_;
    bool failed_ = false;
};

Result<std::unique_ptr<SteppedEtcd>> SteppedEtcd::open(testing::FakeCluster& cluster,
                                                       const std::string& node, Clock& clock,
                                                       const EtcdOptions& options) {
    auto before_retry = std::make_shared<std::function<void()>>();
    auto store =
        etcd::open_storage(std::make_unique<Connection>(cluster.connect(node), before_retry),
                           etcd_prefix, clock, options);
    if (!store) return std::move(store).error();
    return std::unique_ptr<SteppedEtcd>(
        new SteppedEtcd(cluster, *std::move(store), std::move(before_retry)));
}

SteppedEtcd::SteppedEtcd(testing::FakeCluster& cluster, std::unique_ptr<Storage> store,
                         Act before_retry)
    : cluster_(cluster), store_(std::move(store)), before_retry_(std::move(before_retry)) {
    // The key is absent if the lease has ended since the election. Its last creation is that of
    // this manager.
    for (const auto& change : cluster_.history_of(etcd::Layout(etcd_prefix).lead())) {
        if (!change.deleted) epoch_ = change.kv.create_revision;
    }
}

CommitNumber SteppedEtcd::enqueue(Batch batch, Durability durability, rocklock::Verdict* verdict) {
    if (dead) return last_;
    if (examined && batch.empty()) return last_;
    if (!failure()) queue_.push_back({std::move(batch), durability, verdict});
    return ++last_;
}

Result<void> SteppedEtcd::wait(CommitNumber number, Durability durability) {
    if (dead) return Error(ErrorCode::io_error, "the process is dead");
    if (examined || durability == Durability::deferred) return {};
    if (number <= written_) return {};
    return pump();
}

bool SteppedEtcd::done(CommitNumber number, Durability durability) const {
    if (dead) return false;
    return durability == Durability::deferred || number <= written_ || failure();
}

std::optional<Error> SteppedEtcd::failure() const {
    if (dead) return Error(ErrorCode::io_error, "the process is dead");
    return store_->failure();
}

std::size_t SteppedEtcd::fitting(std::size_t count) const {
    std::size_t writes = 0;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < std::min(count, queue_.size()); ++i) {
        writes += queue_[i].batch.writes.size();
        bytes += size_of(queue_[i].batch);
        if (i > 0 && (writes > etcd::max_writes || bytes > etcd::max_bytes)) return i;
    }
    return std::min(count, queue_.size());
}

std::uint64_t SteppedEtcd::last_number() const {
    const auto value = cluster_.value(etcd::Layout(etcd_prefix).commit());
    const auto record = value ? etcd::decode_commit(*value) : std::nullopt;
    return record ? record->number : 0;
}

Result<void> SteppedEtcd::write_next(std::size_t count) {
    if (const auto failed = failure()) return *failed;
    count = fitting(count);
    if (count == 0) return {};
    unknown_through_ = written_ + count;
    unknown_number_ = last_number() + 1;
    CommitNumber number = 0;
    auto durability = Durability::written;
    for (std::size_t i = 0; i < count; ++i) {
        Queued& queued = queue_[i];
        number = store_->enqueue(std::move(queued.batch), queued.durability, queued.verdict);
        durability = std::max(durability, queued.durability);
    }
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
    auto done = store_->wait(number, durability);
    if (done) written_ = unknown_through_;
    return done;
}

Result<void> SteppedEtcd::pump() {
    while (!queue_.empty()) {
        if (auto done = write_next(queue_.size()); !done) return done;
    }
    if (const auto failed = failure()) return *failed;
    return {};
}

void SteppedEtcd::resign() { [[maybe_unused]] const auto closed = store_->close(); }

CommitNumber SteppedEtcd::executed_through() const {
    if (unknown_through_ == written_) return written_;
    for (const auto& change : cluster_.history_of(etcd::Layout(etcd_prefix).commit())) {
        const auto record = etcd::decode_commit(change.kv.value);
        if (!record || record->epoch != epoch_) continue;
        const bool executed =
            record->kind == CommitRecord::Kind::plain
                ? record->number == unknown_number_
                : record->kind == CommitRecord::Kind::staged && record->batch == unknown_number_;
        if (executed) return unknown_through_;
    }
    return written_;
}

}  // namespace rocklock::simulation
