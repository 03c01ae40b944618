#include "storage/rocksdb/rocksdb_engine.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <rocksdb/db.h>

#include "base/assert.hpp"
#include "base/kill_point.hpp"
#include "storage/files/store_directory.hpp"
#include "storage/flush_thread.hpp"
#include "storage/rocksdb/record_flush.hpp"
#include "storage/rocksdb/rocksdb_database.hpp"
#include "storage/rocksdb/rocksdb_reader.hpp"
#include "storage/rocksdb/rocksdb_setup.hpp"
#include "storage/space_reserve.hpp"

namespace rocklock {
namespace {

using std::chrono::steady_clock;

// If the writes of the log to RocksDB take more memory than this, the log is not read further
// before RocksDB is open.
constexpr std::size_t max_postponed_bytes = 1U << 20;
// A flush begins when one of these sizes is reached, each multiplied by the size of the write
// buffer: of the records in the buffer that were not replaced by later writes, of all records in
// the buffer, and of the file of the commit log. Replaced records are not copied to RocksDB. If
// little disk space is free, `current_limit` also applies to all records, because the log contains
// them.
constexpr double current_limit = 0.5;
constexpr double buffer_limit = 1.5;
constexpr double log_limit = 2;
// During a flush, the storage is congested if a size in the buffer has its limit again, and commits
// wait if it has twice its limit. A burst of writes, such as a million leases that end, is faster
// than the flushes.
constexpr double waiting_factor = 2;

}  // namespace

RocksdbEngine::RocksdbEngine(const RocksdbDatabase& database, RecordFlush& flush,
                             StoreDirectory& directory, SpaceReserve& reserve,
                             FlushThread& flush_thread)
    : database_(database),
      unflushed_(flush.unflushed()),
      flush_(flush),
      directory_(directory),
      reserve_(reserve),
      flush_thread_(flush_thread) {}

rocksdb::Status RocksdbEngine::begin_flush() {
    const MutexLock lock(writing_);
    bool begun = false;
    return flush_.begin(begun);
}

rocksdb::Status RocksdbEngine::try_begin_flush() {
    if (!writing_.try_lock()) return {};
    bool begun = false;
    auto status = flush_.begin(begun);
    writing_.unlock();
    return status;
}

// ---- Recovery ----

// Collects the writes of a record of the log.
class RocksdbEngine::LogRecord final : public rocksdb::WriteBatch::Handler {
public:
    explicit LogRecord(RocksdbEngine& engine) : engine_(engine) {}

    rocksdb::Status PutCF(std::uint32_t family, const rocksdb::Slice& key,
                          const rocksdb::Slice& value) override {
        return add(family, key, value.ToStringView());
    }
    rocksdb::Status DeleteCF(std::uint32_t family, const rocksdb::Slice& key) override {
        return add(family, key, std::nullopt);
    }
    void LogData(const rocksdb::Slice&) override {}

private:
    // The first family is the default one, which commits do not write.
    rocksdb::Status add(std::uint32_t number, const rocksdb::Slice& key,
                        std::optional<std::string_view> value) {
        if (number == 0 || number > family_count) {
            return rocksdb::Status::Corruption("a record of the log has an unknown family");
        }
        const auto family = static_cast<Family>(number - 1);
        if (engine_.unflushed_.contains(family)) {
            return engine_.collect(family, key.ToStringView(), value);
        }
        return engine_.postpone_or_collect(family, key.ToStringView(), value);
    }

    RocksdbEngine& engine_;
};

rocksdb::Status RocksdbEngine::apply(std::string_view record) {
    const rocksdb::WriteBatch writes{std::string(record)};
    LogRecord reader(*this);
    begin_group();
    auto status = writes.Iterate(&reader);
    return status.ok() ? publish() : status;
}

rocksdb::Status RocksdbEngine::apply_postponed() {
    begin_group();
    auto status = collect_postponed();
    return status.ok() ? publish() : status;
}

void RocksdbEngine::restart() {
    postponed_ = {};
    if (unflushed_.buffer.begin_drain()) unflushed_.buffer.end_drain();
}

rocksdb::Status RocksdbEngine::postpone_or_collect(Family family, std::string_view key,
                                                   std::optional<std::string_view> value) {
    if (database_.is_opening() && postponed_.bytes < max_postponed_bytes) {
        postponed_.writes.push_back({family, std::string(key), std::optional<std::string>(value)});
        postponed_.bytes += key.size() + value.value_or(std::string_view()).size();
        return {};
    }
    if (!database_.wait_until_open()) {
        return rocksdb::Status::Aborted("the database cannot be opened");
    }
    const auto status = collect_postponed();
    return status.ok() ? collect(family, key, value) : status;
}

rocksdb::Status RocksdbEngine::collect_postponed() {
    rocksdb::Status status;
    for (const Write& write : postponed_.writes) {
        if (status.ok()) status = collect(write.family, write.key, write.value);
    }
    postponed_ = {};
    return status;
}

// ---- Commits ----

Result<std::optional<std::uint64_t>> RocksdbEngine::version(Family family, std::string_view key) {
    if (const auto* known = known_.find(family, key)) return *known;
    if (unflushed_.contains(family)) {
        if (const auto found = unflushed_.buffer.version(family, key)) {
            known_.keep(family, key, *found);
            return *found;
        }
    }
    value_.Reset();
    const auto status =
        database_->Get(rocksdb::ReadOptions(), database_.family(family), key, &value_);
    if (!status.ok() && !status.IsNotFound()) return to_error(status);
    std::optional<std::uint64_t> version;
    if (status.ok()) version = version_of(value_.ToStringView());
    known_.keep(family, key, version);
    return version;
}

Result<void> RocksdbEngine::write(std::span<Batch* const> batches, bool sync) {
    ROCKLOCK_ASSERT(!batches.empty());
    group_.Clear();
    for (const Batch* const batch : batches) {
        for (const Write& write : batch->writes) {
            auto* const family = database_.family(write.family);
            const auto added = write.value ? group_.Put(family, write.key, *write.value)
                                           : group_.Delete(family, write.key);
            if (!added.ok()) return to_error(added);
        }
    }
    const MutexLock lock(writing_);
    if (const std::string* const mark = database_.log().sync_mark()) {
        if (const auto added = group_.PutLogData(*mark); !added.ok()) return to_error(added);
    }
    kill_point(KillPoint::before_write);
    reserve_.prepare(group_.GetDataSize(), steady_clock::now());
    auto status = database_.log().append(group_.Data());
    if (status.ok()) {
        kill_point(KillPoint::after_write);
        if (sync) {
            if (auto synced = this->sync(); !synced) return synced;
        }
        status = publish(batches);
    }
    if (status.ok()) status = begin_flush_if_full();
    if (status.ok()) return {};
    known_.forget();
    return to_error(status);
}

Result<void> RocksdbEngine::sync() {
    const auto began = steady_clock::now();
    const auto status = database_.log().sync();
    syncs_.add(steady_clock::now() - began);
    if (!status.ok()) return to_error(status);
    kill_point(KillPoint::after_sync);
    return {};
}

// Removing a file needs no space.
void RocksdbEngine::failed(const Error& /*error*/) {
    directory_.remove_marker();
    reserve_.abandon();
}

void RocksdbEngine::begin_group() {
    rest_.Clear();
    buffered_.clear();
}

rocksdb::Status RocksdbEngine::collect(Family family, std::string_view key,
                                       std::optional<std::string_view> value) {
    if (unflushed_.contains(family)) {
        ROCKLOCK_ASSERT(!value || !value->empty());
        buffered_.push_back({family, key, value.value_or(std::string_view())});
        return {};
    }
    auto* const handle = database_.family(family);
    return value ? rest_.Put(handle, key, *value) : rest_.Delete(handle, key);
}

rocksdb::Status RocksdbEngine::publish(std::span<Batch* const> batches) {
    note(batches);
    begin_group();
    for (const Batch* const batch : batches) {
        for (const Write& write : batch->writes) {
            const auto added = collect(write.family, write.key, write.value);
            if (!added.ok()) return added;
        }
    }
    return publish();
}

rocksdb::Status RocksdbEngine::publish() {
    const bool writes_rest = rest_.Count() > 0;
    if (buffered_.empty()) return writes_rest ? database_.write(rest_) : rocksdb::Status();
    const MutexLock lock(unflushed_.publishing);
    if (writes_rest) {
        if (auto status = database_.write(rest_); !status.ok()) return status;
    }
    unflushed_.buffer.apply(buffered_);
    return {};
}

double RocksdbEngine::fullness() const {
    const auto current = static_cast<double>(unflushed_.buffer.current_bytes());
    const auto all = static_cast<double>(unflushed_.buffer.bytes());
    const double all_limit = reserve_.accepts_growth() ? buffer_limit : current_limit;
    return std::max(current / current_limit, all / all_limit) / write_buffer_;
}

rocksdb::Status RocksdbEngine::begin_flush_if_full() {
    flush_thread_.wrote();
    const double fullness = this->fullness();
    const auto log_bytes = static_cast<double>(database_.log().bytes());
    if (fullness < 1 && log_bytes < log_limit * write_buffer_) return {};
    if (flush_.in_progress()) {
        congested_.store(fullness >= 1, std::memory_order_relaxed);
        if (fullness >= waiting_factor) flush_.wait();
        return {};
    }
    congested_.store(false, std::memory_order_relaxed);
    bool begun = false;
    auto status = flush_.begin(begun);
    if (begun) flush_thread_.request();
    return status;
}

bool RocksdbEngine::congested() const {
    return congested_.load(std::memory_order_relaxed) && flush_.in_progress();
}

void RocksdbEngine::note(std::span<Batch* const> batches) {
    for (const Batch* const batch : batches) {
        for (const Write& write : batch->writes) {
            known_.replace(write.family, write.key,
                           write.value ? std::optional(version_of(*write.value))
                                       : std::optional<std::uint64_t>());
        }
    }
}

}  // namespace rocklock
