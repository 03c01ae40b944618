// The options of the command line, and the verbs that accept each of them.
#pragma once

#include <span>
#include <string_view>

namespace rocklock {

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

// Returns the options in the order in which the help of a verb lists them.
std::span<const OptionRow> option_rows();

}  // namespace rocklock
