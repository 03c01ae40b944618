#include "storage/rocksdb/record_flush.hpp"

#include <cstddef>
#include <memory>

#include <rocksdb/write_batch.h>

#include "base/kill_point.hpp"
#include "storage/frequent_yield.hpp"

namespace rocklock {
namespace {

// Records are copied in batches of this size, so that a commit waits only for one of them.
constexpr std::size_t batch_bytes = 32U << 10;

rocksdb::Status failed_before() { return rocksdb::Status::IOError("an earlier flush has failed"); }

}  // namespace

rocksdb::Status RecordFlush::begin(bool& begun) {
    begun = false;
    if (failed_.load()) return failed_before();
    if (in_progress()) return {};
    CommitLog& log = database_.log();
    if (auto status = log.start(log.number() + 1); !status.ok()) return status;
    {
        const MutexLock lock(unflushed_.publishing);
        drains_ = unflushed_.buffer.begin_drain();
    }
    first_log_ = log.number();
    in_progress_.store(true, std::memory_order_release);
    begun = true;
    return {};
}

rocksdb::Status RecordFlush::finish(bool prepares_next) {
    if (failed_.load()) return failed_before();
    if (!in_progress()) return {};
    kill_point(KillPoint::in_flush);
    auto status = copy_drained();
    kill_point(KillPoint::in_flush);
    if (status.ok()) status = database_.flush(first_log_);
    if (status.ok()) {
        kill_point(KillPoint::in_flush);
        database_.log().remove_before(first_log_);
        kill_point(KillPoint::in_flush);
        // Keeps the part until the mutex is unlocked, so that its memory is freed afterwards.
        const auto drained = unflushed_.buffer.draining();
        const MutexLock lock(unflushed_.publishing);
        if (drains_) unflushed_.buffer.end_drain();
    }
    if (status.ok() && prepares_next) status = database_.log().prepare_next();
    // The records of the draining part are still needed, and so are the files of the log.
    if (!status.ok()) failed_.store(true);
    end_flush();
    return status;
}

rocksdb::Status RecordFlush::copy_drained() const {
    if (!drains_) return {};
    const auto records = unflushed_.buffer.draining();
    auto* const family = database_.family(Family::locks);
    rocksdb::WriteBatch batch;
    rocksdb::Status status;
    FrequentYield yield;
    for (auto cursor = records->scan(Family::locks, "", ""); status.ok() && cursor->valid();
         cursor->next()) {
        yield.step();
        const auto key = cursor->key();
        const auto value = cursor->value();
        status = value.empty() ? batch.Delete(family, key) : batch.Put(family, key, value);
        if (!status.ok() || batch.GetDataSize() < batch_bytes) continue;
        status = database_.write(batch);
        batch.Clear();
    }
    return status.ok() ? database_.write(batch) : status;
}

void RecordFlush::wait() {
    MutexLock lock(mutex_);
    while (in_progress()) ended_.wait(mutex_);
}

void RecordFlush::end_flush() {
    {
        const MutexLock lock(mutex_);
        in_progress_.store(false, std::memory_order_release);
    }
    ended_.notify_all();
}

}  // namespace rocklock
