#include "support/fake_etcd_state.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <variant>

#include "base/assert.hpp"

namespace rocklock::testing {

namespace {

// The approximate number of bytes that an operation or a stored change needs besides its key and
// its value.
constexpr std::size_t operation_overhead = 12;
constexpr std::int64_t change_overhead = 96;
constexpr std::chrono::seconds max_lease_ttl{9'000'000'000};

Error invalid(std::string text) {
    return {ErrorCode::invalid_argument, "etcdserver: " + std::move(text)};
}

Error no_lease() {
    return {ErrorCode::resource_not_found, "etcdserver: requested lease not found"};
}

const std::string& key_of(const etcd::Operation& operation) {
    return std::visit([](const auto& of) -> const std::string& { return of.key; }, operation);
}

bool is_put(const etcd::Operation& operation) {
    return std::holds_alternative<etcd::Put>(operation);
}

bool writes(const etcd::Operation& operation) {
    return !std::holds_alternative<etcd::Range>(operation);
}

std::size_t size_of(const etcd::Operation& operation) {
    struct Size {
        std::size_t operator()(const etcd::Put& put) const {
            return put.key.size() + put.value.size();
        }
        std::size_t operator()(const etcd::DeleteRange& range) const {
            return range.key.size() + range.end.size();
        }
        std::size_t operator()(const etcd::Range& range) const {
            return range.key.size() + range.end.size();
        }
    };
    return operation_overhead + std::visit(Size{}, operation);
}

std::size_t size_of(const etcd::Compare& compare) {
    const auto* value = std::get_if<std::string>(&compare.create_revision_or_value);
    return operation_overhead + compare.key.size() + (value ? value->size() : 8);
}

template <typename T>
std::size_t size_of(const std::vector<T>& all) {
    std::size_t bytes = 0;
    for (const auto& each : all) bytes += size_of(each);
    return bytes;
}

bool any_writes(const std::vector<etcd::Operation>& operations) {
    return std::any_of(operations.begin(), operations.end(), writes);
}

// Returns whether a key is put twice, or put and deleted.
bool has_duplicate(const std::vector<etcd::Operation>& operations) {
    std::set<std::string_view> keys;
    for (const auto& operation : operations) {
        if (is_put(operation) && !keys.insert(key_of(operation)).second) return true;
    }
    return std::any_of(operations.begin(), operations.end(), [&](const auto& operation) {
        const auto* range = std::get_if<etcd::DeleteRange>(&operation);
        return range && std::any_of(keys.begin(), keys.end(), [&](std::string_view key) {
                   return in_etcd_range(key, range->key, range->end);
               });
    });
}

}  // namespace

bool in_etcd_range(std::string_view key, std::string_view first, std::string_view end) {
    if (end.empty()) return key == first;
    return key >= first && (end == std::string_view("\0", 1) || key < end);
}

Result<etcd::TxnResponse> EtcdState::txn(const etcd::Txn& txn) {
    if (auto valid = check(txn); !valid) return valid.error();
    if (auto fits = check_quota(txn); !fits) return fits.error();
    etcd::TxnResponse response;
    response.succeeded = std::all_of(txn.compares.begin(), txn.compares.end(),
                                     [&](const auto& compare) { return holds(compare); });
    const auto& branch = response.succeeded ? txn.success : txn.failure;
    if (auto valid = check_branch(branch); !valid) return valid.error();

    const auto next = revision_ + 1;
    bool written = false;
    for (const auto& operation : branch) {
        if (const auto* written_value = std::get_if<etcd::Put>(&operation)) {
            put(*written_value, next);
            written = true;
        } else if (const auto* deleted = std::get_if<etcd::DeleteRange>(&operation)) {
            written = erase(*deleted, next) || written;
        } else {
            const auto newest = written ? next : revision_;
            response.ranges.push_back(read(std::get<etcd::Range>(operation), newest));
        }
    }
    if (written) revision_ = next;
    ++transactions_;
    response.header = header();
    return response;
}

Result<void> EtcdState::check(const etcd::Txn& txn) const {
    const auto longest = std::max({txn.compares.size(), txn.success.size(), txn.failure.size()});
    if (longest > limits_.operations) return invalid("too many operations in txn request");
    const auto nameless = [](const auto& of) { return key_of(of).empty(); };
    if (std::any_of(txn.compares.begin(), txn.compares.end(),
                    [](const auto& compare) { return compare.key.empty(); }) ||
        std::any_of(txn.success.begin(), txn.success.end(), nameless) ||
        std::any_of(txn.failure.begin(), txn.failure.end(), nameless)) {
        return invalid("key is not provided");
    }
    if (has_duplicate(txn.success) || has_duplicate(txn.failure)) {
        return invalid("duplicate key given in txn request");
    }
    // A transaction that only reads is not written to etcd's log, and has no limit.
    if ((any_writes(txn.success) || any_writes(txn.failure)) &&
        size_of(txn.compares) + size_of(txn.success) + size_of(txn.failure) >
            limits_.request_bytes) {
        return invalid("request is too large");
    }
    return {};
}

Result<void> EtcdState::check_quota(const etcd::Txn& txn) {
    const auto puts = [](const std::vector<etcd::Operation>& operations) {
        return std::any_of(operations.begin(), operations.end(), is_put);
    };
    // etcd checks the larger branch, because it does not yet know which one is executed.
    if (!puts(txn.success) && !puts(txn.failure)) return {};
    const auto bytes =
        static_cast<std::int64_t>(std::max(size_of(txn.success), size_of(txn.failure)));
    if (limits_.quota_bytes > 0 && db_bytes_ + bytes > limits_.quota_bytes) no_space_ = true;
    if (!no_space_) return {};
    return Error(ErrorCode::no_space, "etcdserver: mvcc: database space exceeded");
}

Result<void> EtcdState::check_revision(etcd::Revision revision, etcd::Revision newest) const {
    if (revision > newest) {
        return Error(ErrorCode::io_error,
                     "etcdserver: mvcc: required revision is a future revision");
    }
    if (revision > 0 && revision < compacted_) {
        return Error(ErrorCode::precondition_failed,
                     "etcdserver: mvcc: required revision has been compacted");
    }
    return {};
}

Result<void> EtcdState::check_branch(const std::vector<etcd::Operation>& operations) const {
    for (const auto& operation : operations) {
        if (const auto* put = std::get_if<etcd::Put>(&operation)) {
            if (put->lease != 0 && !leases_.contains(put->lease)) return no_lease();
        } else if (const auto* range = std::get_if<etcd::Range>(&operation)) {
            if (auto valid = check_revision(range->revision, revision_); !valid) return valid;
        }
    }
    return {};
}

bool EtcdState::holds(const etcd::Compare& compare) const {
    const auto* change = find(compare.key);
    if (const auto* created = std::get_if<etcd::Revision>(&compare.create_revision_or_value)) {
        return *created == (change ? change->kv.create_revision : 0);
    }
    return change && change->kv.value == std::get<std::string>(compare.create_revision_or_value);
}

Result<etcd::RangeResponse> EtcdState::range(const etcd::Range& range,
                                             etcd::Revision newest) const {
    if (range.key.empty()) return invalid("key is not provided");
    if (auto valid = check_revision(range.revision, newest); !valid) return valid.error();
    return read(range, newest);
}

etcd::RangeResponse EtcdState::read(const etcd::Range& range, etcd::Revision newest) const {
    etcd::RangeResponse response;
    response.header = {cluster_id_, 0, newest};
    const auto revision = range.revision > 0 ? range.revision : newest;
    for (auto found = keys_.lower_bound(range.key);
         found != keys_.end() && in_etcd_range(found->first, range.key, range.end); ++found) {
        const auto* change = at(found->first, revision);
        if (!change) continue;
        if (range.limit > 0 && response.kvs.size() == static_cast<std::size_t>(range.limit)) {
            response.more = true;
            break;
        }
        response.kvs.push_back(change->kv);
    }
    return response;
}

// Returns null if the key is absent at `revision`.
const EtcdChange* EtcdState::at(const std::string& key, etcd::Revision revision) const {
    const auto found = keys_.find(key);
    if (found == keys_.end()) return nullptr;
    const auto& changes = found->second;
    for (auto index = changes.rbegin(); index != changes.rend(); ++index) {
        const auto& change = history_[*index];
        if (change.kv.mod_revision <= revision) return change.deleted ? nullptr : &change;
    }
    return nullptr;
}

const EtcdChange* EtcdState::find(const std::string& key) const { return at(key, revision_ + 1); }

std::vector<std::size_t> EtcdState::changes_of(const std::string& key) const {
    const auto found = keys_.find(key);
    return found == keys_.end() ? std::vector<std::size_t>{} : found->second;
}

void EtcdState::put(const etcd::Put& put, etcd::Revision revision) {
    EtcdChange change;
    change.kv = {put.key, put.value, revision, revision, put.lease};
    change.version = 1;
    if (const auto* before = find(put.key)) {
        change.kv.create_revision = before->kv.create_revision;
        change.version = before->version + 1;
        detach(before->kv);
    }
    if (put.lease != 0) leases_.at(put.lease).keys.insert(put.key);
    append(std::move(change));
}

// Returns whether a key was deleted.
bool EtcdState::erase(const etcd::DeleteRange& range, etcd::Revision revision) {
    std::vector<std::string> keys;
    for (auto found = keys_.lower_bound(range.key);
         found != keys_.end() && in_etcd_range(found->first, range.key, range.end); ++found) {
        if (find(found->first)) keys.push_back(found->first);
    }
    for (auto& key : keys) {
        detach(find(key)->kv);
        EtcdChange change;
        change.deleted = true;
        change.kv.key = std::move(key);
        change.kv.mod_revision = revision;
        append(std::move(change));
    }
    return !keys.empty();
}

void EtcdState::append(EtcdChange change) {
    ROCKLOCK_ASSERT(history_.empty() || history_.back().kv.mod_revision <= change.kv.mod_revision);
    bytes_in_use_ +=
        static_cast<std::int64_t>(change.kv.key.size() + change.kv.value.size()) + change_overhead;
    db_bytes_ = std::max(db_bytes_, bytes_in_use_);
    keys_[change.kv.key].push_back(history_.size());
    history_.push_back(std::move(change));
}

void EtcdState::detach(const etcd::KeyValue& kv) {
    if (const auto lease = leases_.find(kv.lease); lease != leases_.end()) {
        lease->second.keys.erase(kv.key);
    }
}

Result<void> EtcdState::compact(etcd::Revision revision) {
    if (revision <= compacted_) {
        return Error(ErrorCode::precondition_failed,
                     "etcdserver: mvcc: required revision has been compacted");
    }
    if (auto valid = check_revision(revision, revision_); !valid) return valid;
    compacted_ = revision;
    bytes_in_use_ = count_bytes_in_use();
    return {};
}

std::int64_t EtcdState::count_bytes_in_use() const {
    std::int64_t bytes = 0;
    for (const auto& [key, changes] : keys_) {
        const auto* kept = at(key, compacted_);
        for (const auto index : changes) {
            const auto& change = history_[index];
            if (change.kv.mod_revision <= compacted_ && &change != kept) continue;
            bytes +=
                static_cast<std::int64_t>(key.size() + change.kv.value.size()) + change_overhead;
        }
    }
    return bytes;
}

bool EtcdState::watchable(const EtcdChange& change) const {
    const auto revision = change.kv.mod_revision;
    return revision > compacted_ || (revision == compacted_ && !change.deleted);
}

Result<etcd::Lease> EtcdState::grant_lease(std::chrono::seconds ttl, BootTime now) {
    if (no_space_) return Error(ErrorCode::no_space, "etcdserver: mvcc: database space exceeded");
    if (ttl > max_lease_ttl) return invalid("too large lease TTL");
    const auto granted = std::max(ttl, limits_.lease_ttl);
    const auto id = ++last_lease_;
    leases_[id] = {granted, now + granted, {}};
    return etcd::Lease{id, granted};
}

Result<std::chrono::seconds> EtcdState::granted_ttl(etcd::LeaseId lease, BootTime now) const {
    const auto found = leases_.find(lease);
    if (found == leases_.end() || found->second.end <= now) return no_lease();
    return found->second.ttl;
}

Result<std::chrono::seconds> EtcdState::keep_alive(etcd::LeaseId lease, BootTime now) {
    auto ttl = granted_ttl(lease, now);
    if (ttl) leases_.at(lease).end = now + *ttl;
    return ttl;
}

Result<void> EtcdState::revoke_lease(etcd::LeaseId lease) {
    const auto found = leases_.find(lease);
    if (found == leases_.end()) return no_lease();
    const auto keys = std::move(found->second.keys);
    leases_.erase(found);
    bool written = false;
    for (const auto& key : keys) written = erase({key, ""}, revision_ + 1) || written;
    if (written) ++revision_;
    return {};
}

void EtcdState::expire_leases(BootTime now) {
    std::vector<std::pair<BootTime, etcd::LeaseId>> ended;
    for (const auto& [id, lease] : leases_) {
        if (lease.end + limits_.lease_delay <= now) ended.emplace_back(lease.end, id);
    }
    std::sort(ended.begin(), ended.end());
    for (const auto& [end, id] : ended) revoke_lease(id).value();
}

std::vector<etcd::LeaseId> EtcdState::leases() const {
    std::vector<etcd::LeaseId> ids;
    for (const auto& [id, lease] : leases_) ids.push_back(id);
    return ids;
}

void EtcdState::restore(etcd::Revision revision) {
    ROCKLOCK_ASSERT(revision <= revision_);
    while (!history_.empty() && history_.back().kv.mod_revision > revision) {
        keys_.at(history_.back().kv.key).pop_back();
        history_.pop_back();
    }
    revision_ = revision;
    compacted_ = std::min(compacted_, revision);
    for (auto& [id, lease] : leases_) lease.keys.clear();
    for (const auto& [key, changes] : keys_) {
        const auto* change = find(key);
        const auto lease = leases_.find(change ? change->kv.lease : 0);
        if (lease != leases_.end()) lease->second.keys.insert(key);
    }
}

etcd::Status EtcdState::status() const {
    return {.header = header(),
            .version = "3.4.23",
            .db_bytes = db_bytes_,
            .db_bytes_in_use = bytes_in_use_};
}

}  // namespace rocklock::testing
