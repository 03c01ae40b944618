#include "daemon/cli/verb_table.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "daemon/cli/verbs.hpp"

namespace rocklock {
namespace {

struct VerbRow {
    std::string_view name;
    // What follows the name. "[X]" may be left out, "X..." may be more than one, and behind "--"
    // stands a command. A shell offers what the words name: see completion.cpp.
    std::string_view operands;
    // The groups of options it takes, besides those that name it.
    std::string_view groups;
    int (*run)(const Arguments&);
    // Its first line stands in the overview. Empty: for the program's own use.
    std::string_view summary;
    std::string_view example;
};

struct OptionRow {
    // Without its dashes; one letter makes it "-E".
    std::string_view name;
    // What its value is called; empty for one without a value. "a|b" names all it can be.
    std::string_view value;
    // Empty: for the program's own use.
    std::string_view help;
    // Names of verbs, and of groups of theirs.
    std::string_view verbs;
    // Given again, it adds to what was given before, behind a comma. Else the last one counts.
    bool adds = false;
    // Whether its value may be empty; else that is refused, for whoever wrote "$UNSET".
    bool may_be_empty = false;
};

// The groups:
//   @where    asks a daemon, or a store that it opens itself
//   @socket   asks a daemon
//   @locks    takes locks for a session of its own
//   @waits    may wait for a lock
//   @json     prints JSON too
//   @quiet    says something on success that nobody may want
//   @store    goes to the files of a store, without a daemon
//   @table    prints a table, in colour on a terminal
constexpr VerbRow verb_rows[] = {
    {"serve", "", "", serve_verb, "Serves locks on a Unix socket until it gets SIGTERM or SIGINT.",
     "rocklock serve --db ./locks --socket ./locks.sock"},
    {"run", "RESOURCE... -- COMMAND [ARG...]", "@locks, @waits, @where", run_verb,
     "Locks, runs the command, releases, and passes on its exit status.\n"
     "75: the lock is not to be had; 76: it was lost and the command stopped.\n"
     "Names that begin with a dash stand between two: run -- -x -- ./report.sh",
     "rocklock run nightly-report -- ./report.sh"},
    {"acquire", "RESOURCE...", "@locks, @waits, @where, @json, @quiet", acquire_verb,
     "Locks, and prints the grant, its token and its session's secret as shell variables.",
     "eval \"$(rocklock acquire orders/42 --lease 10m)\""},
    {"renew", "GRANT", "@where, @json, @quiet", renew_verb,
     "Gives the session of a grant its full lease again (ROCKLOCK_SESSION).",
     "rocklock renew \"$ROCKLOCK_GRANT\""},
    {"release", "GRANT", "@where, @json, @quiet", release_verb,
     "Gives a grant back (ROCKLOCK_SESSION).", "rocklock release \"$ROCKLOCK_GRANT\""},
    {"convert", "GRANT", "@waits, @where, @json, @quiet", convert_verb,
     "Changes the mode of a grant (ROCKLOCK_SESSION).",
     "rocklock convert \"$ROCKLOCK_GRANT\" --mode read"},
    {"answer", "GRANT", "@where, @json, @quiet", answer_verb,
     "Answers those who ask to take a grant over, or wait for it (ROCKLOCK_SESSION).",
     "rocklock answer \"$ROCKLOCK_GRANT\" --allow"},
    {"ls", "[PREFIX]", "@where, @json, @table", list_verb, "Lists who holds what.",
     "rocklock ls orders/"},
    {"show", "RESOURCE", "@where, @json", show_verb,
     "Shows who holds a resource, who waits for it, and who had it last.",
     "rocklock show orders/42"},
    {"sessions", "", "@where, @json, @table", sessions_verb, "Lists the sessions.",
     "rocklock sessions"},
    {"session end", "[SESSION]", "@where, @json, @quiet", session_end_verb,
     "Ends another's session and all of its grants, or all sessions of a principal.\n"
     "For the daemon's own user, root and its --admin-group.",
     "rocklock session end --principal ann --reason \"ann has left\""},
    {"top", "[PREFIX]", "@where, @json, @table", top_verb,
     "Shows who holds what, the most wanted first, again and again; q leaves.\n"
     "Once with --once, and where there is no terminal, unless with --json.",
     "rocklock top orders/"},
    {"watch", "[PREFIX]", "@json", watch_verb,
     "Follows what happens to locks, until it is interrupted.", "rocklock watch orders/ --json"},
    {"history", "RESOURCE", "@where, @json, @table", history_verb,
     "Lists who has held a resource, and how it ended, newest first.",
     "rocklock history orders/42"},
    {"steal", "GRANT", "@where, @json, @quiet", steal_verb,
     "Takes another's grant away, as its class allows (ROCKLOCK_SESSION, or a new session).\n"
     "77: not allowed, or not yet; the message says when to try again.",
     "rocklock steal 3745123 --reason \"ann left for the day\""},
    {"break", "GRANT", "@where, @json, @quiet", break_verb,
     "Ends another's grant. For the daemon's own user, root and its --admin-group.",
     "rocklock break 3745123 --reason \"ann is on holiday\""},
    {"class put", "PATTERN", "@where, @json, @quiet", class_put_verb,
     "Makes a class of resources, or replaces the one with its pattern, as a whole.\n"
     "The element * of a pattern is any one element. For those who may break locks.",
     "rocklock class put 'orders/*' --lease 10m --steal anyone"},
    {"class ls", "", "@where, @json, @table", class_list_verb,
     "Lists the classes, the most specific first.", "rocklock class ls"},
    {"class rm", "PATTERN", "@where, @json, @quiet", class_remove_verb,
     "Removes a class. For those who may break locks.", "rocklock class rm 'orders/*'"},
    {"drafts ls", "", "@socket, @json, @table", drafts_list_verb,
     "Lists what was written too late for its lock and kept, oldest first.\n"
     "One's own with ROCKLOCK_SESSION; anybody's for those who may break locks.",
     "rocklock drafts ls --json"},
    {"drafts rm", "DRAFT", "@socket, @json, @quiet", drafts_remove_verb,
     "Throws a draft away. For the same.", "rocklock drafts rm 3745123"},
    {"db check", "", "@store, @json", db_check_verb,
     "Reads every byte of a store that nobody has open, and says what is wrong with it.\n"
     "70: it is damaged.",
     "rocklock db check --db ./locks"},
    {"db stats", "", "@store, @json", db_stats_verb, "Counts what is in a store.",
     "rocklock db stats"},
    {"db backup", "DIR", "@where, @json, @quiet", db_backup_verb,
     "Copies the store, as of one moment, into a new directory, while everything goes on.\n"
     "For those who may break locks.",
     "rocklock db backup /var/backups/locks-1"},
    {"db restore", "DIR", "@store, @json, @quiet", db_restore_verb,
     "Puts a backup where a store is to be: a directory that is new or empty.\n"
     "Whoever opens it first ends the sessions and grants of the backup.",
     "rocklock db restore /var/backups/locks-1 --db ./locks"},
    {"bench", "", "@where, @json, @table", bench_verb,
     "Measures how many locks a second are given and taken back, on names of its own.",
     "rocklock bench --clients 64 --duration 5s"},
    {"completion", "bash|zsh|fish", "", completion_verb,
     "Prints what makes a shell complete the words of rocklock.",
     "eval \"$(rocklock completion bash)\""},
    {"version", "", "@json", version_verb, "Prints the version.", "rocklock version"},
    {"complete-words", "-- WORD...", "", complete_words_verb, "", ""},
    {"man-page", "", "", man_page_verb, "", ""},
};

// In the order in which a verb's help shows them.
constexpr OptionRow option_rows[] = {
    {"durability", "durable|written", "grants are synced to disk; or only to the system", "serve"},
    {"memory", "", "keep nothing on disk", "serve"},
    {"http", "HOST:PORT", "listen there too; loopback only, more than once if wanted", "serve",
     true},
    {"admin-group", "GROUP", "its members may reach the socket, and administer", "serve"},
    {"max-connections", "N", "more are refused with 503 (20000)", "serve"},
    {"memory-share", "PERCENT", "the daemon's share of the memory, for limits of users (50%)",
     "serve"},
    {"max-user-sessions", "N|auto", "sessions of one user; 0: any number (auto: by memory)",
     "serve"},
    {"max-user-grants", "N|auto", "grants of one user, and requests that wait (auto)", "serve"},
    {"max-user-waiters", "N|auto", "requests of one user that wait (auto)", "serve"},
    {"max-user-lock-bytes", "N|auto", "memory of all of these, in bytes (auto)", "serve"},
    {"max-user-connections", "N|auto", "connections of one user (auto: three quarters of all)",
     "serve"},
    {"max-user-drafts", "N|auto", "drafts of one user (auto)", "serve"},
    {"max-user-table-bytes", "N|auto", "bytes of one user's tables and drafts (auto)", "serve"},
    {"allow-shared-store", "", "serve a store although others can enter its directory", "serve"},
    {"slow-wait", "DURATION", "tell of waits that last so long (5s); 0: of none", "serve"},
    {"log-format", "text|logfmt|json", "how it tells what happens, on stderr (text)", "serve"},
    {"log-level", "debug|info|warning|error", "what it tells (info)", "serve"},
    {"sweep-period", "DURATION", "the time between sweeps for expired items (10s)", "serve"},
    {"region", "NAME", "the region in the ARNs of tables (local)", "serve"},
    {"throttle", "PERCENT", "rehearsal: throttle so many requests for items (0%)", "serve"},
    {"conflict", "PERCENT", "rehearsal: so many writes of items are in conflict (0%)", "serve"},
    {"index-lag", "DURATION", "rehearsal: global indexes answer as of so long ago (0)", "serve"},
    {"ttl-lag", "DURATION", "rehearsal: expired items stay so much longer (0)", "serve"},
    {"rehearsal-seed", "N", "rehearsal: what is drawn (1)", "serve"},
    {"idle-exit", "DURATION", "leave after so long without session and request (never)", "serve"},
    {"print-config", "", "print the settings and where each comes from, and leave", "serve"},
    {"ready-fd", "N", "", "serve"},

    {"patience", "DURATION", "how long to wait for the lock (forever)", "run"},
    {"patience", "DURATION", "how long to wait for the lock (0)", "acquire, convert"},
    {"no-wait", "", "do not wait", "@waits"},
    {"mode", "read|write|exclusive", "the mode to lock in", "@locks"},
    {"mode", "read|write|exclusive", "the new mode", "convert"},
    {"to", "read|edit", "what for: the class of the resource says which mode that takes", "@locks"},
    {"subtree", "", "everything below the resource too", "@locks"},
    {"permits", "N", "how many, of a class that counts permits (1)", "@locks"},
    {"lease", "DURATION", "how long the lock lives without renewal (as its class says, or 30s)",
     "@locks"},
    {"lease", "DURATION", "a new lease from now on", "renew"},
    {"lease", "DURATION", "the lease of a new session (30s)", "steal"},
    {"active", "", "a person is at it: not to be stolen as idle", "renew"},
    {"allow", "", "whoever asked may steal it; if nobody did, it goes to those who wait", "answer"},
    {"refuse", "", "whoever asked may not steal it, for as long as its class says", "answer"},
    {"principal", "NAME", "for whom (the login name)", "@locks"},
    {"principal", "NAME", "for whom a new session is (the login name)", "steal"},
    {"note", "TEXT", "shown to others", "@locks", false, true},
    {"on-lost", "term|kill|ignore", "when the lock is lost: TERM, then KILL after 5s; or KILL",
     "run"},
    {"wait-group", "", "hold the lock until all that the command started has ended", "run"},
    {"E", "N", "exit status when the lock is not to be had (75)", "run"},
    {"json-status", "FD", "tell on this descriptor what happened, as JSON", "run"},
    {"policy", "exclusive_write|exclusive_read|read_write",
     "which modes --to read and --to edit take (exclusive_write)", "class put"},
    {"lease", "DURATION", "the lease where none is asked for (30s)", "class put"},
    {"max-lease", "DURATION", "the longest lease a session may have to lock here (0: any)",
     "class put"},
    {"max-hold", "DURATION", "a grant ends after so long, however often renewed (0: never)",
     "class put"},
    {"min-hold", "DURATION", "a released lock is not granted again before (0)", "class put"},
    {"lock-delay", "DURATION", "a lock that expired or was broken stays closed for (0)",
     "class put"},
    {"steal", "never|idle|ask|anyone", "who may steal, and when (never)", "class put"},
    {"steal-after", "DURATION", "of the idle, or of those who were asked and said nothing",
     "class put"},
    {"dependant", "RESOURCE[:read|write]",
     "locked along with what is edited, in that mode (read); may be given again", "class put"},
    {"queue-limit", "N", "how many may wait for one resource (10000)", "class put"},
    {"permits", "N", "makes it a class of so many permits, without modes (0)", "class put"},
    {"drafts", "", "keep what comes too late for its lock as a draft (no)", "class put"},
    {"principal", "NAME", "only what is theirs", "ls, sessions"},
    {"principal", "NAME", "whose (of ROCKLOCK_SESSION, else the login name)",
     "drafts ls, drafts rm"},
    {"principal", "NAME", "all sessions of this principal", "session end"},
    {"class", "PATTERN", "only resources of the class with this pattern", "ls"},
    {"contended", "", "only what somebody waits for", "ls"},
    {"clients", "N", "how many at once (8)", "bench"},
    {"duration", "DURATION", "for how long (3s)", "bench"},
    {"same", "", "all want one lock, instead of each its own", "bench"},
    {"after", "N", "from behind this event on; 0: from the oldest kept", "watch"},
    {"interval", "DURATION", "how often to look (1s)", "top"},
    {"once", "", "look once", "top"},
    {"reason", "TEXT", "why, for the record and for its holder", "break, steal, session end"},
    {"force", "", "at once, whatever the class says; for those who may break locks", "steal"},

    {"db", "DIR", "where the store lies (a directory of its own)", "serve"},
    {"socket", "PATH", "where to listen", "serve"},
    {"socket", "PATH", "the daemon to talk to", "@where, @socket, watch"},
    {"db", "DIR", "open this store without a daemon", "@where"},
    {"db", "DIR", "the store (the one that the settings name)", "@store"},
    {"no-start", "", "do not start a daemon where none listens", "@where, @socket, watch"},
    {"json", "", "JSON, one object a line", "@json"},
    {"quiet", "", "say neither who is in the way nor who asks for the lock", "run"},
    {"quiet", "", "say nothing but what was asked for, and errors, which name nobody", "@quiet"},
    {"no-color", "", "no colour (as with NO_COLOR)", "@table"},
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
        if (!operand.starts_with('[')) ++verb.fewest;
        if (operand.find("...") != std::string_view::npos) verb.most = -1;
        if (verb.most >= 0) ++verb.most;
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
            entry.verb.options.push_back(
                {option.name, option.value, option.help, option.adds, option.may_be_empty});
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
