// The store on disk, based on RocksDB.
//
// It is safe for locks because of a few properties: one log for all families, written by one leader
// in the order of the commits, so that a crash leaves a prefix of the commits; a checksum of every
// byte read; and failing closed. The log is our own (commit_log.hpp). RocksDB's transactions are
// not used: their locks exist in memory only, per transaction, and expire on the wall clock.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/utilities/checkpoint.h>

#include <rocklock/storage/storage.hpp>

#include "base/bytes.hpp"
#include "base/fork.hpp"
#include "storage/disk_use.hpp"
#include "storage/files/store_directory.hpp"
#include "storage/flush_thread.hpp"
#include "storage/group_commit.hpp"
#include "storage/rocksdb/record_flush.hpp"
#include "storage/rocksdb/rocksdb_copy.hpp"
#include "storage/rocksdb/rocksdb_database.hpp"
#include "storage/rocksdb/rocksdb_engine.hpp"
#include "storage/rocksdb/rocksdb_reader.hpp"
#include "storage/rocksdb/rocksdb_setup.hpp"
#include "storage/rocksdb/store_copy.hpp"
#include "storage/space_reserve.hpp"
#include "storage/store_records.hpp"

namespace rocklock {
namespace {

using std::chrono::steady_clock;

// The records of an idle store are written to table files if they take at least this much memory.
constexpr std::uint64_t min_idle_flush = 512U << 10;
// They are not written if the file system has less free space.
constexpr std::uint64_t min_free_space = 64U << 20;

class RocksdbStorage final : public Storage {
public:
    RocksdbStorage(std::unique_ptr<StoreDirectory> directory, Clock& clock, bool is_copy)
        : clock_(clock),
          is_copy_(is_copy),
          directory_(std::move(directory)),
          group_(engine_, clock, false) {}
    // The thread uses the other members.
    ~RocksdbStorage() override { flush_thread_.stop(); }

    // Must be called first. Errors: as open_rocksdb_storage().
    Result<void> open(const RocksdbOptions& options);

    CommitNumber enqueue(Batch batch, Durability durability, Verdict* verdict) override {
        if (fork_check_.in_child()) return 0;
        return group_.enqueue(std::move(batch), durability, verdict);
    }
    Result<void> wait(CommitNumber number, Durability durability) override {
        if (fork_check_.in_child()) return not_ours();
        return group_.wait(number, durability);
    }
    Result<void> sync_through(CommitNumber number) override {
        if (fork_check_.in_child()) return not_ours();
        return group_.sync_through(number);
    }
    bool done(CommitNumber number, Durability durability) const override {
        return fork_check_.in_child() || group_.done(number, durability);
    }
    std::unique_ptr<Snapshot> snapshot() const override {
        if (fork_check_.in_child()) return make_no_snapshot(not_ours());
        return make_rocksdb_snapshot(reader_);
    }
    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        if (fork_check_.in_child()) return not_ours();
        return reader_.get(family, key);
    }
    CachedValue get_cached(Family family, std::string_view key,
                           std::size_t max_bytes) const override {
        if (fork_check_.in_child()) return {};
        return reader_.get_cached(family, key, max_bytes);
    }
    std::optional<Error> failure() const override {
        if (fork_check_.in_child()) return not_ours();
        return group_.failure();
    }
    bool suspect() const override { return suspect_.load(); }
    std::uint64_t discarded_log_bytes() const override { return database_.discarded_log_bytes(); }
    bool accepts_growth() const override { return reserve_.accepts_growth(); }
    bool congested() const override { return engine_.congested(); }
    Error growth_refusal() const override { return reserve_.refusal(); }
    void set_reserve_bytes(std::uint64_t bytes) override;
    StorageStatistics statistics() const override;
    Result<void> mark_sound() override;
    Result<void> copy_to(const std::string& directory, const std::vector<Write>& marks) override;
    Result<void> verify() const override;
    Result<void> close() override;

private:
    Result<bool> open_database(const RocksdbOptions& options, bool same_boot);
    Result<void> check_format();
    Result<void> check_kind() const;
    Result<void> write_first_meta();
    Result<bool> is_empty() const;
    Result<void> flush();
    Result<void> flush_by_thread();
    bool should_flush_when_idle() const;
    void flush_in_thread();
    Error not_ours() const;

    Clock& clock_;
    // Whether the store is a copy of a store on etcd.
    const bool is_copy_;
    ForkCheck fork_check_;
    const pid_t opened_by_ = getpid();
    // The order matters: directory_, which holds the lock, is destroyed last.
    std::unique_ptr<StoreDirectory> directory_;
    SpaceReserve reserve_{directory_->path()};
    RocksdbDatabase database_{reserve_};
    UnflushedRecords unflushed_;
    RecordFlush flush_{database_, unflushed_};
    FlushThread flush_thread_{[this] { flush_in_thread(); }};
    RocksdbEngine engine_{database_, flush_, *directory_, reserve_, flush_thread_};
    GroupCommit group_;
    RocksdbReader reader_{database_, unflushed_, group_};
    DiskUse disk_use_;
    std::atomic<bool> suspect_{false};
    bool read_only_ = false;
};

Result<void> RocksdbStorage::open(const RocksdbOptions& options) {
    read_only_ = options.purpose != Purpose::use;
    if (read_only_) directory_->leave_marker();
    const std::string boot_id = clock_.boot_id();
    const auto marker = directory_->marker();
    const bool same_boot = marker && !boot_id.empty() && *marker == boot_id;
    if (!read_only_) reserve_.make_room(options);
    unflushed_.every_family = read_only_;
    engine_.set_write_buffer(options.write_buffer_bytes);
    for (int tries = 10;; --tries) {
        const auto opened = open_database(options, same_boot);
        if (!opened) return opened.error();
        if (*opened) break;
        if (tries == 0) {
            return Error(ErrorCode::io_error, "files of the commit log in " +
                                                  directory_->database() +
                                                  " disappear while they are read: try again");
        }
    }
    if (auto checked = check_format(); !checked) return checked;
    suspect_ = directory_->existing() && !marker;
    // Without keep(), a reader removes the files that it has created.
    if (options.purpose != Purpose::use) return {};
    if (!suspect_ && !same_boot) {
        if (auto marked = directory_->write_marker(boot_id); !marked) return marked;
    }
    directory_->keep();
    reserve_.start(options);
    flush_thread_.start();
    return {};
}

// Opens the database, and applies the commit log. Returns false if another process has removed
// files of the log meanwhile.
Result<bool> RocksdbStorage::open_database(const RocksdbOptions& options, bool same_boot) {
    const CommitLog::Apply apply = [this](std::string_view record) {
        return engine_.apply(record);
    };
    const auto restart = [this] { engine_.restart(); };
    // Discards the records of a previous attempt.
    restart();
    if (auto opened = database_.open(*directory_, options, same_boot, apply); !opened) {
        return opened.error();
    }
    auto recovered = database_.read_log(apply, restart);
    if (recovered && *recovered) {
        if (auto status = engine_.apply_postponed(); !status.ok()) recovered = to_error(status);
    }
    if (recovered) return recovered;
    // A sync may have failed.
    if (recovered.error().code == ErrorCode::io_error) directory_->remove_marker();
    return about_damage(recovered.error(), *directory_);
}

void RocksdbStorage::set_reserve_bytes(std::uint64_t bytes) {
    if (!read_only_ && !fork_check_.in_child()) reserve_.set_bytes(bytes);
}

Result<void> RocksdbStorage::check_format() {
    const auto stored = get(Family::meta, format_key);
    if (!stored) return stored.error();
    if (!*stored) {
        const auto empty = is_empty();
        if (!empty) return empty.error();
        if (*empty && !directory_->marker()) {
            if (auto opened = database_.open_log({}); !opened) return opened;
            return write_first_meta();
        }
        return Error(ErrorCode::corrupt, directory_->database() + " has no record of its format");
    }
    if (auto checked = check_kind(); !checked) return checked;
    const auto number = read_format(*stored, directory_->database());
    if (!number) return number.error();
    if (read_only_) return {};
    if (*number == store_format) return database_.open_log({});
    Batch batch;
    batch.writes.push_back(format_record(version_of(**stored) + 1));
    if (!database_.has_log()) return database_.open_log(batch.writes);
    if (auto opened = database_.open_log({}); !opened) return opened;
    return commit(std::move(batch), Durability::durable);
}

// The changes that a manager made after the last change of a copy are missing in it.
Result<void> RocksdbStorage::check_kind() const {
    const auto record = get(Family::meta, copy_key);
    if (!record) return record.error();
    if (record->has_value() == is_copy_) return {};
    return Error(ErrorCode::not_a_store,
                 is_copy_ ? directory_->path() + " contains a store and not a copy of one"
                          : directory_->path() +
                                " contains only a copy of a store on etcd: open the store itself "
                                "with its etcd:// URL");
}

Result<void> RocksdbStorage::write_first_meta() {
    Batch batch;
    if (is_copy_) {
        std::string version;
        append_u64(version, 0);
        batch.writes = {format_record(1), {Family::meta, std::string(copy_key), version}};
    } else {
        batch.writes = first_records(clock_);
    }
    return commit(std::move(batch), Durability::durable);
}

Result<bool> RocksdbStorage::is_empty() const {
    const auto now = snapshot();
    for (std::size_t i = 0; i < family_names.size(); ++i) {
        const auto cursor = now->scan(static_cast<Family>(i), "", "");
        if (auto status = cursor->status(); !status) return status.error();
        if (cursor->valid()) return false;
    }
    return true;
}

StorageStatistics RocksdbStorage::statistics() const {
    StorageStatistics statistics;
    if (fork_check_.in_child()) return statistics;
    statistics.syncs = engine_.sync_times();
    disk_use_.add_to(statistics, directory_->path(), steady_clock::now());
    statistics.reserve = reserve_.state();
    return statistics;
}

Result<void> RocksdbStorage::mark_sound() {
    if (auto failed = failure()) return *std::move(failed);
    if (!suspect_) return {};
    // After a failed sync, the operating system can return data that is not on the disk. Table
    // files that are written now contain and sync this data.
    if (auto flushed = flush_by_thread(); !flushed) return flushed;
    if (auto marked = directory_->write_marker(clock_.boot_id()); !marked) return marked;
    suspect_ = false;
    return {};
}

Result<void> RocksdbStorage::copy_to(const std::string& directory,
                                     const std::vector<Write>& marks) {
    if (fork_check_.in_child()) return not_ours();
    return make_copy(directory, marks, [&](const std::string& path) -> Result<void> {
        // Keeps the files that the checkpoint may need.
        const CommitLog::Pin pin(database_.log());
        rocksdb::Checkpoint* made = nullptr;
        auto status = rocksdb::Checkpoint::Create(&*database_, &made);
        const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
        if (status.ok()) status = checkpoint->CreateCheckpoint(path);
        if (!status.ok()) return to_error(status);
        return apply_log(path, database_.log_until_now());
    });
}

Result<void> RocksdbStorage::verify() const {
    if (fork_check_.in_child()) return not_ours();
    const auto status = database_->VerifyChecksum(rocksdb::ReadOptions());
    return status.ok() ? Result<void>() : Result<void>(to_error(status));
}

Result<void> RocksdbStorage::close() {
    if (fork_check_.in_child()) return not_ours();
    if (read_only_) return {};
    if (auto drained = group_.close(); !drained) return drained;
    flush_thread_.stop();
    return flush();
}

// Moves the records of all commits before the call to table files.
Result<void> RocksdbStorage::flush_by_thread() {
    // A flush in progress began earlier.
    flush_.wait();
    const auto status = engine_.begin_flush();
    if (!status.ok()) return to_error(status);
    flush_thread_.request();
    flush_.wait();
    if (flush_.failed()) return to_error(rocksdb::Status::IOError("cannot write table files"));
    return {};
}

// Moves all records to table files. The flush thread must not run.
Result<void> RocksdbStorage::flush() {
    auto status = flush_.finish(false);
    if (status.ok()) status = engine_.begin_flush();
    if (status.ok()) status = flush_.finish(false);
    return status.ok() ? Result<void>() : Result<void>(to_error(status));
}

// Does nothing if little space is free: a flush that fails because the disk is full would fail the
// store.
bool RocksdbStorage::should_flush_when_idle() const {
    if (failure() || !accepts_growth()) return false;
    std::uint64_t bytes = unflushed_.buffer.bytes();
    for (auto* const family : database_.families()) {
        std::uint64_t part = 0;
        database_->GetIntProperty(family, rocksdb::DB::Properties::kCurSizeAllMemTables, &part);
        bytes += part;
    }
    if (bytes < min_idle_flush) return false;
    const auto space = reserve_.space();
    return space && space->free_bytes >= min_free_space;
}

// Finishes the flush that a commit has begun, or flushes because the store is idle.
void RocksdbStorage::flush_in_thread() {
    rocksdb::Status status;
    if (!flush_.in_progress() && should_flush_when_idle()) status = engine_.try_begin_flush();
    if (status.ok()) status = flush_.finish(true);
    if (!status.ok()) group_.fail(to_error(status));
}

Error RocksdbStorage::not_ours() const { return opened_before_fork(opened_by_); }

StoreDirectory::Use use_of(Purpose purpose) {
    switch (purpose) {
        case Purpose::use:
            return StoreDirectory::Use::write;
        case Purpose::read_shared:
            return StoreDirectory::Use::read_shared;
        case Purpose::read_only:
        case Purpose::check:
            break;
    }
    return StoreDirectory::Use::read_only;
}

Result<std::unique_ptr<Storage>> open_directory(const std::string& directory, Clock& clock,
                                                const RocksdbOptions& options, bool is_copy) {
    const bool may_create = options.create_if_missing && options.purpose == Purpose::use;
    auto prepared = StoreDirectory::prepare(directory, may_create, use_of(options.purpose));
    if (!prepared) return std::move(prepared).error();
    auto storage = std::make_unique<RocksdbStorage>(*std::move(prepared), clock, is_copy);
    if (auto opened = storage->open(options); !opened) return std::move(opened).error();
    return std::unique_ptr<Storage>(std::move(storage));
}

}  // namespace

Result<std::unique_ptr<Storage>> open_rocksdb_storage(const std::string& directory, Clock& clock,
                                                      const RocksdbOptions& options) {
    return open_directory(directory, clock, options, false);
}

Result<std::unique_ptr<Storage>> open_rocksdb_copy(const std::string& directory, Clock& clock) {
    return open_directory(directory, clock, {}, true);
}

}  // namespace rocklock
