// The parser of command lines. A table describes the operands and the options of each verb.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/result.hpp>

namespace rocklock {

struct Option {
    // Without the dashes. A name of one letter is a short option ("-E").
    std::string_view name;
    // The name of the value in the help text; empty if the option has no value. "a|b" lists all
    // allowed values.
    std::string_view value;
    // If empty, the option is internal, and the help text does not list it.
    std::string_view help;
    // If true, the values of a repeated option are joined with commas. If false, the last value
    // replaces the others.
    bool adds = false;
    // Whether the value may be empty.
    bool may_be_empty = false;
    // Other names of the option, separated by ", ". Arguments contains the option under `name`.
    std::string_view aliases = {};
};

struct Verb {
    std::string_view name;
    // The operands after the name of the verb, as in "RESOURCE... -- COMMAND [ARG...]".
    std::string_view operands;
    std::string_view summary;
    std::string_view example;
    std::vector<Option> options;
    // Whether an operand may be empty.
    bool empty_operands = false;
    // The minimum and maximum number of operands; `max_operands` is -1 if there is no maximum.
    int min_operands = 0;
    int max_operands = 0;
    // If true, the words after "--" are a command. If the option "command" is given, its value is
    // the command, which a shell executes, and the words after "--" are operands.
    bool takes_command = false;
    // The name of the option whose values can replace all operands; empty if the verb has no such
    // option.
    std::string_view operand_option = {};
};

struct Arguments {
    // The value of each option. Option::adds determines the value of a repeated option.
    std::map<std::string, std::string, std::less<>> options;
    // All values of each option that has a value, in the order of the command line.
    std::map<std::string, std::vector<std::string>, std::less<>> every{};
    std::vector<std::string> operands;
    std::vector<std::string> command;
    bool help = false;

    bool has(std::string_view option) const { return options.contains(option); }
    std::optional<std::string> get(std::string_view option) const;
};

// Errors: invalid_argument if the words do not fit the verb; the message says what to change.
Result<Arguments> parse_arguments(const Verb& verb, const std::vector<std::string>& words);

// Returns the text of `rocklock VERB --help`.
std::string help_text(const Verb& verb);

// Returns the option with its dashes: "--lease", "-E".
std::string dashed(std::string_view option);
// Returns all names of the option with their dashes, short names first: {"-s", "--shared"}.
std::vector<std::string> names_of(const Option& option);
std::string_view first_line(std::string_view text);

}  // namespace rocklock
