// The verbs of the command line. Each takes its arguments and returns the exit status.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <rocklock/result.hpp>

#include "daemon/cli/arguments.hpp"
#include "daemon/cli/manager.hpp"
#include "daemon/cli/settings.hpp"
#include "daemon/cli/table.hpp"

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
int version_verb(const Arguments& arguments);
int completion_verb(const Arguments& arguments);
int complete_words_verb(const Arguments& arguments);
int man_page_verb(const Arguments& arguments);

// ---- What they share ----

// Says what is wrong, on stderr, and returns the exit status for it. With `arguments` that have
// --quiet it names nobody.
int fail(const Error& error, const Arguments* arguments = nullptr);

// The error, with the store it is about if it says that something in it is damaged.
Error about_store(Error error, const std::string& store);

// Whoever --socket, --db and the settings name. To look at a store with --db never makes one.
enum class Opening : std::uint8_t { may_create, existing };
Result<std::unique_ptr<Manager>> open_manager(const Arguments& arguments, const Settings& settings,
                                              std::chrono::milliseconds patience,
                                              Opening opening = Opening::may_create);

// --reason, which a forced change needs. Errors: invalid_argument.
Result<std::string> reason_of(const Arguments& arguments);

// --principal, or the login name.
std::string principal_of(const Arguments& arguments);

// The proof in ROCKLOCK_SESSION: the environment only, since a command line can be read by others.
// Errors: invalid_argument.
Result<SessionCredentials> session_of_environment();

// The resources to lock, with --mode, --to and --subtree. Errors: invalid_argument.
Result<std::vector<LockRequest>> locks_of(const Arguments& arguments);

// Prints to stdout, with a newline.
void print(std::string_view text);
// Whether all that was printed has left us. If not, it says so once, and what is left is dropped.
bool output_written();
// The same, for one whose reader may leave: then nothing is said, and the errno is EPIPE.
int errno_of_output();
// In colour where that is wanted.
void print_table(const Table& table, const Arguments& arguments);

}  // namespace rocklock
