// The verbs of the command line. Each takes its arguments and returns the exit status.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <rocklock/result.hpp>

#include "daemon/cli/arguments.hpp"
#include "daemon/cli/lock_connection.hpp"
#include "daemon/cli/settings.hpp"
#include "daemon/cli/text_table.hpp"

namespace rocklock {

int serve_verb(const Arguments& arguments);
int run_verb(const Arguments& arguments);
int acquire_verb(const Arguments& arguments);
int renew_verb(const Arguments& arguments);
int release_verb(const Arguments& arguments);
int convert_verb(const Arguments& arguments);
int answer_verb(const Arguments& arguments);
int steal_verb(const Arguments& arguments);
int break_verb(const Arguments& arguments);
int list_verb(const Arguments& arguments);
int show_verb(const Arguments& arguments);
int sessions_verb(const Arguments& arguments);
int top_verb(const Arguments& arguments);
int class_put_verb(const Arguments& arguments);
int class_list_verb(const Arguments& arguments);
int class_remove_verb(const Arguments& arguments);
int session_end_verb(const Arguments& arguments);
int drafts_list_verb(const Arguments& arguments);
int drafts_remove_verb(const Arguments& arguments);
int db_check_verb(const Arguments& arguments);
int db_stats_verb(const Arguments& arguments);
int db_backup_verb(const Arguments& arguments);
int db_restore_verb(const Arguments& arguments);
int bench_verb(const Arguments& arguments);
int watch_verb(const Arguments& arguments);
int history_verb(const Arguments& arguments);
int status_verb(const Arguments& arguments);
int version_verb(const Arguments& arguments);
int completion_verb(const Arguments& arguments);
int complete_words_verb(const Arguments& arguments);
int man_page_verb(const Arguments& arguments);

// ---- Shared by the verbs ----

// Prints the error to stderr and returns its exit status. If `arguments` contain --quiet, the
// message omits the names of other users.
int fail(const Error& error, const Arguments* arguments = nullptr);

// Returns the error. If it reports a damaged store and its message does not name the store, adds
// the path.
Error about_store(Error error, const std::string& store);

// Whether open_manager() may create the store that --db names.
enum class Opening : std::uint8_t { may_create, existing };
// Returns the manager that --db, --socket and the settings select. With Opening::existing, --db
// does not create a store.
Result<std::unique_ptr<LockConnection>> open_manager(const Arguments& arguments,
                                                     const Settings& settings,
                                                     std::chrono::milliseconds patience,
                                                     Opening opening = Opening::may_create);

// Returns --reason, which a forced change requires. Errors: invalid_argument if it is absent.
Result<std::string> reason_of(const Arguments& arguments);

// Returns --principal, or the login name if it is absent.
std::string principal_of(const Arguments& arguments);

// Returns the credentials in ROCKLOCK_SESSION. They are read from the environment only, because
// other users can read a command line. Errors: invalid_argument if they are absent or malformed.
Result<SessionCredentials> session_of_environment();

// Returns the resources to lock, with --mode, --to, --subtree and --permits applied. Errors:
// invalid_argument if an option is malformed or excludes another one.
Result<std::vector<LockRequest>> locks_of(const Arguments& arguments);

// Prints the text and a newline to stdout.
void print(std::string_view text);
// Flushes stdout. Returns false if something could not be written; then the error is reported once
// and the unwritten output is discarded.
bool output_written();
// As output_written(), but reports no error: returns the errno, or 0. It is EPIPE if the reader has
// closed the pipe.
int errno_of_output();
// Prints the table, in colour if stdout is a terminal and --no-color is absent.
void print_table(const TextTable& table, const Arguments& arguments);

}  // namespace rocklock
