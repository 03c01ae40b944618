// The internal verb man-page, which prints the manual page rocklock(1). The page is generated from
// the table of verbs and options.
#include <string>
#include <utility>

#include <rocklock/version.hpp>

#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/settings.hpp"
#include "daemon/cli/verb_table.hpp"
#include "daemon/cli/verbs.hpp"

namespace rocklock {
namespace {

// Escapes text for troff, so that hyphens are printed as minus signs and no line of the text is
// interpreted as a request of troff.
std::string roff_escaped(std::string_view text) {
    std::string shown;
    for (const char letter : text) {
        const bool starts_line = shown.empty() || shown.back() == '\n';
        if (starts_line && (letter == '.' || letter == '\'')) shown += "\\&";
        switch (letter) {
            case '\\':
                shown += "\\e";
                break;
            case '-':
                shown += "\\-";
                break;
            case '"':
                shown += "\\(dq";
                break;
            default:
                shown += letter;
        }
    }
    return shown;
}

std::string bold(std::string_view text) { return "\\fB" + roff_escaped(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff_escaped(text) + "\\fR"; }

std::string synopsis(const Verb& verb) {
    std::string text = bold("rocklock " + std::string(verb.name));
    if (!verb.options.empty()) text += " [" + italic("OPTION") + "...]";
    if (!verb.operands.empty()) text += " " + roff_escaped(verb.operands);
    return text;
}

std::string section_of(const Verb& verb) {
    std::string text = ".SS " + roff_escaped(verb.name) + "\n" + synopsis(verb) + "\n.PP\n" +
                       roff_escaped(verb.summary) + "\n";
    for (const auto& option : verb.options) {
        if (option.help.empty()) continue;
        std::string names;
        for (const auto& name : names_of(option)) names += (names.empty() ? "" : ", ") + bold(name);
        text += ".TP\n" + names;
        if (!option.value.empty()) text += " " + italic(option.value);
        text += "\n" + roff_escaped(option.help) + "\n";
    }
    return text + ".PP\n.EX\n" + roff_escaped(verb.example) + "\n.EE\n";
}

struct Entry {
    std::string_view name;
    std::string_view text;
};

std::string list(std::string_view title, std::initializer_list<Entry> entries) {
    std::string text = ".SH " + std::string(title) + "\n";
    for (const auto& [name, meaning] : entries) {
        text += ".TP\n" + bold(name) + "\n" + roff_escaped(meaning) + "\n";
    }
    return text;
}

std::string closing_sections() {
    std::string variables;
    for (const auto& name : setting_variables()) {
        variables += (variables.empty() ? "" : ", ") + name;
    }
    return list("EXIT STATUS",
                {{"0", "The verb succeeded."},
                 {"64", "The command line, a setting or the request is invalid."},
                 {"69", "The daemon cannot be reached."},
                 {"70", "The storage failed or is damaged, or the output could not be written."},
                 {"75",
                  "Another session holds the lock, or the wait timeout has expired. Try again "
                  "later."},
                 {"76", "The lock was lost, has already ended, or is unknown."},
                 {"77", "The request is not allowed."},
                 {"126, 127", "run: the command cannot be executed (126) or was not found (127)."},
                 {"128+n",
                  "run: signal n ended the command, or run received the signal while it waited for "
                  "the lock."}}) +
           list(
               "ENVIRONMENT",
               {{"ROCKLOCK_SESSION",
                 "The session and its secret, as printed by acquire and session open. The secret "
                 "proves that you own the grants of the session."},
                {variables,
                 "If an option is not given, the variable with the same name determines its value. "
                 "Other options have no variable. ROCKLOCK_DB applies to serve, db check, db stats "
                 "and db restore, and ROCKLOCK_LEASE to run, acquire, steal, reacquire and session "
                 "open."},
                {"ROCKLOCK_CONFIG", "The file to read instead of /etc/rocklock.conf."},
                {"NO_COLOR", "If it is set and not empty, titles are not printed in bold."}}) +
           list("FILES",
                {{"/etc/rocklock.conf",
                  "Settings, for example lease = 10s. If the file contains socket = PATH, all "
                  "users use the daemon on that socket."},
                 {"/run/rocklock/rocklock.sock", "The socket of the installed systemd unit."},
                 {"~/.local/state/rocklock/",
                  "Socket, store and log of a user's private daemon. The home directory is read "
                  "from the password database, not from HOME."}});
}

std::string man_page() {
    std::string text =
        ".TH ROCKLOCK 1 \"\" \"rocklock " + roff_escaped(version()) +
        "\" \"User Commands\"\n"
        ".SH NAME\nrocklock \\- locks for work that takes longer than a transaction\n"
        ".SH SYNOPSIS\n.nf\n";
    for (const auto& entry : verb_table()) {
        if (!entry.hidden()) text += synopsis(entry.verb) + "\n";
    }
    text += ".fi\n.SH VERBS\n";
    for (const auto& entry : verb_table()) {
        if (!entry.hidden()) text += section_of(entry.verb);
    }
    return text + closing_sections();
}

}  // namespace

int man_page_verb(const Arguments&) {
    auto text = man_page();
    text.pop_back();
    print(text);
    return exit_status::done;
}

}  // namespace rocklock
