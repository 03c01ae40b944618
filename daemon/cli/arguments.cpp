#include "daemon/cli/arguments.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "lock/model/names.hpp"

namespace rocklock {
namespace {

// The maximum width of the help of an option. The column with the option itself is not counted.
constexpr std::size_t max_help_columns = 80;

// `advice` says what the help text of the verb does.
Error misused(const Verb& verb, const std::string& what,
              std::string_view advice = "lists the options") {
    return {ErrorCode::invalid_argument,
            what + "; `rocklock " + std::string(verb.name) + " --help` " + std::string(advice)};
}

Error wrong_operands(const Verb& verb, const std::string& what) {
    return misused(verb, what, "describes the operands and options");
}

// Finds the option with this name, which includes the dashes.
const Option* find_option(const Verb& verb, std::string_view name) {
    const auto found =
        std::find_if(verb.options.begin(), verb.options.end(), [&](const Option& option) {
            const auto names = names_of(option);
            return std::find(names.begin(), names.end(), name) != names.end();
        });
    return found == verb.options.end() ? nullptr : &*found;
}

void keep(const Option& option, std::string_view value, Arguments& arguments) {
    auto& kept = arguments.options[std::string(option.name)];
    kept = option.adds && !kept.empty() ? kept + "," + std::string(value) : std::string(value);
    arguments.every[std::string(option.name)].emplace_back(value);
}

// One option of a word, as it was written.
struct Written {
    const Option* option = nullptr;
    std::string name;
    // The value if it is part of the same word.
    std::optional<std::string> value;
};

// Splits the word "-nw5" into its options "-n" and "-w" with the value "5". The value of a short
// option can be part of its word only if it begins with a digit, so that "-lease" is not read as
// several options.
std::vector<Written> short_options(const Verb& verb, std::string_view word) {
    std::vector<Written> found;
    for (std::size_t at = 1; at < word.size(); ++at) {
        const auto name = std::string("-") + word[at];
        const auto* option = find_option(verb, name);
        if (option == nullptr) return {};
        found.push_back({option, name, {}});
        if (option->value.empty()) continue;
        const auto rest = word.substr(at + 1);
        if (rest.empty()) break;
        if (rest.front() < '0' || rest.front() > '9') return {};
        found.back().value = rest;
        break;
    }
    return found;
}

std::vector<Written> long_option(const Verb& verb, std::string_view word) {
    const auto equals = word.find('=');
    const auto name = word.substr(0, equals);
    const auto* option = find_option(verb, name);
    if (option == nullptr) return {};
    Written written{option, std::string(name), {}};
    if (equals != std::string_view::npos) written.value = word.substr(equals + 1);
    return {std::move(written)};
}

// Reads the option or options in words[at] and their value; sets `at` to the last word used. The id
// of a session can begin with a dash, and is an operand.
Result<void> read_options(const Verb& verb, const std::vector<std::string>& words, std::size_t& at,
                          Arguments& arguments) {
    const auto& word = words[at];
    auto found = word.starts_with("--") ? long_option(verb, word) : short_options(verb, word);
    if (found.empty() && parse_session_id(word)) {
        arguments.operands.push_back(word);
        return {};
    }
    if (found.empty()) return misused(verb, "there is no option " + word);
    for (auto& [option, name, value] : found) {
        if (option->value.empty()) {
            if (value) return misused(verb, name + " takes no value");
            arguments.options[std::string(option->name)] = "";
            continue;
        }
        if (!value) {
            if (at + 1 >= words.size()) {
                return misused(verb, name + " needs a value: " + std::string(option->value));
            }
            value = words[++at];
        }
        if (value->empty() && !option->may_be_empty) {
            return misused(verb, name + " is empty; give it a value (" +
                                     std::string(option->value) + "), or leave it out");
        }
        keep(*option, *value, arguments);
    }
    return {};
}

Result<void> check_operands(const Verb& verb, const Arguments& arguments) {
    const auto& operands = arguments.operands;
    if (verb.empty_operands ||
        std::none_of(operands.begin(), operands.end(),
                     [](const std::string& operand) { return operand.empty(); })) {
        return {};
    }
    const std::string name(verb.operands.substr(0, verb.operands.find_first_of(" .")));
    return wrong_operands(verb, name + " must not be empty; usage: rocklock " +
                                    std::string(verb.name) + " " + std::string(verb.operands));
}

// Returns the text with each byte outside ASCII as \xNN, so that an error message can show it.
std::string escaped_bytes(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string result;
    for (const char letter : text) {
        const auto byte = static_cast<unsigned char>(letter);
        if (byte < 0x80) {
            result += letter;
        } else {
            result.append("\\x").append(1, digits[byte >> 4]).append(1, digits[byte & 0xF]);
        }
    }
    return result;
}

// Operands and values are sent as text and must be UTF-8. Paths and commands may contain any bytes.
Result<void> check_utf8(const Verb& verb, const Arguments& arguments) {
    const auto refused = [&](std::string_view what, const std::string& text) {
        return wrong_operands(
            verb, std::string(what) + " must be UTF-8, and '" + escaped_bytes(text) + "' is not");
    };
    const auto wanted = verb.operands.substr(0, verb.operands.find_first_of(" ."));
    for (const auto& operand : arguments.operands) {
        if (wanted != "DIR" && !is_utf8(operand)) return refused(wanted, operand);
    }
    for (const auto& option : verb.options) {
        const auto value = arguments.get(option.name);
        const bool any_bytes = option.value == "DIR" || option.value == "PATH" ||
                               option.value == "FILE" || option.value == "COMMAND";
        if (value && !any_bytes && !is_utf8(*value)) return refused(dashed(option.name), *value);
    }
    return {};
}

Result<void> check_counts(const Verb& verb, const Arguments& arguments, bool separated) {
    const auto count = static_cast<int>(arguments.operands.size());
    if (verb.takes_command && arguments.has("command")) {
        if (!arguments.command.empty()) {
            return wrong_operands(verb,
                                  "the command is given twice, with -c and after --: give it once");
        }
    } else if (verb.takes_command && (!separated || arguments.command.empty())) {
        return wrong_operands(verb, "the command to run is missing: write it after --");
    }
    const bool too_many = verb.max_operands >= 0 && count > verb.max_operands;
    const bool too_few = count < verb.min_operands && !arguments.has(verb.operand_option);
    if (too_few || too_many) {
        const std::string wrong =
            too_many ? "unexpected operand '" +
                           arguments.operands[static_cast<std::size_t>(verb.max_operands)] + "'"
                     : "an operand is missing";
        return wrong_operands(verb, wrong + "; usage: rocklock " + std::string(verb.name) +
                                        (verb.operands.empty() ? "" : " ") +
                                        std::string(verb.operands));
    }
    return {};
}

// Adds the words after "--".
void take_rest(const Verb& verb, std::span<const std::string> rest, Arguments& arguments) {
    if (verb.takes_command && arguments.has("command") && arguments.operands.empty()) {
        arguments.operands.assign(rest.begin(), rest.end());
        return;
    }
    if (verb.takes_command && verb.min_operands > 0 && arguments.operands.empty() &&
        !arguments.has(verb.operand_option)) {
        // No operand was given before "--": these words are the operands, and the command follows
        // after a second "--".
        const auto second = std::find(rest.begin(), rest.end(), "--");
        if (second != rest.end()) {
            arguments.operands.assign(rest.begin(), second);
            rest = rest.subspan(arguments.operands.size() + 1);
        }
    }
    auto& target = verb.takes_command ? arguments.command : arguments.operands;
    target.insert(target.end(), rest.begin(), rest.end());
}

// Breaks the help of an option into lines of at most max_help_columns. All but the first begin with
// `indent` spaces.
std::string wrapped(std::string_view text, std::size_t indent) {
    std::string lines;
    while (text.size() > max_help_columns) {
        const auto space = text.rfind(' ', max_help_columns);
        if (space == std::string_view::npos) break;
        lines += std::string(text.substr(0, space)) + "\n" + std::string(indent, ' ');
        text.remove_prefix(space + 1);
    }
    return lines + std::string(text);
}

}  // namespace

std::string dashed(std::string_view option) {
    return (option.size() == 1 ? "-" : "--") + std::string(option);
}

std::vector<std::string> names_of(const Option& option) {
    std::vector<std::string> names = {dashed(option.name)};
    for (auto rest = option.aliases; !rest.empty();) {
        const auto comma = rest.find(',');
        names.push_back(dashed(rest.substr(0, comma)));
        rest = comma == std::string_view::npos ? "" : rest.substr(comma + 2);
    }
    std::stable_partition(names.begin(), names.end(),
                          [](const std::string& name) { return !name.starts_with("--"); });
    return names;
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

std::optional<std::string> Arguments::get(std::string_view option) const {
    const auto found = options.find(option);
    if (found == options.end()) return std::nullopt;
    return found->second;
}

Result<Arguments> parse_arguments(const Verb& verb, const std::vector<std::string>& words) {
    Arguments arguments;
    bool separated = false;
    for (std::size_t at = 0; at < words.size(); ++at) {
        const auto& word = words[at];
        if (word == "--") {
            separated = true;
            take_rest(verb, std::span(words).subspan(at + 1), arguments);
            break;
        }
        if (word == "--help" || word == "-h") {
            arguments.help = true;
            return arguments;
        }
        if (word.size() > 1 && word.front() == '-') {
            if (auto read = read_options(verb, words, at, arguments); !read) {
                return std::move(read).error();
            }
        } else {
            arguments.operands.push_back(word);
        }
    }
    if (auto counts = check_counts(verb, arguments, separated); !counts) {
        return std::move(counts).error();
    }
    if (auto checked = check_operands(verb, arguments); !checked) {
        return std::move(checked).error();
    }
    if (auto checked = check_utf8(verb, arguments); !checked) return std::move(checked).error();
    return arguments;
}

std::string help_text(const Verb& verb) {
    std::string text = "rocklock " + std::string(verb.name);
    if (!verb.options.empty()) text += " [OPTION...]";
    if (!verb.operands.empty()) text += " " + std::string(verb.operands);
    text += "\n\n" + std::string(verb.summary) + "\n\n";
    std::size_t width = 0;
    std::vector<std::pair<std::string, std::string_view>> lines;
    for (const auto& option : verb.options) {
        if (option.help.empty()) continue;
        std::string left;
        for (const auto& name : names_of(option)) left += (left.empty() ? "" : ", ") + name;
        if (!option.value.empty()) left += " " + std::string(option.value);
        width = std::max(width, left.size());
        lines.emplace_back(std::move(left), option.help);
    }
    for (const auto& [left, right] : lines) {
        text += "  " + left + std::string(width - left.size() + 2, ' ') +
                wrapped(right, width + 4) + "\n";
    }
    if (!lines.empty()) text += "\n";
    text += "Example:\n  " + std::string(verb.example) + "\n";
    return text;
}

}  // namespace rocklock
