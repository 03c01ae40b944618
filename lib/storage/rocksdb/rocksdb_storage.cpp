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
#include <rocksdb/write_batch.h>

#include <rocklock/storage/storage.hpp>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "base/fork.hpp"
#include "base/kill_point.hpp"
#include "base/timings.hpp"
#include "storage/disk_use.hpp"
#include "storage/files/store_directory.hpp"
#include "storage/flush_thread.hpp"
#include "storage/group_commit.hpp"
#include "storage/recent_versions.hpp"
#include "storage/rocksdb/record_flush.hpp"
#include "storage/rocksdb/rocksdb_copy.hpp"
#include "storage/rocksdb/rocksdb_database.hpp"
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
// Commits wait for a flush in progress if a size in the buffer has its limit times this factor.
constexpr double waiting_factor = 2;

class RocksdbEngine final : public Engine {
public:
    RocksdbEngine(const RocksdbDatabase& database, RecordFlush& flush, StoreDirectory& directory,
                  SpaceReserve& reserve, FlushThread& flush_thread)
        : database_(database),
          unflushed_(flush.unflushed()),
          flush_(flush),
          directory_(directory),
          reserve_(reserve),
          flush_thread_(flush_thread) {}

    // Must be called before the first commit.
    void set_write_buffer(std::size_t bytes) { write_buffer_ = static_cast<double>(bytes); }
    // Begins a flush between two commits, unless one is in progress. Waits for a commit in
    // progress.
    rocksdb::Status begin_flush() {
        const MutexLock lock(writing_);
        bool begun = false;
        return flush_.begin(begun);
    }
    // As begin_flush(), but does nothing if a commit is in progress. For the flush thread, for
    // which such a commit may be waiting.
    rocksdb::Status try_begin_flush() {
        if (!writing_.try_lock()) return {};
        bool begun = false;
        auto status = flush_.begin(begun);
        writing_.unlock();
        return status;
    }

    // Applies a record of the commit log at recovery. While the database is not open, the writes to
    // RocksDB are postponed.
    rocksdb::Status apply(std::string_view record) {
        const rocksdb::WriteBatch writes{std::string(record)};
        RecordReader reader(*this);
        rest_.Clear();
        buffered_.clear();
        auto status = writes.Iterate(&reader);
        return status.ok() ? publish() : status;
    }
    // Must be called after the last record.
    rocksdb::Status apply_postponed() {
        rest_.Clear();
        buffered_.clear();
        auto status = collect_postponed();
        return status.ok() ? publish() : status;
    }
    // Discards the records that were applied.
    void restart() {
        postponed_ = {};
        if (unflushed_.buffer.begin_drain()) unflushed_.buffer.end_drain();
    }

    Result<std::optional<std::uint64_t>> version(Family family, std::string_view key) override {
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

    Result<void> write(std::span<Batch* const> batches, bool sync) override {
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

    Result<void> sync() override {
        const auto began = steady_clock::now();
        const auto status = database_.log().sync();
        syncs_.add(steady_clock::now() - began);
        if (!status.ok()) return to_error(status);
        kill_point(KillPoint::after_sync);
        return {};
    }

    bool syncs_concurrently() const override { return true; }
    Histogram sync_times() const { return syncs_.snapshot(); }

    // Removing a file needs no space.
    void failed(const Error&) override {
        directory_.remove_marker();
        reserve_.abandon();
    }

private:
    // Collects the writes of a record in `rest_` and `buffered_`.
    class RecordReader final : public rocksdb::WriteBatch::Handler {
    public:
        explicit RecordReader(RocksdbEngine& engine) : engine_(engine) {}

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

    rocksdb::Status collect(Family family, std::string_view key,
                            std::optional<std::string_view> value) {
        if (unflushed_.contains(family)) {
            ROCKLOCK_ASSERT(!value || !value->empty());
            buffered_.push_back({family, key, value.value_or(std::string_view())});
            return {};
        }
        auto* const handle = database_.family(family);
        return value ? rest_.Put(handle, key, *value) : rest_.Delete(handle, key);
    }

    rocksdb::Status postpone_or_collect(Family family, std::string_view key,
                                        std::optional<std::string_view> value) {
        if (database_.is_opening() && postponed_.bytes < max_postponed_bytes) {
            postponed_.writes.push_back(
                {family, std::string(key), std::optional<std::string>(value)});
            postponed_.bytes += key.size() + value.value_or(std::string_view()).size();
            return {};
        }
        if (!database_.wait_until_open()) {
            return rocksdb::Status::Aborted("the database cannot be opened");
        }
        const auto status = collect_postponed();
        return status.ok() ? collect(family, key, value) : status;
    }
    rocksdb::Status collect_postponed() {
        rocksdb::Status status;
        for (const Write& write : postponed_.writes) {
            if (status.ok()) status = collect(write.family, write.key, write.value);
        }
        postponed_ = {};
        return status;
    }

    // Makes the writes visible.
    rocksdb::Status publish(std::span<Batch* const> batches) {
        note(batches);
        rest_.Clear();
        buffered_.clear();
        for (const Batch* const batch : batches) {
            for (const Write& write : batch->writes) {
                const auto added = collect(write.family, write.key, write.value);
                if (!added.ok()) return added;
            }
        }
        return publish();
    }
    // Makes the writes in `rest_` and `buffered_` visible.
    rocksdb::Status publish() {
        const bool writes_rest = rest_.Count() > 0;
        if (buffered_.empty()) return writes_rest ? database_.write(rest_) : rocksdb::Status();
        const MutexLock lock(unflushed_.publishing);
        if (writes_rest) {
            if (auto status = database_.write(rest_); !status.ok()) return status;
        }
        unflushed_.buffer.apply(buffered_);
        return {};
    }

    // Returns 1 if the buffer has reached a limit, and less if it has not.
    double fullness() const {
        const auto current = static_cast<double>(unflushed_.buffer.current_bytes());
        const auto all = static_cast<double>(unflushed_.buffer.bytes());
        const double all_limit = reserve_.accepts_growth() ? buffer_limit : current_limit;
        return std::max(current / current_limit, all / all_limit) / write_buffer_;
    }

    rocksdb::Status begin_flush_if_full() {
        flush_thread_.wrote();
        const double fullness = this->fullness();
        const auto log_bytes = static_cast<double>(database_.log().bytes());
        if (fullness < 1 && log_bytes < log_limit * write_buffer_) return {};
        if (flush_.in_progress()) {
            if (fullness >= waiting_factor) flush_.wait();
            return {};
        }
        bool begun = false;
        auto status = flush_.begin(begun);
        if (begun) flush_thread_.request();
        return status;
    }

    void note(std::span<Batch* const> batches) {
        for (const Batch* const batch : batches) {
            for (const Write& write : batch->writes) {
                known_.replace(write.family, write.key,
                               write.value ? std::optional(version_of(*write.value))
                                           : std::optional<std::uint64_t>());
            }
        }
    }

    const RocksdbDatabase& database_;
    UnflushedRecords& unflushed_;
    RecordFlush& flush_;
    StoreDirectory& directory_;
    SpaceReserve& reserve_;
    FlushThread& flush_thread_;
    double write_buffer_ = 0;
    // Held while a group is written or a flush begins, so that a flush begins between two groups.
    // Lock order: this mutex, UnflushedRecords::publishing, the mutexes of RecordBuffer and
    // CommitLog.
    Mutex writing_;
    rocksdb::WriteBatch group_;
    // The writes of the group to RocksDB, and those to the buffer, which borrow the group's memory.
    rocksdb::WriteBatch rest_;
    std::vector<RecordBuffer::Change> buffered_;
    // The writes of the log to RocksDB that were read while RocksDB was opening its files.
    struct Postponed {
        std::vector<Write> writes;
        std::size_t bytes = 0;
    };
    Postponed postponed_;
    rocksdb::PinnableSlice value_;
    RecentVersions known_;
    Timings syncs_;
};

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
    Error growth_refusal() const override { return reserve_.refusal(); }
    void set_reserve_bytes(std::uint64_t bytes) override;
    StorageStatistics statistics() const override;
    Result<void> mark_sound() override;
    Result<void> copy_to(const std::string& directory, const std::vector<Write>& marks) override;
    Result<void> verify() const override;
    Result<void> close() override;

private:
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
    const CommitLog::Apply apply = [this](std::string_view record) {
        return engine_.apply(record);
    };
    const auto restart = [this] { engine_.restart(); };
    for (int tries = 10;; --tries) {
        if (auto opened = database_.open(*directory_, options, same_boot, apply); !opened)
            return opened;
        const auto recovered = database_.read_log(apply, restart);
        if (!recovered) {
            // A sync may have failed.
            if (recovered.error().code == ErrorCode::io_error) directory_->remove_marker();
            return about_damage(recovered.error(), *directory_);
        }
        if (*recovered) {
            if (auto status = engine_.apply_postponed(); !status.ok()) return to_error(status);
            break;
        }
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
