// Writes the values of a backup into an empty store on etcd.
//
// A store is written with many commits, so a restore can be interrupted. The first commit writes a
// record of the restore; the last one deletes it and writes the record of the format. A store with
// the record of a restore is refused by open_etcd_storage(), and a repeated restore deletes its
// values first.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

namespace rocklock::etcd {

// The key of the record of a restore, in the family `meta`.
inline constexpr std::string_view restore_key = "etcd restore";

// Writes the values of a snapshot, and then `marks`, into `target`, which was opened with
// EtcdOptions::restoring. Calls `progress` with the number of values that have been written and the
// total number.
//
// Errors: invalid_argument if `target` already contains a store; those of Storage and Snapshot
Result<void> restore_values(const Snapshot& source, Storage& target,
                            const std::vector<Write>& marks,
                            const std::function<void(std::uint64_t, std::uint64_t)>& progress);

}  // namespace rocklock::etcd
