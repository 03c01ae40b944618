// Opens the store that a daemon serves.
#pragma once

#include <rocklock/database.hpp>

#include "daemon/server/server.hpp"
#include "daemon/support/log.hpp"

namespace rocklock {

// Opens the store. If another process has the store open, retries for up to `options.patience`. If
// a wait for a lock takes longer than `options.live.slow_wait`, writes a line to `log`. `log` must
// outlive the database.
//
// Errors: as Database::open(); read_only if other users can enter the directory
Result<Database> open_served_store(const ServerOptions& options, const Log& log);

// If the open has discarded bytes at the end of the store's log, logs their number.
void report_discarded(Database& database, const Log& log);

}  // namespace rocklock
