#include "storage/rocksdb/rocksdb_database.hpp"

#include <algorithm>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/bytes.hpp"
#include "base/kill_point.hpp"
#include "storage/files/log_sync.hpp"
#include "storage/files/store_directory.hpp"
#include "storage/files/sync_marks.hpp"
#include "storage/rocksdb/reserved_files.hpp"
#include "storage/rocksdb/rocksdb_setup.hpp"

namespace rocklock {
namespace {

Result<void> require_known_families(const StoreDirectory& directory,
                                    const rocksdb::DBOptions& options) {
    std::vector<std::string> present;
    const auto status = rocksdb::DB::ListColumnFamilies(options, directory.database(), &present);
    if (!status.ok()) return to_open_error(status, directory);
    for (const std::string& name : present) {
        const bool known =
            name == rocksdb::kDefaultColumnFamilyName ||
            std::find(family_names.begin(), family_names.end(), name) != family_names.end();
        if (!known) {
            return Error(ErrorCode::newer_format,
                         directory.database() + " has the unknown column family '" + name + "'");
        }
    }
    return {};
}

// Syncs the commit log before a table file is created, so that a table file never contains a commit
// that a power failure can remove from the log.
class TableFiles final : public rocksdb::FileSystemWrapper {
public:
    TableFiles(const std::shared_ptr<rocksdb::FileSystem>& target, CommitLog& log)
        : FileSystemWrapper(target), log_(log) {}

    const char* Name() const override { return "RocklockTableFiles"; }

    rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* result,
                                      rocksdb::IODebugContext* debug) override {
        if (path.ends_with(".sst")) {
            if (const auto synced = log_.sync(); !synced.ok()) {
                return rocksdb::status_to_io_status(rocksdb::Status(synced));
            }
        }
        return target()->NewWritableFile(path, options, result, debug);
    }

private:
    CommitLog& log_;
};

}  // namespace

RocksdbDatabase::RocksdbDatabase(SpaceReserve& reserve)
    : files_(make_reserved_files(reserve)),
      log_(files_),
      env_(make_log_env(recovery_, std::make_shared<TableFiles>(files_, log_))) {}

RocksdbDatabase::~RocksdbDatabase() {
    if (!db_) return;
    // A child of the process must not use the database's files or wait for its threads.
    if (fork_check_.in_child()) {
        std::ignore = db_.release();
        std::ignore = env_.release();
        log_.abandon();
        return;
    }
    ROCKLOCK_ASSERT(!early_reading_.valid());
    damage_->detach();
    for (auto* const handle : handles_) std::ignore = db_->DestroyColumnFamilyHandle(handle);
}

// Another thread syncs the log while RocksDB opens its files. RocksDB must not receive records of
// the log before they are synced.
Result<void> RocksdbDatabase::open(StoreDirectory& directory, const RocksdbOptions& options,
                                   bool same_boot, const CommitLog::Apply& apply) {
    // If an exception is thrown, the promise is destroyed before the future waits for the thread.
    std::future<rocksdb::Status> early_reading;
    std::promise<bool> open;
    is_open_ = open.get_future().share();
    const bool use = options.purpose == Purpose::use;
    existing_ = directory.existing();
    reading_.directory = directory.database();
    reading_.end = same_boot ? LogEnd::killed : LogEnd::power_cut;
    if (options.purpose == Purpose::check) reading_.end = LogEnd::whole;
    reading_.shared = options.purpose == Purpose::read_shared;
    // A database without the file IDENTITY has no sync marks.
    std::string identity;
    std::ignore =
        rocksdb::ReadFileToString(env_.get(), reading_.directory + "/IDENTITY", &identity);
    reading_.key = sync_mark_key(identity);
    std::optional<LogSync> sync;
    if (use && has_commit_log(reading_.directory)) sync.emplace(reading_.directory);
    // If another process can write the store, the log must be read after RocksDB's files.
    if (use && existing_) early_reading = start_reading_log(apply);
    auto opened = open_database(directory, options);
    auto synced = sync ? sync->finish() : Result<void>();
    // RocksDB must not receive records of files that are not needed any more: if such a file is
    // damaged, its newest records are missing. If the key is wrong, the sync marks are not found.
    reads_early_ =
        early_reading.valid() && early_.first == reading_.first && early_.key == reading_.key;
    open.set_value(opened && synced && (reads_early_ || !early_reading.valid()));
    if (!synced) {
        // The next open must expect that the end of the log is lost.
        directory.remove_marker();
        return synced;
    }
    if (opened) early_reading_ = std::move(early_reading);
    return opened;
}

// Returns a future that is not valid() if there is no log, or if no thread can be started.
std::future<rocksdb::Status> RocksdbDatabase::start_reading_log(const CommitLog::Apply& apply) {
    const auto oldest = oldest_commit_log(reading_.directory);
    if (!oldest) return {};
    early_ = reading_;
    early_.first = *oldest;
    try {
        return std::async(std::launch::async,
                          [this, &apply] { return log_.read(early_, apply, extent_); });
    } catch (const std::system_error&) {
        return {};
    }
}

Result<void> RocksdbDatabase::open_database(const StoreDirectory& directory,
                                            const RocksdbOptions& options) {
    const bool use = options.purpose == Purpose::use;
    const bool creating = use && !directory.marker();
    auto whole = database_options(options, creating, reading_.end, *env_);
    whole.listeners.push_back(damage_);
    const auto families = family_descriptors(options);
    if (existing_) {
        if (auto known = require_known_families(directory, whole); !known) return known;
    }
    if (db_) {
        for (auto* const handle : handles_) std::ignore = db_->DestroyColumnFamilyHandle(handle);
        db_.reset();
    }
    rocksdb::DB* opened = nullptr;
    if (existing_) {
        auto begun =
            recovery_.begin(reading_.key, reading_.directory, reading_.end == LogEnd::power_cut);
        if (!begun) return about_damage(begun.error(), directory);
    }
    const auto status =
        use ? rocksdb::DB::Open(whole, reading_.directory, families, &handles_, &opened)
            : rocksdb::DB::OpenForReadOnly(whole, reading_.directory, families, &handles_, &opened);
    recovery_.end();
    if (!status.ok()) return to_open_error(status, directory);
    db_.reset(opened);
    damage_->attach([this](Family damaged) {
        // If this fails, RocksDB tries to merge again each second.
        std::ignore = db_->SetOptions(family(damaged), {{"disable_auto_compactions", "true"}});
    });
    std::string identity;
    std::ignore = db_->GetDbIdentity(identity);
    reading_.key = sync_mark_key(identity);
    return find_first_log();
}

Result<void> RocksdbDatabase::find_first_log() {
    std::string bytes;
    const auto status =
        db_->Get(rocksdb::ReadOptions(), db_->DefaultColumnFamily(), first_log_key, &bytes);
    has_log_ = has_commit_log(reading_.directory);
    if (status.IsNotFound()) return {};
    if (!status.ok()) return to_error(status);
    const auto first = Reader(bytes).u64();
    if (!first) {
        return Error(ErrorCode::corrupt, "the key \"commits\" in " + reading_.directory +
                                             " is not the number of a log file");
    }
    reading_.first = *first;
    has_log_ = names_log_ = true;
    return {};
}

Result<bool> RocksdbDatabase::read_log(const CommitLog::Apply& apply,
                                       const std::function<void()>& restart) {
    rocksdb::Status status;
    if (early_reading_.valid()) status = early_reading_.get();
    if (!has_log_) return true;
    if (!reads_early_) {
        std::promise<bool> open;
        open.set_value(true);
        is_open_ = open.get_future().share();
        restart();
        status = log_.read(reading_, apply, extent_);
    }
    if (status.IsNotFound() || status.IsPathNotFound()) return false;
    if (!status.ok()) return to_error(status);
    if (extent_.last < reading_.first && names_log_) {
        return Error(ErrorCode::corrupt, "file " + std::to_string(reading_.first) +
                                             " of the commit log is missing in " +
                                             reading_.directory);
    }
    return true;
}

Result<void> RocksdbDatabase::open_log(const std::vector<Write>& format) {
    rocksdb::Status status;
    if (existing_ && !has_log_) {
        rocksdb::WriteBatch batch;
        for (const Write& write : format) {
            if (status.ok()) status = batch.Put(family(write.family), write.key, *write.value);
        }
        if (status.ok()) status = write(batch);
        if (status.ok()) status = flush(0);
        if (!status.ok()) return to_error(status);
    }
    const auto number = log_.open(reading_, extent_);
    if (!number) return number.error();
    status = log_.start(*number);
    return status.ok() ? Result<void>() : Result<void>(to_error(status));
}

CommitLog::Reading RocksdbDatabase::log_until_now() const {
    CommitLog::Reading reading = reading_;
    reading.end = LogEnd::killed;
    reading.until = log_.written();
    // Nothing was written since the store was opened.
    if (reading.until->log == 0) reading.until = SyncMark{log_.number(), 0};
    if (reading.until->log == 0) reading.until.reset();
    return reading;
}

rocksdb::Status RocksdbDatabase::write(rocksdb::WriteBatch& batch) const {
    rocksdb::WriteOptions options;
    options.disableWAL = true;
    return db_->Write(options, &batch);
}

// The families are flushed one after the other, so the number must become durable after all of
// them.
rocksdb::Status RocksdbDatabase::flush(std::uint64_t first_log) {
    auto* const numbers = db_->DefaultColumnFamily();
    auto status = db_->Flush(rocksdb::FlushOptions(), {handles_.begin() + 1, handles_.end()});
    if (!status.ok() || first_log == 0) return status;
    kill_point(KillPoint::in_flush);
    std::string number;
    append_u64(number, first_log);
    rocksdb::WriteBatch batch;
    status = batch.Put(numbers, first_log_key, number);
    if (status.ok()) status = write(batch);
    if (status.ok()) status = db_->Flush(rocksdb::FlushOptions(), numbers);
    return status;
}

}  // namespace rocklock
