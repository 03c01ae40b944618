#include "daemon/cli/verb_table.hpp"

#include <algorithm>
#include <array>
#include <utility>

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

struct OptionRow {
    // Without the dashes. A name of one letter is a short option ("-E").
    std::string_view name;
    // The name of the value; empty if the option has no value. "a|b" lists all allowed values.
    std::string_view value;
    // Empty for an internal option, which the help does not list.
    std::string_view help;
    // The verbs and the groups of verbs that accept the option.
    std::string_view verbs;
    // Determines the value of a repeated option. If true, all values are joined with commas. If
    // false, the last value applies.
    bool adds = false;
    // If false, an empty value is an error. An example is the value "$NAME" if the shell variable
    // NAME is not set.
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
     "Opens a session without a grant and prints its secret as a shell variable.",
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
     "A notice reports that another session wants a lock of this session, that this\n"
     "session has lost a lock, or how another session answered a request to take over\n"
     "its grant.",
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
     "With --once, prints the locks once. If the output is not a terminal, also prints\n"
     "them once, unless you give --json.\n"
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
     "A class has the settings of all resources whose names match its pattern. A * in\n"
     "the pattern matches one part of a name, between slashes. Therefore, orders/*\n"
     "does not match orders/1/2. If the class exists, options that you omit are reset\n"
     "to their defaults. Requires administrator rights.",
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
     "of the resource, in which key attributes of the item are written in braces.\n"
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
     "Restores a backup into a new or empty directory.\n"
     "The first open of the restored store ends the sessions and grants of the backup.",
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

// In the order in which the help of a verb lists them.
constexpr OptionRow option_rows[] = {
    {"durability", "durable|written",
     "durable: sync each change to the disk; written: let the kernel write changes to the disk "
     "later (default: durable)",
     "serve"},
    {"memory", "", "keep the store in memory, without files", "serve"},
    {"http", "HOST:PORT", "also listen on this TCP address; loopback only; can be repeated",
     "serve", true},
    {"admin-group", "GROUP", "members of this group can connect and are administrators", "serve"},
    {"principal-from-uid", "off|require|prefix",
     "off: a client can use any name as principal; require: a client can use only its user name; "
     "prefix: the daemon puts USER/ before the name (default: off)",
     "serve"},
    {"max-connections", "N",
     "maximum connections; further connections are refused with HTTP status 503 (default: 20000)",
     "serve"},
    {"memory-share", "PERCENT",
     "share of the memory that determines the auto limits of users (default: 50%)", "serve"},
    {"max-user-sessions", "N|auto", "maximum sessions of a user (default: auto)", "serve"},
    {"max-user-grants", "N|auto",
     "maximum total of grants and waiting requests of a user (default: auto)", "serve"},
    {"max-user-waiters", "N|auto", "maximum waiting requests of a user (default: auto)", "serve"},
    {"max-user-lock-bytes", "N|auto",
     "maximum bytes of sessions, grants and waiting requests of a user (default: auto)", "serve"},
    {"max-user-connections", "N|auto",
     "maximum connections of a user (default: auto, three quarters of --max-connections)", "serve"},
    {"max-user-buffer-bytes", "N|auto",
     "maximum bytes of incomplete requests and unread responses of a user (default: auto)",
     "serve"},
    {"max-user-drafts", "N|auto", "maximum drafts of a user (default: auto)", "serve"},
    {"max-user-table-bytes", "N|auto",
     "maximum bytes of the tables and drafts of a user (default: auto)", "serve"},
    {"allow-shared-store", "", "serve a store even if other users can enter its directory",
     "serve"},
    {"slow-wait", "DURATION", "log lock waits of more than this time; 0: none (default: 5s)",
     "serve"},
    {"reserve-bytes", "N",
     "bytes of disk space to reserve for releases and renewals; 0: none (default: 64000000)",
     "serve"},
    {"log-format", "text|logfmt|json", "format of the log (default: text)", "serve"},
    {"log-level", "debug|info|warning|error", "lowest level that is logged (default: info)",
     "serve"},
    {"log-file", "PATH", "write the log and all other output to this file", "serve"},
    {"max-log-bytes", "N",
     "rename the log file to PATH.1 when it has this number of bytes (default: 10000000)", "serve"},
    {"history-age", "DURATION", "keep ended grants and sessions for this time (default: 24h)",
     "serve"},
    {"max-history-records", "N",
     "keep at most this number of ended grants, and of ended sessions (default: 1000000)", "serve"},
    {"draft-age", "DURATION", "keep drafts for this time (default: 30d)", "serve"},
    {"max-principal-drafts", "N", "maximum drafts of a principal, up to 1000 (default: 1000)",
     "serve"},
    {"audit-age", "DURATION",
     "keep rows of the audit log for this time; 0: keep them permanently (default: 0)", "serve"},
    {"max-audit-rows", "N", "maximum rows of the audit log; 0: no limit (default: 0)", "serve"},
    {"sweep-period", "DURATION", "time between sweeps for expired items (default: 10s)", "serve"},
    {"region", "NAME", "region in the ARNs of tables (default: local)", "serve"},
    {"throttle", "PERCENT",
     "fault injection: share of item requests that are throttled (default: 0%)", "serve"},
    {"conflict", "PERCENT",
     "fault injection: share of item writes that fail with a conflict (default: 0%)", "serve"},
    {"index-lag", "DURATION",
     "fault injection: delay of the updates of global indexes (default: 0)", "serve"},
    {"ttl-lag", "DURATION", "fault injection: delay of the deletion of expired items (default: 0)",
     "serve"},
    {"rehearsal-seed", "N", "fault injection: seed of the random choices (default: 1)", "serve"},
    {"stall-timeout", "DURATION",
     "close a connection if its client needs longer than this time, plus 1 s for each 16 KB, to "
     "send a request or to read a response; 0: no limit (default: 60s)",
     "serve"},
    {"idle-exit", "DURATION",
     "exit after this time with neither sessions nor requests (default: never)", "serve"},
    {"print-config", "", "print each setting with its source, and exit", "serve"},
    {"ready-fd", "N", "", "serve"},

    {"patience", "DURATION", "maximum time to wait for the lock (default: no limit)", "run"},
    {"patience", "DURATION", "maximum time to wait for the lock (default: 0)", "acquire, convert"},
    {"patience", "DURATION", "maximum time to wait for a notice (default: 0)", "notices"},
    {"no-wait", "", "do not wait", "run", false, false, "n, nb, nonblock"},
    {"no-wait", "", "do not wait", "acquire, convert, notices"},
    {"wait", "SECONDS", "maximum time to wait for the lock, in seconds, as in 5 or 0.5", "run",
     false, false, "w, timeout"},
    {"shared", "", "lock in mode read", "run", false, false, "s"},
    {"exclusive", "", "lock as with --to edit (the default)", "run", false, false, "x, e"},
    {"mode", "read|write|exclusive",
     "mode of the lock; if you give several, as in write,read: the first mode that can be granted "
     "immediately, otherwise the last mode",
     "@locks"},
    {"mode", "read|write|exclusive",
     "new mode of all resources of the grant; required unless you give --lock", "convert"},
    {"lock", "RESOURCE:MODE",
     "also lock this resource; MODE is read, write, exclusive, edit or a number of permits; can be "
     "repeated",
     "@locks", true},
    {"lock", "RESOURCE:MODE", "new mode of only this resource of the grant; can be repeated",
     "convert", true},
    {"to", "read|edit",
     "purpose of the lock, for which the policy of the class determines the mode; read fails if "
     "the policy is exclusive_write, which has no locks for reading (default: edit)",
     "@locks"},
    {"any", "", "lock only one of the resources: the first that is free or becomes free", "@locks"},
    {"priority", "N",
     "wait as if the request had arrived N times 10s earlier; N is at most the --max-priority of "
     "the class (default: 0)",
     "@locks"},
    {"subtree", "", "also lock all resources below the named resources", "@locks"},
    {"permits", "N", "number of permits, if the class of the resources has permits (default: 1)",
     "@locks"},
    {"lease", "DURATION",
     "time until the lock expires if it is not renewed (default: the lease of its class, or 30s)",
     "run"},
    {"lease", "DURATION|none",
     "time until the lock expires if it is not renewed (default: the lease of its class, or 30s); "
     "none: the lock never expires; its class must have --no-expiry",
     "acquire"},
    {"lease", "DURATION", "new lease of the session", "renew"},
    {"lease", "DURATION|none",
     "lease of a new session; none: the session never expires (default: 30s)",
     "steal, reacquire, session open"},
    {"max-hold", "DURATION", "end the lock after this time, even if it is renewed", "@locks"},
    {"min-hold", "DURATION",
     "if the lock is released before this time has passed since the grant, its resources cannot be "
     "locked again until then",
     "@locks"},
    {"in-session", "", "acquire for ROCKLOCK_SESSION instead of a new session", "acquire"},
    {"held", "refuse|join|count",
     "action with --in-session if the session already holds the lock; refuse: fail; join: return "
     "the existing grant; count: return the existing grant, which then requires one more release "
     "(default: refuse)",
     "acquire"},
    {"for-process", "PID", "end the session when this process has ended", "acquire, session open"},
    {"for-process", "PID", "the process to add", "session join"},
    {"active", "", "mark the session as active, which delays a steal if the class has --steal idle",
     "renew"},
    {"allow", "",
     "allow the requested steal; if no steal was requested, but a request waits for the lock, "
     "release the grant",
     "answer"},
    {"refuse", "", "refuse steals of the grant for the --steal-after time of the class", "answer"},
    {"principal", "NAME", "owner of the lock (default: the login name)", "@locks"},
    {"principal", "NAME", "owner of a new session (default: the login name)",
     "steal, reacquire, session open"},
    {"note", "TEXT", "note that other users see", "@locks, session open", false, true},
    {"note", "TEXT", "new note of the session", "renew", false, true},
    {"metadata", "KEY=VALUE", "metadata that other users see; can be repeated",
     "@locks, session open", true},
    {"metadata", "KEY=VALUE",
     "new metadata of the session, replacing all previous metadata; can be repeated", "renew",
     true},
    {"on-lost", "term|kill|ignore",
     "signal to the command if the lock is lost; term: TERM, and KILL after 5s; kill: KILL; "
     "ignore: no signal (default: term)",
     "run"},
    {"on-death", "hold|kill",
     "action if run itself is killed; hold: keep the lock until the command and its descendants "
     "have ended; kill: kill the command and its descendants (default: hold)",
     "run"},
    {"wait-group", "",
     "hold the lock until all processes of the command's process group have ended", "run"},
    {"command", "COMMAND",
     "pass this text to $SHELL -c, or to /bin/sh -c, instead of a command after --", "run", false,
     false, "c"},
    {"E", "N", "exit status if the lock is not granted (default: 75)", "run", false, false,
     "conflict-exit-code"},
    {"json-status", "FD",
     "write events, such as the grant and the exit, to this file descriptor, as JSON", "run"},
    {"policy", "exclusive_write|exclusive_read|read_write",
     "policy, which determines the modes of --to read and --to edit (default: exclusive_write)",
     "class put"},
    {"lease", "DURATION",
     "lease that run and acquire use if they are called without --lease; at most --max-lease "
     "(default: 30s)",
     "class put"},
    {"max-lease", "DURATION",
     "maximum lease of a session that locks a resource of the class (default: 0, no limit)",
     "class put"},
    {"max-hold", "DURATION",
     "time after which a grant ends even if it is renewed (default: 0, no limit)", "class put"},
    {"min-hold", "DURATION",
     "if a lock is released before this time has passed since its grant, the resource cannot be "
     "locked again until then (default: 0)",
     "class put"},
    {"lock-delay", "DURATION",
     "time after an expiry or a break during which the resource cannot be locked (default: 0)",
     "class put"},
    {"steal", "never|idle|ask|anyone",
     "when other sessions can steal a lock; never: only administrators can; idle: if the holder "
     "has been inactive for --steal-after; ask: if the holder allows it or does not answer for "
     "--steal-after; anyone: at any time (default: never)",
     "class put"},
    {"steal-after", "DURATION",
     "time for --steal idle and --steal ask; required with idle and with ask, refused with never "
     "and anyone",
     "class put"},
    {"dependant", "RESOURCE[:read|write]",
     "lock this resource as well if a resource of the class is locked in write or exclusive; can "
     "be repeated (default mode: read)",
     "class put"},
    {"queue-limit", "N", "maximum number of waiters of a resource (default: 10000)", "class put"},
    {"permits", "N", "number of permits of each resource; 0: the resources have modes (default: 0)",
     "class put"},
    {"max-priority", "N", "highest --priority that a request can have, up to 100 (default: 0)",
     "class put"},
    {"drafts", "",
     "if a write is refused because its lock was lost, keep the write as a draft (default: no)",
     "class put"},
    {"no-expiry", "",
     "let sessions opened with --lease none lock the resources, without expiry (default: no)",
     "class put"},
    {"steal-by", "NAME",
     "user:NAME or group:NAME; only these users and groups, and administrators, can steal locks; "
     "--steal determines when (default: all users); can be repeated",
     "class put", true},
    {"break-by", "NAME",
     "user:NAME or group:NAME that can break locks, in addition to administrators (default: none); "
     "can be repeated",
     "class put", true},
    {"bind-by", "NAME",
     "user:NAME or group:NAME that can bind tables to the resources, in addition to administrators "
     "(default: none); can be repeated",
     "class put", true},
    {"principal", "NAME", "list only the locks or sessions of this principal", "ls, sessions"},
    {"principal", "NAME",
     "owner of the drafts (default: the owner of ROCKLOCK_SESSION, or the login name)",
     "drafts ls, drafts take, drafts rm"},
    {"principal", "NAME", "end all sessions of this principal", "session end"},
    {"uid", "UID",
     "end all sessions of the user with this number; 4294967295: all sessions of TCP clients",
     "session end"},
    {"class", "PATTERN", "list only resources of the class with this pattern", "ls"},
    {"contended", "", "list only resources that have waiters", "ls"},
    {"clients", "N", "number of concurrent clients (default: 8)", "bench"},
    {"duration", "DURATION", "duration of the measurement (default: 3s)", "bench"},
    {"same", "", "use one resource for all clients, instead of one for each", "bench"},
    {"after", "N",
     "start after the event with this number; 0: start with the oldest event that is kept",
     "watch"},
    {"after", "N", "confirm the notices up to this number, and print only later notices",
     "notices"},
    {"after", "N", "start after the row with this sequence number (default: 0)", "audit"},
    {"export", "FILE", "write the rows to this file, one JSON object per line", "audit"},
    {"trim", "",
     "delete the exported rows from the log; FILE must be new; requires administrator rights",
     "audit"},
    {"limit", "N", "maximum number of grants, and of resources, up to 1000 (default: 10)",
     "outliers"},
    {"strict", "",
     "also require the lock for plain reads if the class has the policy exclusive_read",
     "table bind"},
    {"interval", "DURATION", "time between refreshes (default: 1s)", "top"},
    {"once", "", "print the locks once and exit", "top"},
    {"reason", "TEXT", "reason, for the audit log and for the owner of the session; required",
     "break, steal, session end"},
    {"reason", "TEXT", "reason, for refused requests and for the audit log", "class drain"},
    {"force", "",
     "steal immediately, even if the class has --steal idle or ask; requires administrator rights",
     "steal"},

    {"db", "DIR", "directory of the store", "serve"},
    {"socket", "PATH", "path of the socket to listen on", "serve"},
    {"socket", "PATH", "socket of the daemon", "@where, @socket, watch, status"},
    {"db", "DIR", "open this store in this process, without a daemon", "@where"},
    {"db", "DIR", "directory of the store (default: the one that `serve` would use)",
     "db check, db stats"},
    {"db", "DIR", "directory of the new store (default: the one that `serve` would use)",
     "db restore"},
    {"no-start", "", "do not start a daemon if none is running", "@where, @socket, watch"},
    {"start", "", "start the private daemon of this user if it is the manager and is not running",
     "status"},
    {"json", "", "print JSON, one object per line", "@json"},
    {"quiet", "", "do not print holders, requests to take over the lock, or other remarks", "run"},
    {"quiet", "",
     "do not print confirmations, remarks or names of holders; still print shell variables and "
     "JSON",
     "@quiet"},
    {"no-color", "", "do not print titles in bold; NO_COLOR in the environment has the same effect",
     "@table"},
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
    if (row.groups.find("@locks") != std::string_view::npos) entry.verb.operand_option = "lock";
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
