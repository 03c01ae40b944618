// The records of a store about itself, and an error, which stores on a disk and on etcd share.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/storage/storage.hpp>

namespace rocklock {

// The number of the current format. In format 2, the end of a session can be part of the record of
// its grant. Every store of format 1 is also valid in format 2. Since format 3, the last commits
// are in the commit log and not in RocksDB's log.
inline constexpr std::uint32_t store_format = 3;
inline constexpr std::string_view format_key = "format";

// Returns the record of the current format. `version` is the version of the value.
Write format_record(std::uint64_t version);
// Returns the number in the record of the format, or 0 if there is no record. `store` names the
// store in messages. Errors: corrupt; newer_format if this version does not know the format.
Result<std::uint32_t> read_format(const std::optional<std::string>& record,
                                  const std::string& store);
// Returns the first records of an empty store: its format, its random id and its time of creation.
std::vector<Write> first_records(Clock& clock);

// Returns the error for a store that is used in a child of the process that opened it.
Error opened_before_fork(pid_t opened_by);

}  // namespace rocklock
