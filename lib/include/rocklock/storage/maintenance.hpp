// Looking after a store as a directory: what is in it, whether it is sound, and putting back
// a copy of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/export.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

struct StoreFacts {
    // When the store was made.
    WallTime created;
    // A copy that was not opened yet: who opens it ends its sessions and grants.
    bool copy = false;
    std::uint64_t sessions = 0;
    std::uint64_t ended_sessions = 0;
    std::uint64_t grants = 0;
    std::uint64_t ended_grants = 0;
    std::uint64_t classes = 0;
    // Forced changes: breaks and steals.
    std::uint64_t audit_rows = 0;
    // The largest token in any record; 0 for none. No token at or above the mark was ever used.
    std::uint64_t last_token = 0;
    std::uint64_t token_mark = 0;
    std::uint64_t last_version = 0;
    std::uint64_t version_mark = 0;
    // How many restarts of the machine, and losses, the store has lived through.
    std::uint32_t boot_epoch = 0;
    // Its last run ended in a failed write or sync.
    bool suspect = false;
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
};

struct StoreReport {
    StoreFacts facts;
    // What is wrong with it, for people; empty: it is sound.
    std::vector<std::string> problems;
};

// Counts what is in the store in `directory` and changes nothing; also of a store that a process
// has open, without what that is just writing. Errors: not_a_store, read_only, newer_format,
// corrupt, io_error.
ROCKLOCK_API Result<StoreFacts> inspect_store(const std::string& directory);

// As above, and reads every byte: the checksums of all files, every record, and whether the table
// of locks that they make keeps its own rules. Nobody may have it open. Errors: store_in_use (with
// the pid), and those that keep it from looking; what is wrong with the store is in the report.
ROCKLOCK_API Result<StoreReport> check_store(const std::string& directory);

// Puts the store in `backup` into `directory`, which must not exist or be empty: what was copied
// there once, or a store that was stopped. Whoever opens it first ends every session and grant in
// it (`broken`, "restored"), and its tokens go on above all that may have been handed out since.
// When it was interrupted there is no store in `directory`, and it may be done again.
//
// `progress` is told how many bytes are copied, of how many.
//
// Errors: invalid_argument (`directory` is not empty), and as check_store() for `backup`; no_space.
ROCKLOCK_API Result<void> restore_store(
    const std::string& backup, const std::string& directory,
    const std::function<void(std::uint64_t done, std::uint64_t whole)>& progress = {});

}  // namespace rocklock
