// The store that a daemon serves.
#pragma once

#include <rocklock/database.hpp>

#include "daemon/server/server.hpp"
#include "daemon/support/log.hpp"

namespace rocklock {

// Opens it, waiting for one that is just leaving it, and tells the log of waits that have become
// long. `log` must outlive it. Errors: those of Database::open().
Result<Database> open_served_store(const ServerOptions& options, const Log& log);

// Logs how many bytes at the end of the log were discarded when the store was opened, if any.
void report_discarded(Database& database, const Log& log);

}  // namespace rocklock
