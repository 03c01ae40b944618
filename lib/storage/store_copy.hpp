// Copies of a store: creates them from an open store or a directory of files.
//
// A copy has the layout of a store that was never open. It contains marks of the caller, so that
// the first process that opens it recognizes it as a copy.
//
//     <directory>/db.partial   an incomplete copy; it is not a store, and no function opens it
//                 db           the complete copy: synced, then renamed in one step
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

namespace rocklock {

// Calls `fill` to create a database at the given path, writes `marks` into it, and renames it to
// the database of `directory`. First removes the remains of an interrupted copy. If the copy fails,
// its remains are removed.
//
// Errors: invalid_argument  `directory` is not empty, lies in a store, or cannot be created
//         store_in_use      another copy is being made there
//         and those of `fill` and of the disk
Result<void> make_copy(const std::string& directory, const std::vector<Write>& marks,
                       const std::function<Result<void>(const std::string& database)>& fill);

// Called with the number of bytes copied so far and the total number of bytes.
using CopyProgress = std::function<void(std::uint64_t done, std::uint64_t whole)>;

// Copies the files of directory `from` into the new directory `to`, and syncs them. Errors: as
// system_error().
Result<void> copy_files(const std::string& from, const std::string& to,
                        const CopyProgress& progress);

// The number of files in a directory, and their bytes.
struct DirectorySize {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
};
// Subdirectories are not counted. Errors: as system_error().
Result<DirectorySize> size_of_directory(const std::string& path);

}  // namespace rocklock
