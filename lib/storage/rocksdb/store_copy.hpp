// Creates copies of a store, from an open store or from a directory of files.
//
// A copy has the layout of a store that was never open. It contains marks, which the caller
// provides, so that the first process that opens the copy recognizes it as a copy.
//
//     <directory>/db.partial   an incomplete copy, which is not a store and which no function opens
//                 db           the complete copy, which was synced and then renamed in one step
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

#include "storage/files/commit_log.hpp"

namespace rocklock {

// Makes a copy of a store in `directory`. First removes the remains of an interrupted copy. Then
// calls `fill`, which must create a database at the path in its argument (db.partial). Finally,
// writes `marks` into this database and renames it to db. If a step fails, removes the files that
// it has created.
//
// Errors: invalid_argument  `directory` is not empty, is inside a store, or cannot be created
//         store_in_use      another copy is being made in `directory`
//         and those of `fill` and of the disk
Result<void> make_copy(const std::string& directory, const std::vector<Write>& marks,
                       const std::function<Result<void>(const std::string& database)>& fill);

// Completes a checkpoint for make_copy(): applies the commits of the log to the database at `path`,
// and deletes the key `commits`, so that the copy needs no commit log. Reads the log from the
// number that the checkpoint contains; `reading.first` if it contains none. Errors: corrupt, and
// the errors of the disk.
Result<void> apply_log(const std::string& path, CommitLog::Reading reading);

// As apply_log(), but applies the commit log of the database itself, if it has one, and deletes the
// files of the log.
Result<void> apply_own_log(const std::string& path);

// Returns true for values that are not part of a copy.
using ExceptValue = std::function<bool(Family family, std::string_view key)>;

// Writes the values of a snapshot, without those of `except`, into a new database at the path
// `path`; a `fill` for make_copy(). Errors: those of Snapshot and of the disk
Result<void> write_database(const std::string& path, const Snapshot& values,
                            const ExceptValue& except);

// Called with the number of bytes copied so far and the total number of bytes.
using CopyProgress = std::function<void(std::uint64_t done, std::uint64_t whole)>;

// Copies the files of directory `from` into the new directory `to`, and syncs them. Errors: as
// system_error().
Result<void> copy_files(const std::string& from, const std::string& to,
                        const CopyProgress& progress);

// The number of files in a directory, and their total size.
struct DirectorySize {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
};
// Returns the size of a directory without its subdirectories. Errors: as system_error().
Result<DirectorySize> size_of_directory(const std::string& path);

}  // namespace rocklock
