// Opens the store that a daemon serves.
#pragma once

#include <rocklock/database.hpp>

#include "daemon/server/server.hpp"
#include "daemon/support/log.hpp"

namespace rocklock {

// Opens the store. If another process has it open, retries for up to `options.patience`. Logs each
// wait for a lock that takes longer than `options.slow_wait` to `log`, which must outlive the
// database.
//
// Errors: as Database::open(); read_only if other users can enter the directory
Result<Database> open_served_store(const ServerOptions& options, const Log& log);

// Logs how many bytes at the end of the store's log were discarded on opening, if any.
void report_discarded(Database& database, const Log& log);

}  // namespace rocklock
