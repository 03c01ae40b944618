#include "daemon/cli/program.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string_view>

#include "daemon/cli/arguments.hpp"
#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/verb_table.hpp"
#include "daemon/cli/verbs.hpp"
#include "daemon/support/resource_failure.hpp"

namespace rocklock {
namespace {

// Returns a line for each verb whose name begins with `family`, for example "db ".
std::string list_of_verbs(std::string_view family) {
    std::size_t width = 0;
    for (const auto& entry : verb_table()) {
        if (!entry.hidden()) width = std::max(width, entry.verb.name.size());
    }
    std::string text;
    for (const auto& entry : verb_table()) {
        if (entry.hidden() || !entry.verb.name.starts_with(family)) continue;
        const std::string name(entry.verb.name);
        text += "  " + name + std::string(width + 2 - name.size(), ' ') +
                std::string(first_line(entry.verb.summary)) + "\n";
    }
    return text;
}

std::string overview() {
    return "rocklock VERB [OPTION...]\n\n"
           "Manages locks for work that takes longer than a transaction.\n\n"
           "A lock excludes only clients of the same lock manager. The lock manager is the\n"
           "daemon on the socket that --socket or ROCKLOCK_SOCKET names. If neither is\n"
           "given, it is the daemon of the machine if one is configured, otherwise a daemon\n"
           "of this user. `rocklock status` shows which manager is used.\n\n"
           "A lock has the name of a RESOURCE, for example orders/42. A GRANT is the number\n"
           "of a lock that a session holds. `acquire` and `session open` print the session\n"
           "as the variable ROCKLOCK_SESSION, from which other verbs read it. A DURATION is\n"
           "written as 500ms, 10s, 1m30s, 2h or 7d.\n\n" +
           list_of_verbs("") +
           "\n`rocklock VERB --help` prints the options of a verb.\n\n"
           "Example:\n  rocklock run nightly-report -- ./report.sh\n";
}

bool asks_for_help(const std::string& word) {
    return word == "--help" || word == "-h" || word == "help";
}

// Prints a text that ends with a newline.
void print_lines(std::string_view text) { print(text.substr(0, text.size() - 1)); }

int no_such_verb(const std::vector<std::string>& words) {
    const std::string name = printable(words.front());
    const auto family = list_of_verbs(words.front() + " ");
    if (family.empty()) {
        complain("there is no verb '" + name + "'; `rocklock --help` lists the verbs");
        return exit_status::usage;
    }
    if (words.size() > 1 && asks_for_help(words[1])) {
        print_lines("rocklock " + name + " has these verbs:\n\n" + family);
        return exit_status::done;
    }
    complain(words.size() > 1
                 ? "there is no verb '" + name + " " + printable(words[1]) + "'; the verbs are:"
                 : "'" + name + "' needs a second word; the verbs are:");
    std::fputs(("\n" + family).c_str(), stderr);
    return exit_status::usage;
}

int run_words(const std::vector<std::string>& given) {
    auto words = given;
    // `rocklock help run` is `rocklock run --help`.
    if (words.size() > 1 && words.front() == "help") {
        words.erase(words.begin());
        words.emplace_back("--help");
    }
    if (words.empty() || asks_for_help(words.front())) {
        if (words.empty()) complain("no verb is given; the verbs are listed below");
        const auto text = overview();
        if (!words.empty()) {
            print_lines(text);
            return exit_status::done;
        }
        std::fputs(text.c_str(), stderr);
        return exit_status::usage;
    }
    if (words.front() == "--version") words.front() = "version";
    const auto [entry, count] = find_verb(words);
    if (!entry) return no_such_verb(words);
    const auto arguments = parse_arguments(
        entry->verb, {words.begin() + static_cast<std::ptrdiff_t>(count), words.end()});
    if (!arguments) return fail(arguments.error());
    if (arguments->help) {
        print_lines(help_text(entry->verb));
        return exit_status::done;
    }
    return entry->run(*arguments);
}

}  // namespace

int run_program(const std::vector<std::string>& words) {
    end_on_resource_failure();
    // A write beyond the limit of the file size then fails with an error. Otherwise it would end
    // the process, and a verb that writes a store could not report the reason.
    ::signal(SIGXFSZ, SIG_IGN);
    const int status = run_words(words);
    // If the output could not be written, the verb has failed.
    return !output_written() && status == exit_status::done ? exit_status::internal : status;
}

}  // namespace rocklock
