// Maintenance of a store directory: inspection, checks, and restoring from a copy.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/export.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/etcd.hpp>

namespace rocklock {

struct StoreFacts {
    // The time at which the store was created.
    WallTime created;
    // Whether the store is a copy that has not been opened yet. The first open of a copy ends all
    // sessions and grants in it.
    bool copy = false;
    std::uint64_t sessions = 0;
    std::uint64_t ended_sessions = 0;
    std::uint64_t grants = 0;
    std::uint64_t ended_grants = 0;
    std::uint64_t classes = 0;
    // Rows of the audit log; see AuditRow in <rocklock/lock.hpp>.
    std::uint64_t audit_rows = 0;
    // `last_token` is the largest token in any record; 0 if there is none. `token_mark` is greater
    // than every token that was ever used. `last_version` and `version_mark` are the corresponding
    // values for the versions of records.
    std::uint64_t last_token = 0;
    std::uint64_t token_mark = 0;
    std::uint64_t last_version = 0;
    std::uint64_t version_mark = 0;
    // The number of times that the store was opened after the machine had restarted, or after
    // writes might have been lost.
    std::uint32_t boot_epoch = 0;
    // Whether the store failed in an earlier run and has not been recovered since.
    bool suspect = false;
    // The number of files in the RocksDB database, and their total size.
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
};

struct StoreReport {
    StoreFacts facts;
    // Descriptions of the problems, for people. Empty if the store is sound.
    std::vector<std::string> problems;
};

// Counts the records of the store in `directory` and changes nothing. Also works while another
// process has the store open; the latest writes of that process may then be missing. Errors:
// not_a_store, read_only, newer_format, corrupt, io_error.
ROCKLOCK_API Result<StoreFacts> inspect_store(const std::string& directory);

// As inspect_store(), but also reads every byte of the store: verifies the checksums of all files,
// decodes every record, and checks the invariants of the lock table that the records form. No
// process may have the store open. The report describes any damage of the store. An error means
// that the store could not be read.
//
// Errors: store_in_use (with the pid), and those of inspect_store() except corrupt.
ROCKLOCK_API Result<StoreReport> check_store(const std::string& directory);

// Restores a store from `backup` to `directory`, which must not exist or must be empty. `backup` is
// the directory of a copy, or of a store that is not open. The first open of the restored store
// ends all sessions and grants in it (`broken`, reason "restored"). New tokens are then greater
// than every token that the original store may have issued after the copy was made. If the restore
// is interrupted, `directory` contains no store, and the restore can be repeated.
//
// Calls `progress` with the number of bytes that have been copied and the total number.
//
// Errors: invalid_argument (`directory` is not empty), no_space, corrupt (`backup` is damaged), and
// those of check_store() for `backup`.
ROCKLOCK_API Result<void> restore_store(
    const std::string& backup, const std::string& directory,
    const std::function<void(std::uint64_t done, std::uint64_t whole)>& progress = {});

// As restore_store(), into a store on etcd that does not exist yet. `url` is as for
// open_etcd_storage(). If the restore is interrupted, nodes refuse the store until the restore has
// been repeated completely.
//
// Calls `progress` with the number of values that have been written and the total number.
//
// Errors: invalid_argument (the URL, an option, or there already is a store), those of
// open_etcd_storage(), and those of check_store() for `backup`.
ROCKLOCK_API Result<void> restore_store_to_etcd(
    const std::string& backup, const std::string& url, const EtcdOptions& options = {},
    const std::function<void(std::uint64_t done, std::uint64_t whole)>& progress = {});

}  // namespace rocklock
