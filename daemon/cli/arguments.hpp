// The words of a command line, judged by a table of what a verb takes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/result.hpp>

namespace rocklock {

struct Option {
    // Without its dashes; one letter makes it "-E".
    std::string_view name;
    // What its value is called in the help; empty for one without a value. "a|b": all it can be.
    std::string_view value;
    // Empty: not in the help; for the program's own use.
    std::string_view help;
    // Given again, it adds to what was given before, behind a comma. Else the last one counts.
    bool adds = false;
    // Whether its value may be empty.
    bool may_be_empty = false;
};

struct Verb {
    std::string_view name;
    // What follows the name, as in "RESOURCE... -- COMMAND [ARG...]".
    std::string_view operands;
    std::string_view summary;
    std::string_view example;
    std::vector<Option> options;
    // Whether an operand may be empty: those that are asked for may not.
    bool empty_operands = false;
    // How many operands; -1: any number.
    int fewest = 0;
    int most = 0;
    // Whether a command follows after "--".
    bool takes_command = false;
};

struct Arguments {
    // The last of those given twice.
    std::map<std::string, std::string, std::less<>> options;
    // All of those with a value.
    std::map<std::string, std::vector<std::string>, std::less<>> every{};
    std::vector<std::string> operands;
    std::vector<std::string> command;
    bool help = false;

    bool has(std::string_view option) const { return options.contains(option); }
    std::optional<std::string> get(std::string_view option) const;
};

// Errors: invalid_argument, with what to do.
Result<Arguments> parse_arguments(const Verb& verb, const std::vector<std::string>& words);

// The text of `rocklock VERB --help`.
std::string help_text(const Verb& verb);

// "--lease", "-E".
std::string dashed(std::string_view option);
std::string_view first_line(std::string_view text);

}  // namespace rocklock
