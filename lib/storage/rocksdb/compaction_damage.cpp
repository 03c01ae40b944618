#include "storage/rocksdb/compaction_damage.hpp"

#include <cstddef>
#include <optional>
#include <utility>

#include "storage/preconditions.hpp"
#include "storage/rocksdb/rocksdb_setup.hpp"

namespace rocklock {
namespace {

// The family that this thread of RocksDB merges. An error is reported by the thread that found it.
thread_local std::optional<Family> merged_family;

}  // namespace

void CompactionDamage::attach(StopMerging stop) {
    MutexLock lock(mutex_);
    stop_ = std::move(stop);
    for (std::size_t i = 0; i < damaged_.size(); ++i) {
        if (damaged_[i]) start_stop(static_cast<Family>(i));
    }
}

void CompactionDamage::detach() {
    std::vector<std::thread> threads;
    {
        MutexLock lock(mutex_);
        stop_ = nullptr;
        threads.swap(threads_);
    }
    for (auto& thread : threads) thread.join();
}

void CompactionDamage::OnCompactionBegin(rocksdb::DB* /*database*/,
                                         const rocksdb::CompactionJobInfo& job) {
    merged_family.reset();
    for (std::size_t i = 0; i < family_names.size(); ++i) {
        if (job.cf_name == family_names[i]) merged_family = static_cast<Family>(i);
    }
}

void CompactionDamage::OnBackgroundError(rocksdb::BackgroundErrorReason reason,
                                         rocksdb::Status* error) {
    if (reason != rocksdb::BackgroundErrorReason::kCompaction || !merged_family) return;
    if (!error->IsCorruption() || fails_store(to_error(*error), *merged_family)) return;
    *error = rocksdb::Status::OK();
    MutexLock lock(mutex_);
    bool& known = damaged_[static_cast<std::size_t>(*merged_family)];
    if (!std::exchange(known, true) && stop_) start_stop(*merged_family);
}

void CompactionDamage::start_stop(Family family) {
    threads_.emplace_back([stop = stop_, family] { stop(family); });
}

}  // namespace rocklock
