#include "storage/rocksdb/rocksdb_setup.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

#include <rocksdb/filter_policy.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>

#include "storage/files/store_directory.hpp"
#include "storage/rocksdb/memtable.hpp"

namespace rocklock {
namespace {

// The number of sorted runs from which on universal compaction merges some of them. More runs
// reduce the work of the compactions, but a store opens more slowly, because each run is read
// separately.
constexpr int sorted_runs = 24;

// Returns how many files RocksDB keeps open: a quarter of the limit of the process. The rest is for
// the files that RocksDB opens while it writes, and for the rest of the process.
int max_open_files() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
    return static_cast<int>(std::clamp<rlim_t>(limit.rlim_cur / 4, 16, 256));
}

// Disables RocksDB's info log. Errors are returned as a Status, and an open that fails must not
// leave files behind.
class NullLogger final : public rocksdb::Logger {
public:
    NullLogger() : Logger(rocksdb::InfoLogLevel::FATAL_LEVEL) {}
    using Logger::Logv;
    void Logv(const char*, va_list) override {}
};

rocksdb::WALRecoveryMode recovery_mode(LogEnd log_end) {
    switch (log_end) {
        case LogEnd::killed:
            return rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
        case LogEnd::power_cut:
            return rocksdb::WALRecoveryMode::kPointInTimeRecovery;
        case LogEnd::whole:
            return rocksdb::WALRecoveryMode::kAbsoluteConsistency;
    }
    return rocksdb::WALRecoveryMode::kAbsoluteConsistency;
}

rocksdb::ColumnFamilyOptions family_options(const RocksdbOptions& options,
                                            const std::shared_ptr<rocksdb::Cache>& cache) {
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = cache;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10, false));
    rocksdb::ColumnFamilyOptions result;
    result.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    result.write_buffer_size = options.write_buffer_bytes;
    result.arena_block_size = 64u << 10;
    result.compression = rocksdb::kNoCompression;
    result.memtable_factory = make_memtable_factory();
    // Most keys are inserted in order within their kind, which is their first byte. With a hint per
    // kind, the memtable finds the position near the previous keys without a search from the top.
    result.memtable_insert_with_hint_prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(1));
    return result;
}

// The options of the families of locks and history. Most of their records are written twice, at the
// beginning and at the end of a grant, and seldom read. Universal compaction rewrites a record less
// often than leveled compaction, so the threads of RocksDB take less of the processor from the
// callers. See docs/decisions/0062-universal-compaction-of-locks.md.
rocksdb::ColumnFamilyOptions record_options(rocksdb::ColumnFamilyOptions options) {
    options.compaction_style = rocksdb::kCompactionStyleUniversal;
    options.level0_file_num_compaction_trigger = sorted_runs;
    options.level0_slowdown_writes_trigger = 2 * sorted_runs;
    options.level0_stop_writes_trigger = 3 * sorted_runs;
    return options;
}

}  // namespace

Error to_error(const rocksdb::Status& status) {
    const std::string text = "RocksDB: " + status.ToString();
    if (status.IsNoSpace()) {
        return Error(ErrorCode::no_space,
                     "the disk is full: make room, then open the store again (" + text + ")");
    }
    // RocksDB has no code of its own for a file that must not grow.
    if (status.IsIOError() && text.find(std::generic_category().message(EFBIG)) != text.npos) {
        return Error(ErrorCode::no_space,
                     "a file has reached the maximum size: raise the process's limit (ulimit -f), "
                     "then open the store again (" +
                         text + ")");
    }
    if (status.IsCorruption()) return Error(ErrorCode::corrupt, text);
    return Error(ErrorCode::io_error, text);
}

Error to_open_error(const rocksdb::Status& status, const StoreDirectory& directory) {
    Error error = to_error(status);
    const auto holder = holder_of_database(directory.database());
    if (status.IsIOError() && holder) {
        error.code = ErrorCode::store_in_use;
        error.pid = holder;
        error.message =
            directory.database() + " is already open in process " + std::to_string(*holder);
    } else if (status.IsNotSupported()) {
        error.code = ErrorCode::newer_format;
    } else if (directory.existing() &&
               (status.IsPathNotFound() || status.IsNotFound() || status.IsInvalidArgument())) {
        error.code = ErrorCode::corrupt;
    } else if (status.IsIOError() && (error.message.ends_with("Permission denied") ||
                                      error.message.ends_with("Read-only file system"))) {
        error.code = ErrorCode::read_only;
    }
    return about_damage(std::move(error), directory);
}

Error about_damage(Error error, const StoreDirectory& directory) {
    if (error.code == ErrorCode::corrupt) {
        error.message = "the store in " + directory.database() +
                        " is damaged, and no lock is granted from it; " + error.message;
    }
    return error;
}

rocksdb::DBOptions database_options(const RocksdbOptions& options, bool creating, LogEnd log_end,
                                    rocksdb::Env& env) {
    rocksdb::DBOptions result;
    result.env = &env;
    result.create_if_missing = creating;
    result.create_missing_column_families = creating;
    result.info_log = std::make_shared<NullLogger>();
    result.stats_dump_period_sec = 0;
    result.stats_persist_period_sec = 0;
    result.skip_stats_update_on_db_open = true;
    // Corruption is always reported, and never repaired by leaving out data.
    result.paranoid_checks = true;
    // The group commit is the only writer.
    result.allow_concurrent_memtable_write = false;
    result.enable_write_thread_adaptive_yield = false;
    // The commit log contains what is only in memory.
    result.avoid_flush_during_shutdown = true;
    // For stores of format 2 or earlier, whose last commits are in RocksDB's log.
    result.wal_recovery_mode = recovery_mode(log_end);
    // Limits how much the next open has to replay: unflushed memory and its log.
    result.db_write_buffer_size = options.write_buffer_bytes;
    result.max_total_wal_size = 2 * options.write_buffer_bytes;
    result.max_open_files = max_open_files();
    // With more threads, RocksDB starts all of them for each family when it opens, even if there
    // are few files.
    result.max_file_opening_threads = 1;
    result.max_background_jobs = 2;
    result.listeners.push_back(make_flush_listener());
    return result;
}

std::vector<rocksdb::ColumnFamilyDescriptor> family_descriptors(const RocksdbOptions& options) {
    const auto each = family_options(options, rocksdb::NewLRUCache(options.block_cache_bytes, 2));
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    families.emplace_back(rocksdb::kDefaultColumnFamilyName, each);
    for (const char* const name : family_names) {
        const std::string_view text = name;
        const bool of_records = text == "locks" || text == "history";
        families.emplace_back(name, of_records ? record_options(each) : each);
    }
    return families;
}

}  // namespace rocklock
