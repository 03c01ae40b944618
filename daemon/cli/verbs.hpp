// The functions of the verbs of the command line. Each function takes the arguments of its verb and
// returns the exit status.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

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
int transfer_verb(const Arguments& arguments);
int reacquire_verb(const Arguments& arguments);
int break_verb(const Arguments& arguments);
int list_verb(const Arguments& arguments);
int show_verb(const Arguments& arguments);
int sessions_verb(const Arguments& arguments);
int top_verb(const Arguments& arguments);
// Returns the rights that a class gives to users and groups, for a cell of a table: "break
// group:ops", or "-" if it gives none.
std::string rights_of(const LockClass& lock_class);
int class_put_verb(const Arguments& arguments);
int class_list_verb(const Arguments& arguments);
int class_remove_verb(const Arguments& arguments);
int class_drain_verb(const Arguments& arguments);
int class_resume_verb(const Arguments& arguments);
int session_open_verb(const Arguments& arguments);
int session_show_verb(const Arguments& arguments);
int session_join_verb(const Arguments& arguments);
int session_close_verb(const Arguments& arguments);
int session_end_verb(const Arguments& arguments);
int notices_verb(const Arguments& arguments);
int table_bind_verb(const Arguments& arguments);
int table_unbind_verb(const Arguments& arguments);
int table_list_verb(const Arguments& arguments);
int audit_verb(const Arguments& arguments);
int waits_verb(const Arguments& arguments);
int deadlocks_verb(const Arguments& arguments);
int stats_verb(const Arguments& arguments);
int outliers_verb(const Arguments& arguments);
int drafts_list_verb(const Arguments& arguments);
int drafts_take_verb(const Arguments& arguments);
int drafts_remove_verb(const Arguments& arguments);
int node_list_verb(const Arguments& arguments);
int node_yield_verb(const Arguments& arguments);
int node_check_verb(const Arguments& arguments);
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

// Returns the error. If the error reports a damaged store and its message does not name the store,
// adds the path of the store to the message.
Error about_store(Error error, const std::string& store);

// Whether open_manager() may create the store that --db names.
enum class Opening : std::uint8_t { may_create, existing };
// Returns the manager that --db, --socket and the settings select. With Opening::existing, --db
// does not create a store.
Result<std::unique_ptr<LockConnection>> open_manager(const Arguments& arguments,
                                                     const Settings& settings,
                                                     std::chrono::milliseconds patience,
                                                     Opening opening = Opening::may_create);

// Sends the call to the manager that open_manager() returns with Opening::existing, and returns the
// reply. Errors: those of the settings, of open_manager() and of the call.
Result<Reply> call_manager(CallBody body, const Arguments& arguments);
// As call_manager(), but returns the reply as a T. Returns io_error if the reply has another type.
template <typename T>
Result<T> ask_manager(CallBody body, const Arguments& arguments) {
    auto reply = call_manager(std::move(body), arguments);
    if (!reply) return std::move(reply).error();
    if (auto* value = std::get_if<T>(&*reply)) return std::move(*value);
    return Error(ErrorCode::io_error, "the daemon sent a reply of the wrong type");
}

// Returns the value of --reason, which a forced change requires. Errors: invalid_argument if the
// option is absent.
Result<std::string> reason_of(const Arguments& arguments);

// Returns the number that is the value of the option. Errors: invalid_argument.
Result<std::uint64_t> number_in(std::string_view option, const std::string& text);

// Returns the value of --principal, or the login name if the option is absent.
std::string principal_of(const Arguments& arguments);

// Returns the credentials in the environment variable ROCKLOCK_SESSION. No option can give the
// credentials, because other users can read a command line. Errors: invalid_argument if the
// variable is absent or malformed.
Result<SessionCredentials> session_of_environment();

// A call for the session in ROCKLOCK_SESSION, and the manager to send it to.
struct SessionCall {
    std::unique_ptr<LockConnection> manager;
    Settings settings;
    SessionCredentials credentials;
};

// Errors: invalid_argument if ROCKLOCK_SESSION is not valid; those of open_manager().
Result<SessionCall> begin_for_session(const Arguments& arguments, Settings settings);
// As above, but loads the settings. Errors: also those of Settings::load().
Result<SessionCall> begin_for_session(const Arguments& arguments);

// Returns the resources to lock: first the operands, with the modes that --mode, --to, --subtree
// and --permits determine, then the resources of --lock. Errors: invalid_argument if an option is
// malformed, or if two options exclude each other.
Result<std::vector<LockRequest>> locks_of(const Arguments& arguments);
// Returns the resources of --lock with their new modes, for a conversion. Errors: invalid_argument.
Result<std::vector<LockRequest>> converted_locks_of(const Arguments& arguments);
// Returns the pairs of key and value of all --metadata options. Errors: invalid_argument.
Result<Metadata> metadata_of(const Arguments& arguments);
// Returns the request to acquire the resources that locks_of() returns, with the options that
// `acquire` and `run` share: --any, --priority, --max-hold, --min-hold, --note and --metadata. The
// request has no session, no wait timeout and no request id. Errors: invalid_argument.
Result<Acquire> acquire_of(const Arguments& arguments);
// Returns the pid in --for-process, or nullopt if it is absent. Errors: invalid_argument.
Result<std::optional<std::int32_t>> process_of(const Arguments& arguments);

// For `steal` and `reacquire`: returns the request for a new session with --principal and --lease,
// or nullopt if ROCKLOCK_SESSION is set. Errors: invalid_argument if an option is malformed, or if
// ROCKLOCK_SESSION is set and --principal or --lease is given.
Result<std::optional<OpenSession>> session_to_open(const Arguments& arguments,
                                                   const Settings& settings);

// Prints the text and a newline to stdout.
void print(std::string_view text);
// Flushes stdout. If the output could not be written, reports the error once, discards the output
// that was not written, and returns false.
bool output_written();
// As output_written(), but returns the errno instead of reporting the error, or returns 0. The
// errno is EPIPE if the reader has closed the pipe.
int errno_of_output();
// Prints the table. The titles are bold if stdout_takes_colour() returns true and --no-color is
// absent.
void print_table(const TextTable& table, const Arguments& arguments);

}  // namespace rocklock
