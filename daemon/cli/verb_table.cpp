#include "daemon/cli/verb_table.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "daemon/cli/verbs.hpp"

namespace rocklock {
namespace {

struct VerbRow {
    std::string_view name;
    // The operands after the name. "[X]" is optional, "X..." can be repeated, and a command follows
    // after "--". The shell completion depends on these names: see completion.cpp.
    std::string_view operands;
    // The groups of options that the verb accepts, in addition to the options that name the verb.
    std::string_view groups;
    int (*run)(const Arguments&);
    // The first line is printed in the overview. Empty: internal verb.
    std::string_view summary;
    std::string_view example;
};

struct OptionRow {
    // Without the dashes. A name of one letter is a short option ("-E").
    std::string_view name;
    // The name of the value; empty if the option has none. "a|b" lists all values that are allowed.
    std::string_view value;
    // Empty: internal option.
    std::string_view help;
    // The verbs and the groups of verbs that accept the option.
    std::string_view verbs;
    // If the option is repeated: true appends the values, separated by commas; false keeps the last
    // one.
    bool adds = false;
    // Whether the value may be empty. If not, an empty value such as "$UNSET" is an error.
    bool may_be_empty = false;
    // Other names of the option, separated by ", ".
    std::string_view aliases = {};
};

// The groups:
//   @where    calls a daemon, or opens a store itself
//   @socket   calls a daemon
//   @locks    acquires locks for a session of its own
//   @json     can print JSON
//   @quiet    prints a message on success, which can be suppressed
//   @store    reads the files of a store, without a daemon
//   @table    prints a table, in colour on a terminal
constexpr VerbRow verb_rows[] = {
    {"serve", "", "", serve_verb,
     "Serves locks on a Unix socket until it receives SIGTERM or SIGINT.",
     "rocklock serve --db ./locks --socket ./locks.sock"},
    {"run", "RESOURCE... -- COMMAND [ARG...]", "@locks, @where", run_verb,
     "Acquires a lock, runs the command, releases the lock, and exits with the command's status.\n"
     "Exit status 75: another session holds the lock; 76: the lock was lost while the command "
     "ran.\n"
     "If a system manager is configured, the lock applies to all programs of this machine;\n"
     "otherwise, only to the processes of this user. `rocklock status` shows the manager.\n"
     "With -c, the command is one text for the shell: run RESOURCE... -c COMMAND\n"
     "-n, -w, -c, -s, -x and -e have the meaning that they have for flock.\n"
     "If the name of a resource begins with a dash, write -- before it: run -- -x -- ./report.sh",
     "rocklock run nightly-report -- ./report.sh"},
    {"acquire", "RESOURCE...", "@locks, @where, @json, @quiet", acquire_verb,
     "Acquires a lock and prints the grant, its token and its session's secret as shell variables.",
     "eval \"$(rocklock acquire orders/42 --lease 10m)\""},
    {"renew", "GRANT", "@where, @json, @quiet", renew_verb,
     "Renews the lease of the session that holds a grant. Requires ROCKLOCK_SESSION.",
     "rocklock renew \"$ROCKLOCK_GRANT\""},
    {"release", "GRANT", "@where, @json, @quiet", release_verb,
     "Releases a grant. Requires ROCKLOCK_SESSION.", "rocklock release \"$ROCKLOCK_GRANT\""},
    {"convert", "GRANT", "@where, @json, @quiet", convert_verb,
     "Changes the mode of a grant. Requires ROCKLOCK_SESSION.",
     "rocklock convert \"$ROCKLOCK_GRANT\" --mode read"},
    {"answer", "GRANT", "@where, @json, @quiet", answer_verb,
     "Allows or refuses requests to take over a grant, or releases it for waiters.\n"
     "Requires ROCKLOCK_SESSION.",
     "rocklock answer \"$ROCKLOCK_GRANT\" --allow"},
    {"ls", "[PREFIX]", "@where, @json, @table", list_verb, "Lists the locks and their holders.",
     "rocklock ls orders/"},
    {"show", "RESOURCE", "@where, @json", show_verb,
     "Shows the holders, the waiters and the last holder of a resource.",
     "rocklock show orders/42"},
    {"sessions", "", "@where, @json, @table", sessions_verb, "Lists the sessions.",
     "rocklock sessions"},
    {"session end", "[SESSION]", "@where, @json, @quiet", session_end_verb,
     "Ends a session and all of its grants, or all sessions of a principal or of a user.\n"
     "Requires administrator rights: the daemon's user, root, or its --admin-group.",
     "rocklock session end --principal ann --reason \"ann has left\""},
    {"top", "[PREFIX]", "@where, @json, @table", top_verb,
     "Shows the locks, contended ones first, and refreshes them until q is pressed.\n"
     "With --once, or if the output is not a terminal and --json is not given, prints them once.",
     "rocklock top orders/"},
    {"watch", "[PREFIX]", "@json", watch_verb,
     "Prints the events of locks until it is interrupted.", "rocklock watch orders/ --json"},
    {"history", "RESOURCE", "@where, @json, @table", history_verb,
     "Lists the past grants of a resource and how each ended, newest first.",
     "rocklock history orders/42"},
    {"steal", "GRANT", "@where, @json, @quiet", steal_verb,
     "Takes over a grant, if its class allows it, for ROCKLOCK_SESSION or a new session.\n"
     "Exit status 77: stealing is not allowed, or not yet; the message says when to try again.",
     "rocklock steal 3745123 --reason \"ann left for the day\""},
    {"break", "GRANT", "@where, @json, @quiet", break_verb,
     "Ends a grant. Requires administrator rights: the daemon's user, root, or its --admin-group.",
     "rocklock break 3745123 --reason \"ann is on holiday\""},
    {"class put", "PATTERN", "@where, @json, @quiet", class_put_verb,
     "Creates a class of resources, or replaces the whole class with this pattern.\n"
     "A * in the pattern matches exactly one element of a name. Requires administrator rights.",
     "rocklock class put 'orders/*' --lease 10m --steal anyone"},
    {"class ls", "", "@where, @json, @table", class_list_verb,
     "Lists the classes, the most specific first.", "rocklock class ls"},
    {"class rm", "PATTERN", "@where, @json, @quiet", class_remove_verb,
     "Deletes a class. Requires administrator rights.", "rocklock class rm 'orders/*'"},
    {"drafts ls", "", "@socket, @json, @table", drafts_list_verb,
     "Lists the drafts of writes that were refused because their lock was lost, oldest first.\n"
     "Without ROCKLOCK_SESSION, or with --principal, administrator rights are required.",
     "rocklock drafts ls --json"},
    {"drafts rm", "DRAFT", "@socket, @json, @quiet", drafts_remove_verb,
     "Deletes a draft. Requires ROCKLOCK_SESSION or administrator rights.",
     "rocklock drafts rm 3745123"},
    {"status", "", "@json", status_verb,
     "Shows which lock manager is used and why, its store, process and users.\n"
     "A lock excludes only clients of the same manager. Exit status 69: the manager is not\n"
     "running.",
     "rocklock status"},
    {"db check", "", "@store, @json", db_check_verb,
     "Reads every byte of a store that is not open, and reports damage.\n"
     "Exit status 70: the store is damaged.",
     "rocklock db check --db ./locks"},
    {"db stats", "", "@store, @json", db_stats_verb,
     "Prints the size of a store and the number of its records.", "rocklock db stats"},
    {"db backup", "DIR", "@where, @json, @quiet", db_backup_verb,
     "Copies a snapshot of the store into a new directory; the daemon keeps running.\n"
     "Requires administrator rights.",
     "rocklock db backup /var/backups/locks-1"},
    {"db restore", "DIR", "@store, @json, @quiet", db_restore_verb,
     "Restores a backup into a new or empty directory.\n"
     "The first open of the restored store ends the sessions and grants of the backup.",
     "rocklock db restore /var/backups/locks-1 --db ./locks"},
    {"bench", "", "@where, @json, @table", bench_verb,
     "Measures how many locks are acquired and released per second, on resources of its own.",
     "rocklock bench --clients 64 --duration 5s"},
    {"completion", "bash|zsh|fish", "", completion_verb,
     "Prints a completion script for the shell.", "eval \"$(rocklock completion bash)\""},
    {"version", "", "@json", version_verb, "Prints the version.", "rocklock version"},
    {"complete-words", "-- WORD...", "", complete_words_verb, "", ""},
    {"man-page", "", "", man_page_verb, "", ""},
};

// In the order in which the help of a verb lists them.
constexpr OptionRow option_rows[] = {
    {"durability", "durable|written", "sync grants to the disk, or only pass them to the system",
     "serve"},
    {"memory", "", "keep the store in memory only", "serve"},
    {"http", "HOST:PORT", "also listen on this address; loopback only; can be repeated", "serve",
     true},
    {"admin-group", "GROUP", "members of this group can connect and are administrators", "serve"},
    {"max-connections", "N",
     "maximum connections; further ones are refused with HTTP status 503 (20000)", "serve"},
    {"memory-share", "PERCENT",
     "share of the memory from which the limits of users are derived (50%)", "serve"},
    {"max-user-sessions", "N|auto",
     "maximum sessions of a user; 0: no limit (auto: from the memory)", "serve"},
    {"max-user-grants", "N|auto", "maximum grants and waiting requests of a user (auto)", "serve"},
    {"max-user-waiters", "N|auto", "maximum waiting requests of a user (auto)", "serve"},
    {"max-user-lock-bytes", "N|auto",
     "maximum bytes of memory for sessions, grants and waiters of a user (auto)", "serve"},
    {"max-user-connections", "N|auto",
     "maximum connections of a user (auto: three quarters of all)", "serve"},
    {"max-user-buffer-bytes", "N|auto",
     "maximum bytes of incomplete requests and unread responses of a user (auto)", "serve"},
    {"max-user-drafts", "N|auto", "maximum drafts of a user (auto)", "serve"},
    {"max-user-table-bytes", "N|auto", "maximum bytes of the tables and drafts of a user (auto)",
     "serve"},
    {"allow-shared-store", "", "serve a store even if other users can enter its directory",
     "serve"},
    {"slow-wait", "DURATION", "log each wait for a lock that takes longer than this; 0: off (5s)",
     "serve"},
    {"log-format", "text|logfmt|json", "format of the log on stderr (text)", "serve"},
    {"log-level", "debug|info|warning|error", "lowest level that is logged (info)", "serve"},
    {"sweep-period", "DURATION", "time between sweeps for expired items (10s)", "serve"},
    {"region", "NAME", "region in the ARNs of tables (local)", "serve"},
    {"throttle", "PERCENT", "fault injection: share of item requests that are throttled (0%)",
     "serve"},
    {"conflict", "PERCENT", "fault injection: share of item writes that fail with a conflict (0%)",
     "serve"},
    {"index-lag", "DURATION", "fault injection: global indexes lag by this time (0)", "serve"},
    {"ttl-lag", "DURATION", "fault injection: expired items are deleted this much later (0)",
     "serve"},
    {"rehearsal-seed", "N", "fault injection: seed of the random choices (1)", "serve"},
    {"stall-timeout", "DURATION",
     "close a connection whose request or unread response takes longer (60s); 0: never", "serve"},
    {"idle-exit", "DURATION", "exit after this time without sessions and requests (never)",
     "serve"},
    {"print-config", "", "print the settings and the source of each, and exit", "serve"},
    {"ready-fd", "N", "", "serve"},

    {"patience", "DURATION", "maximum time to wait for the lock (no limit)", "run"},
    {"patience", "DURATION", "maximum time to wait for the lock (0)", "acquire, convert"},
    {"no-wait", "", "do not wait", "run", false, false, "n, nb, nonblock"},
    {"no-wait", "", "do not wait", "acquire, convert"},
    {"wait", "SECONDS", "maximum time to wait for the lock, in seconds, as in 5 or 0.5", "run",
     false, false, "w, timeout"},
    {"shared", "", "lock in mode read", "run", false, false, "s"},
    {"exclusive", "", "lock as with --to edit, which is the default", "run", false, false, "x, e"},
    {"mode", "read|write|exclusive", "mode of the lock", "@locks"},
    {"mode", "read|write|exclusive", "new mode", "convert"},
    {"to", "read|edit", "purpose; the class of the resource determines the mode", "@locks"},
    {"subtree", "", "also lock everything below the resource", "@locks"},
    {"permits", "N", "number of permits, if the class has permits (1)", "@locks"},
    {"lease", "DURATION",
     "time until the lock expires if it is not renewed (from its class, or 30s)", "@locks"},
    {"lease", "DURATION", "new lease of the session", "renew"},
    {"lease", "DURATION", "lease of a new session (30s)", "steal"},
    {"active", "",
     "mark the session as active: the steal policy idle then protects its locks again", "renew"},
    {"allow", "",
     "allow the requested steal; if none was requested, release the lock for its waiters",
     "answer"},
    {"refuse", "",
     "refuse the requested steal until the --steal-after time of the class has passed", "answer"},
    {"principal", "NAME", "owner of the lock (the login name)", "@locks"},
    {"principal", "NAME", "owner of a new session (the login name)", "steal"},
    {"note", "TEXT", "note that other users see", "@locks", false, true},
    {"on-lost", "term|kill|ignore",
     "signal if the lock is lost: TERM, then KILL after 5s; KILL; or none (term)", "run"},
    {"on-death", "hold|kill",
     "if run itself is killed: hold the lock until the command and its descendants end, "
     "or kill them (hold)",
     "run"},
    {"wait-group", "",
     "hold the lock until all processes of the command's process group have ended", "run"},
    {"command", "COMMAND",
     "pass this text to $SHELL -c, or to /bin/sh -c, instead of a command after --", "run", false,
     false, "c"},
    {"E", "N", "exit status if another session holds the lock (75)", "run", false, false,
     "conflict-exit-code"},
    {"json-status", "FD", "write the events of the run to this file descriptor, as JSON", "run"},
    {"policy", "exclusive_write|exclusive_read|read_write",
     "policy that determines the modes of --to read and --to edit (exclusive_write)", "class put"},
    {"lease", "DURATION", "lease if the request does not give one (30s)", "class put"},
    {"max-lease", "DURATION", "maximum lease of a session that locks such a resource (0: no limit)",
     "class put"},
    {"max-hold", "DURATION", "maximum time of a grant, however often it is renewed (0: no limit)",
     "class put"},
    {"min-hold", "DURATION",
     "time after a grant during which a released resource cannot be locked again (0)", "class put"},
    {"lock-delay", "DURATION",
     "time after an expiry or a break during which the resource cannot be locked (0)", "class put"},
    {"steal", "never|idle|ask|anyone", "policy for stealing (never)", "class put"},
    {"steal-after", "DURATION",
     "for idle and ask: maximum time that a holder may be inactive, or take to answer",
     "class put"},
    {"dependant", "RESOURCE[:read|write]",
     "resource that is also locked if one of this class is edited (read); can be repeated",
     "class put"},
    {"queue-limit", "N", "maximum number of waiters of a resource (10000)", "class put"},
    {"permits", "N", "number of permits of each resource; 0: the resources have modes (0)",
     "class put"},
    {"drafts", "", "if a write is refused because its lock was lost, keep it as a draft (no)",
     "class put"},
    {"principal", "NAME", "only those of this principal", "ls, sessions"},
    {"principal", "NAME", "owner of the drafts (that of ROCKLOCK_SESSION, or the login name)",
     "drafts ls, drafts rm"},
    {"principal", "NAME", "all sessions of this principal", "session end"},
    {"uid", "UID", "all sessions that this user has opened; 4294967295: all over TCP",
     "session end"},
    {"class", "PATTERN", "only resources of the class with this pattern", "ls"},
    {"contended", "", "only resources that have waiters", "ls"},
    {"clients", "N", "number of concurrent clients (8)", "bench"},
    {"duration", "DURATION", "duration of the measurement (3s)", "bench"},
    {"same", "", "all clients use one lock instead of one each", "bench"},
    {"after", "N", "start after the event with this number; 0: with the oldest event that is kept",
     "watch"},
    {"interval", "DURATION", "time between refreshes (1s)", "top"},
    {"once", "", "print once", "top"},
    {"reason", "TEXT", "reason, for the audit log and for the holder", "break, steal, session end"},
    {"force", "",
     "steal immediately, even if the class does not allow it; requires administrator rights",
     "steal"},

    {"db", "DIR", "directory of the store", "serve"},
    {"socket", "PATH", "path of the socket to listen on", "serve"},
    {"socket", "PATH", "socket of the daemon", "@where, @socket, watch, status"},
    {"db", "DIR", "open this store without a daemon", "@where"},
    {"db", "DIR", "directory of the store (from the settings)", "@store"},
    {"no-start", "", "do not start a daemon if none is running", "@where, @socket, watch"},
    {"json", "", "print JSON, one object per line", "@json"},
    {"quiet", "", "do not print the holders of the lock or requests for it", "run"},
    {"quiet", "", "print no messages on success; omit the names of holders from errors", "@quiet"},
    {"no-color", "", "do not print titles in bold (as with NO_COLOR)", "@table"},
};

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const auto end = text.find(separator);
        parts.push_back(text.substr(0, end));
        text = end == std::string_view::npos ? "" : text.substr(end + separator.size());
    }
    return parts;
}

bool takes(const VerbRow& verb, const OptionRow& option) {
    const auto groups = split(verb.groups, ", ");
    const auto named = split(option.verbs, ", ");
    return std::any_of(named.begin(), named.end(), [&](std::string_view name) {
        return name == verb.name || std::find(groups.begin(), groups.end(), name) != groups.end();
    });
}

void count_operands(Verb& verb) {
    verb.empty_operands = verb.operands.starts_with('[');
    for (const auto operand : split(verb.operands, " ")) {
        if (operand == "--") {
            verb.takes_command = true;
            return;
        }
        if (!operand.starts_with('[')) ++verb.min_operands;
        if (operand.find("...") != std::string_view::npos) verb.max_operands = -1;
        if (verb.max_operands >= 0) ++verb.max_operands;
    }
}

VerbEntry entry_of(const VerbRow& row) {
    VerbEntry entry;
    entry.run = row.run;
    entry.verb.name = row.name;
    entry.verb.operands = row.operands;
    entry.verb.summary = row.summary;
    entry.verb.example = row.example;
    count_operands(entry.verb);
    for (const auto& option : option_rows) {
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
        for (const auto& entry : verb_table()) {
            if (entry.verb.name == name) return {&entry, count};
        }
    }
    return {};
}

}  // namespace rocklock
