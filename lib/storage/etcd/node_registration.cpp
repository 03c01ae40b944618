#include "storage/etcd/node_registration.hpp"

#include <utility>

namespace rocklock::etcd {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds registration_timeout{1'000};

}  // namespace

NodeRegistration::NodeRegistration(Client& client, Layout layout, NodeRecord record,
                                   std::chrono::seconds ttl)
    : client_(client),
      layout_(std::move(layout)),
      ttl_(ttl),
      record_(std::move(record)),
      thread_([this](const std::stop_token& stop) { keep_registered(stop); }) {}

NodeRegistration::~NodeRegistration() {
    thread_.request_stop();
    {
        const MutexLock lock(mutex_);
        changed_.notify_all();
    }
    thread_.join();
    // The end of the lease deletes the key.
    if (lease_ == 0) return;
    [[maybe_unused]] const auto revoked = client_.revoke_lease(lease_, registration_timeout);
}

void NodeRegistration::set_standby(bool standby, WallTime since) {
    const MutexLock lock(mutex_);
    record_.standby = standby;
    record_.since = since;
    written_ = false;
    changed_.notify_all();
}

void NodeRegistration::keep_registered(const std::stop_token& stop) {
    const auto period = std::chrono::duration_cast<milliseconds>(ttl_) / 3;
    while (!stop.stop_requested()) {
        bool registered = renew();
        const bool lacks_key = registered && lost_key();
        MutexLock lock(mutex_);
        if (lacks_key) written_ = false;
        if (registered && !written_) {
            const auto record = record_;
            written_ = true;
            lock.unlock();
            registered = write(record);
            lock.lock();
            if (!registered) written_ = false;
        }
        // The record may have changed while it was written. The wait may end early; a renewal too
        // many does no harm.
        const bool has_change = registered && !written_;
        if (!stop.stop_requested() && !has_change) changed_.wait_for(mutex_, period);
    }
}

// Renews the lease, or grants a new one. Returns whether there is a lease.
bool NodeRegistration::renew() {
    if (lease_ != 0) {
        const auto left = client_.keep_alive(lease_, registration_timeout);
        if (left && *left > std::chrono::seconds{0}) return true;
        const bool ended = left || left.error().code == ErrorCode::resource_not_found;
        if (!ended) return false;
        lease_ = 0;
    }
    const auto lease = client_.grant_lease(ttl_, registration_timeout);
    if (!lease) return false;
    lease_ = lease->id;
    const MutexLock lock(mutex_);
    written_ = false;
    return true;
}

// The key is also deleted if another node with the same name has registered itself and ended.
bool NodeRegistration::lost_key() {
    std::string key;
    {
        const MutexLock lock(mutex_);
        if (!written_) return false;
        key = layout_.node(record_.node);
    }
    const auto found = client_.range({.key = std::move(key)}, registration_timeout);
    return found && found->first() == nullptr;
}

bool NodeRegistration::write(const NodeRecord& record) {
    Txn txn;
    txn.success.emplace_back(Put{layout_.node(record.node), encode(record), lease_});
    return client_.txn(txn, registration_timeout).has_value();
}

}  // namespace rocklock::etcd
