// Keeps a store usable if RocksDB finds damaged data of tables while it merges files.
//
// RocksDB then refuses all further writes, of every family. But damage to items, index entries or
// the audit concerns only the calls that read them. So such an error is suppressed: the merge has
// changed nothing, and the files stay as they are. RocksDB would try again each second, and block
// all writes when too many files have not been merged. Therefore, the merging of this family is
// stopped until the store is opened again. Damage to the lock state still fails the store.
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

    // From now on until detach(), calls `stop` once for each damaged family. Each call has a
    // separate thread, because a listener must not wait, and because the thread that writes may be
    // blocked by unmerged files.
    void attach(StopMerging stop);
    // Waits until no `stop` is running. After that, `stop` is not called again.
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
