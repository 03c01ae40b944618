// Keeps a store usable if RocksDB finds damaged data of tables while it merges files (compaction).
//
// Without this class, RocksDB would refuse all further writes, in every family. However, damage to
// items, index entries or the audit log concerns only the calls that read the damaged data.
// Therefore, such an error is suppressed. The failed merge has changed nothing, and the files stay
// as they are.
//
// RocksDB would try the merge again each second, and would block all writes when too many files
// were not merged. Therefore, merging of the damaged family is stopped until the store is opened
// again. Damage to the lock state still fails the store.
#pragma once

#include <array>
#include <functional>
#include <thread>
#include <vector>

#include <rocksdb/listener.h>

#include <rocklock/storage/storage.hpp>

#include "base/mutex.hpp"

namespace rocklock {

// Threads: thread-safe. RocksDB calls the listener on its background threads.
class CompactionDamage final : public rocksdb::EventListener {
public:
    using StopMerging = std::function<void(Family)>;

    ~CompactionDamage() override { detach(); }

    // From now on until detach(), calls `stop` once for each damaged family. Each call runs on a
    // separate thread, because a listener must not wait, and because unmerged files may block the
    // thread that writes.
    void attach(StopMerging stop);
    // Waits until no call of `stop` is running. After detach() has returned, `stop` is not called
    // again.
    void detach();

    void OnCompactionBegin(rocksdb::DB* database, const rocksdb::CompactionJobInfo& job) override;
    void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) override;

private:
    void start_stop(Family family) ROCKLOCK_REQUIRES(mutex_);

    Mutex mutex_;
    StopMerging stop_ ROCKLOCK_GUARDED_BY(mutex_);
    std::array<bool, family_count> damaged_ ROCKLOCK_GUARDED_BY(mutex_){};
    std::vector<std::thread> threads_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock
