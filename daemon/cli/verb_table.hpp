// The table of the command line: every verb, and every option with the verbs that accept it.
//
// The parser, its error messages, `rocklock --help`, `rocklock VERB --help`, the shell completion
// and the man page are generated from this table. To add a verb or an option, add a row.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/cli/arguments.hpp"

namespace rocklock {

struct VerbEntry {
    Verb verb;
    int (*run)(const Arguments&) = nullptr;

    // Returns true if the verb is internal. The help does not list internal verbs.
    bool hidden() const { return verb.summary.empty(); }
};

// The verbs in the order of the help text.
const std::vector<VerbEntry>& verb_table();

struct FoundVerb {
    // nullopt if no verb was found.
    std::optional<VerbEntry> entry;
    // The number of words of the verb's name: 1 or 2.
    std::size_t words = 0;
};
// Returns the verb whose name is the first word, or the first two words, of `words`. Creates only
// the entry of this verb, not the whole table, which takes 2 ms.
FoundVerb find_verb(const std::vector<std::string>& words);

}  // namespace rocklock
