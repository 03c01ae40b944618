#include "storage/rocksdb_database.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "storage/files/store_directory.hpp"
#include "storage/files/sync_marks.hpp"
#include "storage/reserved_files.hpp"
#include "storage/rocksdb_setup.hpp"

namespace rocklock {
namespace {

std::string without_newline(std::string text) {
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

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

}  // namespace

RocksdbDatabase::RocksdbDatabase(SpaceReserve& reserve)
    : env_(make_log_env(recovery_, make_reserved_files(reserve))) {}

RocksdbDatabase::~RocksdbDatabase() {
    if (!db_) return;
    // A child of the process must not use the database's files or wait for its threads.
    if (fork_check_.in_child()) {
        std::ignore = db_.release();
        std::ignore = env_.release();
        return;
    }
    damage_->detach();
    for (auto* const handle : handles_) std::ignore = db_->DestroyColumnFamilyHandle(handle);
}

Result<void> RocksdbDatabase::open(const StoreDirectory& directory, const RocksdbOptions& options,
                                   bool same_boot) {
    const bool use = options.purpose == Purpose::use;
    const bool creating = use && !directory.marker();
    LogEnd log_end = same_boot ? LogEnd::killed : LogEnd::power_cut;
    if (options.purpose == Purpose::check) log_end = LogEnd::whole;
    auto whole = database_options(options, creating, log_end, *env_);
    whole.listeners.push_back(damage_);
    const auto families = family_descriptors(options);
    // A database without the file IDENTITY has no sync marks.
    std::string identity;
    std::ignore =
        rocksdb::ReadFileToString(env_.get(), directory.database() + "/IDENTITY", &identity);
    if (directory.existing()) {
        if (auto known = require_known_families(directory, whole); !known) return known;
    }
    rocksdb::DB* opened = nullptr;
    if (directory.existing()) {
        auto begun = recovery_.begin(sync_mark_key(without_newline(std::move(identity))),
                                     directory.database(), log_end == LogEnd::power_cut);
        if (!begun) return about_damage(begun.error(), directory);
    }
    const auto status =
        use ? rocksdb::DB::Open(whole, directory.database(), families, &handles_, &opened)
            : rocksdb::DB::OpenForReadOnly(whole, directory.database(), families, &handles_,
                                           &opened);
    recovery_.end();
    if (!status.ok()) return to_open_error(status, directory);
    db_.reset(opened);
    damage_->attach([this](Family damaged) {
        // If this fails, RocksDB tries to merge again each second.
        std::ignore = db_->SetOptions(family(damaged), {{"disable_auto_compactions", "true"}});
    });
    return use ? keep_marks(directory) : Result<void>();
}

const std::string* RocksdbDatabase::sync_mark() const {
    const auto mark = recovery_.take_mark();
    if (!mark) return nullptr;
    encode_sync_mark(mark_key_, *mark, mark_);
    return &mark_;
}

void RocksdbDatabase::completed(bool synced) const {
    recovery_.completed();
    if (synced) recovery_.synced(recovery_.written());
}

rocksdb::Status RocksdbDatabase::sync() const {
    // Read before the sync: records that are written meanwhile may not be part of it.
    const SyncMark through = recovery_.written();
    auto status = db_->SyncWAL();
    if (status.ok()) recovery_.synced(through);
    return status;
}

// Called after the open, since RocksDB creates the identity of a new database.
Result<void> RocksdbDatabase::keep_marks(const StoreDirectory& directory) {
    std::string identity;
    std::ignore = db_->GetDbIdentity(identity);
    mark_key_ = sync_mark_key(without_newline(std::move(identity)));
    return recovery_.keep_marks(mark_key_, directory.database());
}

}  // namespace rocklock
