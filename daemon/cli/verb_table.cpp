#include "daemon/cli/verb_table.hpp"

#include <cstddef>

#include "daemon/cli/option_table.hpp"
#include "daemon/cli/verbs.hpp"

namespace rocklock {
namespace {

struct VerbRow {
    std::string_view name;
    // The operands after the name. "[X]" is optional, "X..." can be repeated, and "--" precedes a
    // command. The shell completion depends on these names: see completion.cpp.
    std::string_view operands;
    // The groups of options that the verb accepts, in addition to the options that name the verb.
    std::string_view groups;
    int (*run)(const Arguments&);
    // The overview of `rocklock --help` prints the first line. Empty for an internal verb, which
    // the help does not list.
    std::string_view summary;
    std::string_view example;
};

// The groups:
//   @where    calls a daemon, or opens a store itself
//   @socket   calls a daemon
//   @locks    acquires locks for a session of its own
//   @json     can print JSON
//   @quiet    prints a message on success, which can be suppressed
//   @table    prints a table, in colour on a terminal
constexpr VerbRow verb_rows[] = {
    {"serve", "", "", serve_verb,
     "Serves locks on a Unix socket until it receives SIGTERM or SIGINT.\n"
     "In all --max-user options, 0 means no limit, and auto means a limit that the\n"
     "daemon derives from the resources of the machine.",
     "rocklock serve --db ./locks --socket ./locks.sock"},
    {"run", "RESOURCE... -- COMMAND [ARG...]", "@locks, @where", run_verb,
     "Acquires a lock, runs a command, and releases the lock.\n"
     "Exits with the status of the command.\n"
     "Exit status 75: the lock was not granted.\n"
     "Exit status 76: the lock was lost while the command ran.\n"
     "The lock excludes only clients of the same lock manager. `rocklock status` shows\n"
     "which manager is used.\n"
     "To run a shell command, write it as one text after -c instead of after --:\n"
     "run RESOURCE... -c COMMAND\n"
     "The options -n, -w, -c, -s, -x, -e and -E are those of flock(1).\n"
     "If the name of a resource begins with a dash, write -- before the name, as in\n"
     "run -- -x -- ./report.sh",
     "rocklock run nightly-report -- ./report.sh"},
    {"acquire", "RESOURCE...", "@locks, @where, @json, @quiet", acquire_verb,
     "Acquires a lock and prints its grant, token and session as shell variables.\n"
     "The lock is not renewed automatically: call `renew` before the lease ends.",
     "eval \"$(rocklock acquire orders/42 --lease 10m)\""},
    {"renew", "[GRANT]", "@where, @json, @quiet", renew_verb,
     "Renews the lease of the session in ROCKLOCK_SESSION.\n"
     "If you name a GRANT, also checks whether the session holds it.\n"
     "Exit status 76: the session has ended, or does not hold the GRANT.",
     "rocklock renew \"$ROCKLOCK_GRANT\""},
    {"release", "GRANT", "@where, @json, @quiet", release_verb,
     "Releases a grant. Requires ROCKLOCK_SESSION.", "rocklock release \"$ROCKLOCK_GRANT\""},
    {"convert", "GRANT", "@where, @json, @quiet", convert_verb,
     "Changes the mode of a grant. Requires ROCKLOCK_SESSION.",
     "rocklock convert \"$ROCKLOCK_GRANT\" --mode read"},
    {"answer", "GRANT", "@where, @json, @quiet", answer_verb,
     "Allows or refuses requests of other sessions to take over a grant.\n"
     "Requires ROCKLOCK_SESSION, and either --allow or --refuse.",
     "rocklock answer \"$ROCKLOCK_GRANT\" --allow"},
    {"transfer", "GRANT SESSION", "@where, @json, @quiet", transfer_verb,
     "Transfers a grant of ROCKLOCK_SESSION to another session.\n"
     "The grant gets a new id and a new token.",
     "rocklock transfer \"$ROCKLOCK_GRANT\" ueb4kOo4ewFoclNmo5mEww"},
    {"reacquire", "GRANT", "@where, @json, @quiet", reacquire_verb,
     "Locks the resources of an expired or broken grant again, with a new grant.\n"
     "The new grant belongs to the session in ROCKLOCK_SESSION if it is set, otherwise\n"
     "to a new session. The session must have the principal of the old grant.\n"
     "Exit status 76: one of the resources was locked after the old grant was made.",
     "rocklock reacquire 3745123"},
    {"ls", "[PREFIX]", "@where, @json, @table", list_verb,
     "Lists the locks and their holders.\n"
     "PREFIX selects the resources whose names begin with it.",
     "rocklock ls orders/"},
    {"show", "RESOURCE", "@where, @json", show_verb,
     "Shows the holders, the waiters and the last holder of a resource.",
     "rocklock show orders/42"},
    {"sessions", "", "@where, @json, @table", sessions_verb, "Lists the sessions.",
     "rocklock sessions"},
    {"session open", "", "@where, @json, @quiet", session_open_verb,
     "Opens a session without a grant and prints its secret as a shell variable.\n"
     "The variable ROCKLOCK_SESSION contains the session and its secret.",
     "eval \"$(rocklock session open --lease 10m)\""},
    {"session show", "", "@where, @json", session_show_verb,
     "Shows the lease and the grants of ROCKLOCK_SESSION.", "rocklock session show"},
    {"session join", "", "@where, @json, @quiet", session_join_verb,
     "Adds a process to ROCKLOCK_SESSION.\n"
     "The session must have been opened with --for-process, and ends when all of its\n"
     "processes have ended.",
     "rocklock session join --for-process $$"},
    {"session close", "", "@where, @json, @quiet", session_close_verb,
     "Releases all grants of ROCKLOCK_SESSION and ends it.", "rocklock session close"},
    {"session end", "[SESSION]", "@where, @json, @quiet", session_end_verb,
     "Ends a session and its grants, or all sessions of a principal or of a user.\n"
     "Requires administrator rights. Administrators are root, the user that runs the\n"
     "daemon, and the members of the group that `serve --admin-group` names.",
     "rocklock session end --principal ann --reason \"ann has left\""},
    {"notices", "", "@where, @json", notices_verb,
     "Prints the notices for the session in ROCKLOCK_SESSION.\n"
     "There are three kinds of notices: another session wants a lock of this session;\n"
     "this session has lost a lock; or a holder has allowed or refused this session's\n"
     "request to take over its grant.",
     "rocklock notices --patience 1m"},
    {"waits", "[PREFIX]", "@where, @json, @table", waits_verb,
     "Lists each session that waits for a lock, and the sessions that block it.\n"
     "PREFIX selects the resources whose names begin with it.",
     "rocklock waits orders/"},
    {"deadlocks", "", "@where, @json", deadlocks_verb,
     "Lists the last sixteen deadlocks, oldest first.\n"
     "A request that would complete a deadlock is refused.",
     "rocklock deadlocks"},
    {"stats", "", "@where, @json, @table", stats_verb,
     "Prints counts and times of locks, sessions, waits and other events.\n"
     "The counts begin when the daemon opens its store.",
     "rocklock stats --json"},
    {"outliers", "", "@where, @json, @table", outliers_verb,
     "Lists the longest-held grants and the resources with the most waits.",
     "rocklock outliers --limit 20"},
    {"audit", "", "@where, @json, @quiet, @table", audit_verb,
     "Lists or exports the rows of the audit log, oldest first.\n"
     "A row is written whenever a grant is stolen, broken or transferred, and whenever\n"
     "a class is drained or resumed.",
     "rocklock audit --export audit.jsonl"},
    {"top", "[PREFIX]", "@where, @json, @table", top_verb,
     "Shows the locks, contended ones first, and refreshes them until you press q.\n"
     "With --once, prints the locks once and exits. If the output is not a terminal,\n"
     "--once is the default, except with --json.\n"
     "PREFIX selects the resources whose names begin with it.",
     "rocklock top orders/"},
    {"watch", "[PREFIX]", "@json", watch_verb,
     "Prints the events of locks until it receives SIGTERM or SIGINT.\n"
     "PREFIX selects the resources whose names begin with it.",
     "rocklock watch orders/ --json"},
    {"history", "RESOURCE", "@where, @json, @table", history_verb,
     "Lists the past grants of a resource and how each ended, newest first.",
     "rocklock history orders/42"},
    {"steal", "GRANT", "@where, @json, @quiet", steal_verb,
     "Takes over a grant if the classes of its resources allow a steal.\n"
     "The new holder is the session in ROCKLOCK_SESSION if it is set, otherwise a new\n"
     "session.\n"
     "Exit status 77: a steal is not allowed, or is not allowed yet. The message says\n"
     "why.",
     "rocklock steal 3745123 --reason \"ann left for the day\""},
    {"break", "GRANT", "@where, @json, @quiet", break_verb,
     "Ends a grant.\n"
     "Requires administrator rights, or that the class of each resource of the grant\n"
     "names you in --break-by (see `class put`). Administrators are root, the user\n"
     "that runs the daemon, and the members of the group that `serve --admin-group`\n"
     "names.",
     "rocklock break 3745123 --reason \"ann is on holiday\""},
    {"class put", "PATTERN", "@where, @json, @quiet", class_put_verb,
     "Creates a class of resources, or replaces the class that has this PATTERN.\n"
     "The settings of a class apply to all resources whose names match its pattern.\n"
     "A * in the pattern matches one part of a name, between slashes. Therefore,\n"
     "orders/* does not match orders/1/2. If the class exists, options that you omit\n"
     "are reset to their defaults. Requires administrator rights.",
     "rocklock class put 'orders/*' --lease 10m --steal anyone"},
    {"class ls", "", "@where, @json, @table", class_list_verb,
     "Lists the classes, the most specific first.", "rocklock class ls"},
    {"class rm", "PATTERN", "@where, @json, @quiet", class_remove_verb,
     "Deletes a class. Requires administrator rights.", "rocklock class rm 'orders/*'"},
    {"class drain", "PATTERN", "@where, @json, @quiet", class_drain_verb,
     "Refuses new locks of the resources of a class, and keeps the existing locks.\n"
     "New and waiting requests fail with exit status 75 and a message that contains\n"
     "the --reason. The class stays drained until `class resume`, even if the daemon\n"
     "is restarted or `class put` replaces the class. Requires administrator rights.",
     "rocklock class drain 'orders/*' --reason \"maintenance until 18:00\""},
    {"class resume", "PATTERN", "@where, @json, @quiet", class_resume_verb,
     "Ends the draining of a class. Requires administrator rights.",
     "rocklock class resume 'orders/*'"},
    {"table bind", "TABLE TEMPLATE", "@where, @json, @quiet", table_bind_verb,
     "Binds each item of a table to a resource.\n"
     "A write of an item then requires the lock of that resource. TEMPLATE is the name\n"
     "of the resource. In it, write the names of key attributes in braces; the values\n"
     "of the item replace them.\n"
     "Requires administrator rights, or that the class of the resources names you in\n"
     "--bind-by (see `class put`).",
     "rocklock table bind orders 'orders/{id}'"},
    {"table unbind", "TABLE", "@where, @json, @quiet", table_unbind_verb,
     "Removes the binding of a table.\n"
     "Requires administrator rights, or that the class of the bound resources names\n"
     "you in --bind-by (see `class put`).",
     "rocklock table unbind orders"},
    {"table ls", "", "@where, @json, @table", table_list_verb, "Lists the bindings of tables.",
     "rocklock table ls"},
    {"drafts ls", "", "@socket, @json, @table", drafts_list_verb,
     "Lists the drafts of a principal, oldest first.\n"
     "A draft is a write that was refused because its lock was lost. Requires\n"
     "administrator rights if ROCKLOCK_SESSION is not set or you give --principal.",
     "rocklock drafts ls --json"},
    {"drafts take", "DRAFT", "@socket", drafts_take_verb,
     "Prints a draft as JSON and deletes it from the store.\n"
     "Requires ROCKLOCK_SESSION or administrator rights.",
     "rocklock drafts take 3745123"},
    {"drafts rm", "DRAFT", "@socket, @json, @quiet", drafts_remove_verb,
     "Deletes a draft. Requires ROCKLOCK_SESSION or administrator rights.",
     "rocklock drafts rm 3745123"},
    {"status", "", "@json", status_verb,
     "Shows which lock manager is used and why, and its store, process and users.\n"
     "A lock excludes only clients of the same manager.\n"
     "Exit status 69: the manager is not running.",
     "rocklock status"},
    {"node ls", "", "@socket, @json, @table", node_list_verb,
     "Lists the nodes of a cluster on etcd, the manager first.\n"
     "The manager answers, also if you ask a standby. A node that ends without notice\n"
     "stays in the list for the time --lead-ttl.",
     "rocklock node ls"},
    {"node yield", "", "@socket, @json, @quiet", node_yield_verb,
     "Makes the manager of a cluster hand its role over to another node.\n"
     "Prints the node that is the manager then. The clients connect again, and keep\n"
     "their locks. Requires administrator rights, which exist only on the host of the\n"
     "manager: find it with `node ls`.\n"
     "Exit status 75: no other node can become the manager.",
     "rocklock node yield"},
    {"node check", "", "@socket, @json, @quiet", node_check_verb,
     "Compares all values that the manager of a cluster has with those in etcd.\n"
     "Does not interrupt other requests. To check another node, make it the manager\n"
     "first (`node yield`). Requires administrator rights, as `node yield`.\n"
     "Exit status 70: there are differences.",
     "rocklock node check"},
    {"db check", "", "@json", db_check_verb,
     "Reads every byte of a store and reports damage.\n"
     "Exit status 70: the store is damaged.\n"
     "Exit status 75: a process has the store open.",
     "rocklock db check --db ./locks"},
    {"db stats", "", "@json", db_stats_verb,
     "Prints the size of a store and the numbers of its records.", "rocklock db stats"},
    {"db backup", "DIR", "@where, @json, @quiet", db_backup_verb,
     "Copies a snapshot of the store into a new or empty directory.\n"
     "A daemon that has the store open keeps running. Requires administrator rights.",
     "rocklock db backup /var/backups/locks-1"},
    {"db restore", "DIR", "@json, @quiet", db_restore_verb,
     "Restores the backup in DIR into a new store.\n"
     "The store is a new or empty directory (--db), or on etcd (--store). When it is\n"
     "first opened, the sessions and grants of the backup end.",
     "rocklock db restore /var/backups/locks-1 --db ./locks"},
    {"bench", "", "@where, @json, @table", bench_verb,
     "Measures how many locks of test resources are acquired and released per second.",
     "rocklock bench --clients 64 --duration 5s"},
    {"completion", "bash|zsh|fish", "", completion_verb,
     "Prints a completion script for the shell.", "eval \"$(rocklock completion bash)\""},
    {"version", "", "@json", version_verb, "Prints the version.", "rocklock version"},
    {"complete-words", "-- WORD...", "", complete_words_verb, "", ""},
    {"man-page", "", "", man_page_verb, "", ""},
};

// Calls visit(part) for each part of `text` until it returns true, and then returns true.
template <typename Visit>
bool any_part(std::string_view text, std::string_view separator, const Visit& visit) {
    while (!text.empty()) {
        const auto end = text.find(separator);
        if (visit(text.substr(0, end))) return true;
        text = end == std::string_view::npos ? "" : text.substr(end + separator.size());
    }
    return false;
}

bool takes(const VerbRow& verb, const OptionRow& option) {
    return any_part(option.verbs, ", ", [&](std::string_view name) {
        if (name == verb.name) return true;
        return name.starts_with('@') &&
               any_part(verb.groups, ", ", [&](std::string_view group) { return group == name; });
    });
}

void count_operands(Verb& verb) {
    verb.empty_operands = verb.operands.starts_with('[');
    verb.takes_command = any_part(verb.operands, " ", [&](std::string_view operand) {
        if (operand == "--") return true;
        if (!operand.starts_with('[')) ++verb.min_operands;
        if (operand.find("...") != std::string_view::npos) verb.max_operands = -1;
        if (verb.max_operands >= 0) ++verb.max_operands;
        return false;
    });
}

VerbEntry entry_of(const VerbRow& row) {
    VerbEntry entry;
    entry.run = row.run;
    entry.verb.name = row.name;
    entry.verb.operands = row.operands;
    entry.verb.summary = row.summary;
    entry.verb.example = row.example;
    if (row.groups.find("@locks") != std::string_view::npos) entry.verb.operand_option = "lock";
    count_operands(entry.verb);
    for (const auto& option : option_rows()) {
        if (takes(row, option))
            entry.verb.options.push_back({option.name, option.value, option.help, option.adds,
                                          option.may_be_empty, option.aliases});
    }
    return entry;
}

}  // namespace

const std::vector<VerbEntry>& verb_table() {
    static const std::vector<VerbEntry> table = [] {
        std::vector<VerbEntry> entries;
        for (const auto& row : verb_rows) entries.push_back(entry_of(row));
        return entries;
    }();
    return table;
}

FoundVerb find_verb(const std::vector<std::string>& words) {
    for (const std::size_t count : {2U, 1U}) {
        if (words.size() < count) continue;
        const auto name = count == 2 ? words[0] + " " + words[1] : words[0];
        for (const auto& row : verb_rows) {
            if (row.name == name) return {entry_of(row), count};
        }
    }
    return {};
}

}  // namespace rocklock
