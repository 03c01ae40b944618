#include "daemon/program.hpp"

#include <cstdio>
#include <string_view>

#include "daemon/arguments.hpp"
#include "daemon/exit_status.hpp"
#include "daemon/messages.hpp"
#include "daemon/verbs.hpp"

namespace rocklock {
namespace {

struct Entry {
    Verb verb;
    int (*run)(const Arguments&);
};

std::vector<Option> operator+(std::vector<Option> left, const std::vector<Option>& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

const std::vector<Option> where = {
    {"socket", "PATH", "the daemon to talk to"},
    {"db", "DIR", "open this store without a daemon"},
    {"no-start", "", "do not start a daemon where none listens"},
};
const std::vector<Option> output = {
    {"json", "", "one JSON object a line"},
    {"quiet", "", "say nothing but what was asked for, and errors"},
    {"no-color", "", "no colour (as with NO_COLOR)"},
};
const std::vector<Option> how_to_lock = {
    {"mode", "MODE", "read, write or exclusive"},
    {"to", "INTENT", "read or edit: the class of the resource says which mode that takes"},
    {"subtree", "", "everything below the resource too"},
    {"lease", "DURATION", "how long the lock lives without renewal (30s)"},
    {"principal", "NAME", "for whom (the login name)"},
    {"note", "TEXT", "shown to others"},
};

// The daemon, and what takes locks.
std::vector<Entry> first_entries() {
    return {
        {{"serve", "", "Serves locks on a Unix socket until it gets SIGTERM or SIGINT.",
          "rocklock serve --db ./locks --socket ./locks.sock",
          std::vector<Option>{
              {"db", "DIR", "where the store lies (a directory of its own)"},
              {"socket", "PATH", "where to listen"},
              {"http", "HOST:PORT", "listen there too; loopback only, more than once if wanted",
               true},
              {"memory", "", "keep nothing on disk"},
              {"durability", "WHICH", "durable: grants are synced to disk; written: to the system"},
              {"idle-exit", "DURATION", "leave after so long without session and request (never)"},
              {"admin-group", "GROUP", "its members may reach the socket, and administer"},
              {"max-connections", "N", "more are refused with 503 (20000)"},
              {"log-format", "FORMAT", "text, logfmt or json (text)"},
              {"log-level", "LEVEL", "debug, info, warning or error (info)"},
              {"print-config", "", "print the settings and where each comes from, and leave"},
              {"ready-fd", "N", ""},
          }},
         serve_verb},
        {{"run", "RESOURCE... -- COMMAND [ARG...]",
          "Locks, runs the command, releases, and passes on its exit status.\n"
          "75: the lock is not to be had; 76: it was lost and the command stopped.",
          "rocklock run nightly-report -- ./report.sh",
          std::vector<Option>{
              {"patience", "DURATION", "how long to wait for the lock (forever)"},
              {"no-wait", "", "do not wait"},
          } + how_to_lock +
              std::vector<Option>{
                  {"on-lost", "ACTION", "term (then KILL after 5s), kill or ignore"},
                  {"wait-group", "", "hold the lock until all that the command started has ended"},
                  {"E", "N", "exit status when the lock is not to be had (75)"},
                  {"json-status", "FD", "tell on this descriptor what happened, as JSON"},
              } +
              where +
              std::vector<Option>{{"quiet", "", "say nothing while waiting"},
                                  {"no-color", "", "no colour (as with NO_COLOR)"}},
          1, -1, true},
         run_verb},
        {{"acquire", "RESOURCE...",
          "Locks, and prints the grant, its token and its session's secret as shell variables.",
          "eval \"$(rocklock acquire orders/42 --lease 10m)\"",
          std::vector<Option>{
              {"patience", "DURATION", "how long to wait for the lock (0)"},
              {"no-wait", "", "do not wait"},
          } + how_to_lock +
              where + output,
          1, -1},
         acquire_verb},
    };
}

// What is done with locks that are held.
std::vector<Entry> later_entries() {
    return {
        {{"renew", "GRANT", "Gives the session of a grant its full lease again (ROCKLOCK_SESSION).",
          "rocklock renew \"$ROCKLOCK_GRANT\"",
          std::vector<Option>{{"lease", "DURATION", "a new lease from now on"},
                              {"active", "", "a person is at it: not to be stolen as idle"}} +
              where + output,
          1, 1},
         renew_verb},
        {{"release", "GRANT", "Gives a grant back (ROCKLOCK_SESSION).",
          "rocklock release \"$ROCKLOCK_GRANT\"", where + output, 1, 1},
         release_verb},
        {{"convert", "GRANT", "Changes the mode of a grant (ROCKLOCK_SESSION).",
          "rocklock convert \"$ROCKLOCK_GRANT\" --mode read",
          std::vector<Option>{{"mode", "MODE", "read, write or exclusive"},
                              {"patience", "DURATION", "how long to wait for it (0)"},
                              {"no-wait", "", "do not wait"}} +
              where + output,
          1, 1},
         convert_verb},
        {{"ls", "[PREFIX]", "Lists who holds what.", "rocklock ls orders/", where + output, 0, 1},
         list_verb},
        {{"show", "RESOURCE", "Shows who holds a resource, who waits for it, and who had it last.",
          "rocklock show orders/42", where + output, 1, 1},
         show_verb},
        {{"sessions", "", "Lists the sessions.", "rocklock sessions", where + output, 0, 0},
         sessions_verb},
        {{"steal", "GRANT",
          "Takes another's grant away, as its class allows (ROCKLOCK_SESSION, or a new session).\n"
          "77: not allowed, or not yet; the message says when to try again.",
          "rocklock steal 3745123 --reason \"ann left for the day\"",
          std::vector<Option>{
              {"reason", "TEXT", "why, for the record and for its holder"},
              {"force", "", "at once, whatever the class says; for the daemon's own user and root"},
              {"principal", "NAME", "for whom a new session is (the login name)"},
              {"lease", "DURATION", "the lease of a new session (30s)"},
          } + where +
              output,
          1, 1},
         steal_verb},
        {{"break", "GRANT", "Ends another's grant. For the daemon's own user and root.",
          "rocklock break 3745123 --reason \"ann is on holiday\"",
          std::vector<Option>{{"reason", "TEXT", "why, for the record and for its holder"}} +
              where + output,
          1, 1},
         break_verb},
        {{"version", "", "Prints the version.", "rocklock version",
          std::vector<Option>{{"json", "", "as a JSON object"}}, 0, 0},
         version_verb},
    };
}

const std::vector<Entry>& entries() {
    static const std::vector<Entry> all = [] {
        auto entries = first_entries();
        const auto later = later_entries();
        entries.insert(entries.end(), later.begin(), later.end());
        return entries;
    }();
    return all;
}

std::string overview() {
    std::string text =
        "rocklock VERB [OPTION...]\n\n"
        "Locks for work that takes longer than a transaction.\n\n";
    for (const auto& [verb, run] : entries()) {
        const std::string name(verb.name);
        const auto summary = verb.summary.substr(0, verb.summary.find('\n'));
        text += "  " + name + std::string(10 - name.size(), ' ') + std::string(summary) + "\n";
    }
    text +=
        "\n`rocklock VERB --help` tells the options of a verb.\n\n"
        "Example:\n  rocklock run nightly-report -- ./report.sh\n";
    return text;
}

}  // namespace

int run_program(const std::vector<std::string>& words) {
    if (words.empty() || words.front() == "--help" || words.front() == "-h" ||
        words.front() == "help") {
        const auto text = overview();
        std::fputs(text.c_str(), words.empty() ? stderr : stdout);
        return words.empty() ? exit_status::usage : exit_status::done;
    }
    const std::string name = words.front() == "--version" ? "version" : words.front();
    for (const auto& [verb, run] : entries()) {
        if (verb.name != name) continue;
        const auto arguments = parse_arguments(verb, {words.begin() + 1, words.end()});
        if (!arguments) return fail(arguments.error());
        if (arguments->help) {
            std::fputs(help_text(verb).c_str(), stdout);
            return exit_status::done;
        }
        return run(*arguments);
    }
    complain("there is no verb '" + printable(name) + "'; `rocklock --help` lists them");
    return exit_status::usage;
}

}  // namespace rocklock
