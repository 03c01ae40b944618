// The one table of the command line: every verb, and every option with the verbs that take it.
//
// From it are made the parser and its complaints, `rocklock --help`, `rocklock VERB --help`, what
// shells complete, and the man page. So to add a verb or an option is to add a row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/cli/arguments.hpp"

namespace rocklock {

struct VerbEntry {
    Verb verb;
    int (*run)(const Arguments&) = nullptr;

    // For the program's own use: nobody is told of it.
    bool hidden() const { return verb.summary.empty(); }
};

// In the order in which people are told of them.
const std::vector<VerbEntry>& verb_table();

// The verb that `words` begin with, which may have a name of two words, and how many words that
// is; none where there is no such verb.
struct FoundVerb {
    const VerbEntry* entry = nullptr;
    std::size_t words = 0;
};
FoundVerb find_verb(const std::vector<std::string>& words);

}  // namespace rocklock
