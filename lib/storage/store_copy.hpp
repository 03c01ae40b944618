// Copies of a store: taken from one that is open, and put where a store is to be.
//
// A copy lies in a directory as a store does, but was never open. It holds the marks of whoever had
// it made, so that the first to open it knows it for a copy.
//
//     <directory>/db.partial   while it is made: no store, and nothing opens it
//                 db           complete: synced, and renamed in one step
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

namespace rocklock {

// Lets `fill` make a database at the path it is given, writes `marks` into it, and makes it the one
// in `directory`. What was left by one that was interrupted is removed first; what a failed one
// made is removed too.
//
// Errors: invalid_argument (`directory` holds anything), store_in_use (another copy is being made
//         there), and those of `fill` and the disk.
Result<void> make_copy(const std::string& directory, const std::vector<Write>& marks,
                       const std::function<Result<void>(const std::string& database)>& fill);

// How many bytes are done, of how many.
using CopyProgress = std::function<void(std::uint64_t done, std::uint64_t whole)>;

// Copies the files of one directory into another, which is made, and syncs them. Errors: io_error,
// no_space, read_only.
Result<void> copy_files(const std::string& from, const std::string& to,
                        const CopyProgress& progress);

// The files of a directory, and their bytes. Errors: io_error.
struct DirectorySize {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
};
Result<DirectorySize> size_of_directory(const std::string& path);

}  // namespace rocklock
