// completion, and the hidden verb complete-words that the scripts of the shells call.
//
// A script only passes the words of the command line on. complete-words computes the candidates
// from the table of verbs and options, each time it is called. It prints one word per line, or one
// line that leaves the completion to the shell: ":directory", ":file" or ":command".
#include <algorithm>
#include <set>
#include <utility>

#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/verb_table.hpp"
#include "daemon/cli/verbs.hpp"

namespace rocklock {
namespace {

using WordList = std::vector<std::string>;

// Limits the time that a user waits after pressing the key.
constexpr std::chrono::milliseconds max_lookup_time{1000};
constexpr std::uint32_t max_names = 1000;

constexpr std::string_view bash_script = R"script(# For bash: eval "$(rocklock completion bash)"
_rocklock() {
    # The words up to the cursor. Bash cuts them at ':' and '=' too, which belong to names here.
    local rest=${COMP_LINE:0:COMP_POINT} words=() piece last candidate index
    for ((index = 0; index <= COMP_CWORD; index++)); do
        piece=${COMP_WORDS[index]}
        ((index == COMP_CWORD)) && piece=${rest##*[[:space:]]}
        if ((index > 0)) && [[ $rest != [[:space:]]* ]]; then
            ((index == COMP_CWORD)) && piece=$rest
            words[${#words[@]} - 1]+=$piece
        else
            words+=("$piece")
        fi
        rest=${rest#"${rest%%[![:space:]]*}"}
        rest=${rest#"$piece"}
    done
    last=${words[${#words[@]} - 1]}
    local kept=
    [[ $last == *[:=]* ]] && kept=${last%"${last##*[:=]}"}
    COMPREPLY=()
    while IFS= read -r candidate; do
        case $candidate in
            :directory) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "${last#"$kept"}") ;;
            :file) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "${last#"$kept"}") ;;
            :command) mapfile -t COMPREPLY < <(compgen -c -- "$last") ;;
            *) COMPREPLY+=("$(printf %q "${candidate#"$kept"}")") ;;
        esac
    done < <("${words[0]}" complete-words -- "${words[@]:1}" 2>/dev/null)
}
complete -F _rocklock rocklock)script";

constexpr std::string_view zsh_script = R"script(#compdef rocklock
# For zsh: eval "$(rocklock completion zsh)", or a file _rocklock on the fpath.
_rocklock() {
    local -a candidates
    candidates=("${(@f)$("${(Q)words[1]}" complete-words -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    case $candidates[1] in
        :directory) _files -/ ;;
        :file) _files ;;
        :command) _command_names -e ;;
        '') return 1 ;;
        *) compadd -a candidates ;;
    esac
}
if [[ $funcstack[1] == _rocklock ]]; then
    _rocklock "$@"
else
    compdef _rocklock rocklock
fi)script";

constexpr std::string_view fish_script = R"script(# For fish: rocklock completion fish | source
function __rocklock_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    for candidate in ($words[1] complete-words -- $words[2..-1] "$last" 2>/dev/null)
        switch $candidate
            case :directory
                __fish_complete_directories $last
            case :file
                __fish_complete_path $last
            case :command
                __fish_complete_command
            case '*'
                echo $candidate
        end
    end
end
complete -c rocklock -f -a '(__rocklock_complete)')script";

void add_starting_with(std::string_view start, std::string_view word, WordList& found) {
    if (word.starts_with(start)) found.emplace_back(word);
}

// Returns the first words of the verbs, or the second words of the verbs of a family ("db ").
WordList offer_verbs(std::string_view family, std::string_view start) {
    std::set<std::string, std::less<>> names;
    for (const auto& entry : verb_table()) {
        if (entry.hidden() || !entry.verb.name.starts_with(family)) continue;
        const auto rest = entry.verb.name.substr(family.size());
        names.emplace(rest.substr(0, rest.find(' ')));
    }
    WordList found;
    for (const auto& name : names) add_starting_with(start, name, found);
    return found;
}

std::unique_ptr<LockConnection> manager_to_ask(Arguments arguments) {
    // A completion must not start a daemon, nor open a store and block other processes.
    if (arguments.has("db")) return nullptr;
    arguments.options["no-start"] = "";
    const auto settings = Settings::load(arguments);
    if (!settings) return nullptr;
    auto manager = open_manager(arguments, *settings, std::chrono::milliseconds{0});
    return manager ? *std::move(manager) : nullptr;
}

WordList offer_locks(const Arguments& arguments, std::string_view start, bool grants) {
    const auto manager = manager_to_ask(arguments);
    if (!manager) return {};
    ListLocks list;
    if (!grants) list.prefix = start;
    list.limit = max_names;
    CallLimits limits;
    limits.deadline = std::chrono::steady_clock::now() + max_lookup_time;
    const auto page = manager->ask<LockPage>(Call{list, {}, {}}, limits);
    if (!page) return {};
    std::set<std::string> names;
    for (const auto& holder : page->locks) {
        auto name = grants ? std::to_string(number(holder.grant)) : holder.resource;
        // Omit names that a line of output cannot contain.
        if (name == printable(name)) names.insert(std::move(name));
    }
    WordList found;
    for (const auto& name : names) add_starting_with(start, name, found);
    return found;
}

// Returns the lines of a reply that begin with `start`. `texts` returns the texts of the reply.
template <typename T>
WordList offer_from(const Arguments& arguments, CallBody body, std::string_view start,
                    std::vector<std::string> (*texts)(const T&)) {
    const auto manager = manager_to_ask(arguments);
    if (!manager) return {};
    CallLimits limits;
    limits.deadline = std::chrono::steady_clock::now() + max_lookup_time;
    const auto reply = manager->ask<T>(Call{std::move(body), {}, {}}, limits);
    if (!reply) return {};
    WordList found;
    for (const auto& text : texts(*reply)) {
        if (text == printable(text)) add_starting_with(start, text, found);
    }
    return found;
}

std::vector<std::string> ids_of(const SessionPage& page) {
    std::vector<std::string> ids;
    for (const auto& session : page.sessions) ids.push_back(to_string(session.id));
    return ids;
}

std::vector<std::string> tables_of(const BindingList& list) {
    std::vector<std::string> tables;
    for (const auto& binding : list.bindings) tables.push_back(binding.table);
    return tables;
}

// Returns the candidates for an operand or a value. Its name in the table says what it is.
WordList offer_values(const Arguments& arguments, std::string_view called, std::string_view start) {
    if (called.find("RESOURCE") != std::string_view::npos ||
        called.find("PREFIX") != std::string_view::npos) {
        return offer_locks(arguments, start, false);
    }
    if (called == "GRANT" || called == "[GRANT]") return offer_locks(arguments, start, true);
    if (called.find("SESSION") != std::string_view::npos) {
        ListSessions list;
        list.limit = max_names;
        return offer_from<SessionPage>(arguments, list, start, ids_of);
    }
    if (called == "TABLE")
        return offer_from<BindingList>(arguments, ListBindings{}, start, tables_of);
    if (called == "DIR") return {":directory"};
    if (called == "PATH" || called == "FILE") return {":file"};
    if (called == "COMMAND") return {":command"};
    WordList found;
    // A word in capitals stands for a value, as in DURATION|none.
    const auto add = [&](std::string_view word) {
        if (word < "A" || word >= "[") add_starting_with(start, word, found);
    };
    while (called.find('|') != std::string_view::npos) {
        add(called.substr(0, called.find('|')));
        called.remove_prefix(called.find('|') + 1);
        if (called.find('|') == std::string_view::npos) add(called);
    }
    return found;
}

WordList offer_options(const Verb& verb, const Arguments& given, std::string_view start) {
    WordList found;
    for (const auto& option : verb.options) {
        if (option.help.empty() || given.has(option.name)) continue;
        for (const auto& name : names_of(option)) add_starting_with(start, name, found);
    }
    add_starting_with(start, "--help", found);
    return found;
}

std::string_view operand_at(std::string_view operands, std::size_t index) {
    std::string_view operand;
    for (std::size_t i = 0; i <= index && !operands.empty() && !operands.starts_with("--"); ++i) {
        const auto end = operands.find(' ');
        operand = operands.substr(0, end);
        operands = end == std::string_view::npos ? "" : operands.substr(end + 1);
        if (operand.find("...") != std::string_view::npos) return operand;
        if (i < index) operand = {};
    }
    return operand;
}

const Option* option_of(const Verb& verb, std::string_view word) {
    for (const auto& option : verb.options) {
        const auto names = names_of(option);
        if (std::find(names.begin(), names.end(), word) != names.end()) return &option;
    }
    return nullptr;
}

// The complete words of a command line, parsed as far as the completion needs it.
struct ParsedWords {
    Arguments arguments;
    // The option that has the next word as its value; null if there is none.
    const Option* open = nullptr;
    bool separated = false;
};

ParsedWords parse_words(const Verb& verb, const WordList& words) {
    ParsedWords parsed;
    for (const auto& word : words) {
        if (parsed.open != nullptr) {
            parsed.arguments.options[std::string(parsed.open->name)] = word;
            parsed.open = nullptr;
        } else if (parsed.separated) {
            parsed.arguments.command.push_back(word);
        } else if (word == "--") {
            parsed.separated = true;
        } else if (const auto* option = option_of(verb, word.substr(0, word.find('=')))) {
            const auto equals = word.find('=');
            if (equals == std::string::npos && !option->value.empty()) {
                parsed.open = option;
                continue;
            }
            parsed.arguments.options[std::string(option->name)] =
                equals == std::string::npos ? "" : word.substr(equals + 1);
        } else if (word.size() < 2 || word.front() != '-') {
            parsed.arguments.operands.push_back(word);
        }
    }
    return parsed;
}

// Returns the candidates for the word `last` after the words `before` of a verb.
WordList offer_for_verb(const Verb& verb, const WordList& before, const std::string& last) {
    const auto parsed = parse_words(verb, before);
    if (parsed.open != nullptr) return offer_values(parsed.arguments, parsed.open->value, last);
    if (parsed.separated && verb.takes_command) {
        return {parsed.arguments.command.empty() ? ":command" : ":file"};
    }
    if (!parsed.separated && last.starts_with('-')) {
        const auto equals = last.find('=');
        if (equals == std::string::npos) return offer_options(verb, parsed.arguments, last);
        const auto* option = option_of(verb, last.substr(0, equals));
        if (option == nullptr) return {};
        auto values = offer_values(parsed.arguments, option->value, last.substr(equals + 1));
        for (auto& value : values) {
            if (value.front() != ':') value.insert(0, last.substr(0, equals + 1));
        }
        return values;
    }
    return offer_values(parsed.arguments,
                        operand_at(verb.operands, parsed.arguments.operands.size()), last);
}

WordList offer(WordList words) {
    const auto last = std::move(words.back());
    words.pop_back();
    const auto [entry, count] = find_verb(words);
    if (entry) {
        return offer_for_verb(
            entry->verb, {words.begin() + static_cast<std::ptrdiff_t>(count), words.end()}, last);
    }
    if (words.empty() || (words.size() == 1 && words.front() == "help")) {
        return offer_verbs("", last);
    }
    return words.size() == 1 ? offer_verbs(words.front() + " ", last) : WordList{};
}

}  // namespace

int complete_words_verb(const Arguments& arguments) {
    for (const auto& word : offer(arguments.command)) print(word);
    return exit_status::done;
}

int completion_verb(const Arguments& arguments) {
    const auto& shell = arguments.operands.front();
    if (shell == "bash") {
        print(bash_script);
    } else if (shell == "zsh") {
        print(zsh_script);
    } else if (shell == "fish") {
        print(fish_script);
    } else {
        return fail({ErrorCode::invalid_argument,
                     "'" + shell + "' is not a supported shell: give bash, zsh or fish"});
    }
    return exit_status::done;
}

}  // namespace rocklock
