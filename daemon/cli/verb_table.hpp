// The table of the command line: every verb, and every option with the verbs that accept it.
//
// The parser, its error messages, `rocklock --help`, `rocklock VERB --help`, the shell completion
// and the man page are generated from it. To add a verb or an option, add a row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/cli/arguments.hpp"

namespace rocklock {

struct VerbEntry {
    Verb verb;
    int (*run)(const Arguments&) = nullptr;

    // Hidden verbs are internal: no help text lists them.
    bool hidden() const { return verb.summary.empty(); }
};

// The verbs in the order of the help text.
const std::vector<VerbEntry>& verb_table();

// Returns the verb at the beginning of `words` and the number of its words, which is 1 or 2.
// `entry` is null if there is no such verb.
struct FoundVerb {
    const VerbEntry* entry = nullptr;
    std::size_t words = 0;
};
FoundVerb find_verb(const std::vector<std::string>& words);

}  // namespace rocklock
