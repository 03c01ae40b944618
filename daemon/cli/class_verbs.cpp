// class put, class ls, class rm, class drain and class resume.
#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/all_digits.hpp"
#include "base/duration_text.hpp"
#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/text_table.hpp"
#include "daemon/cli/verbs.hpp"
#include "wire/call_json.hpp"
#include "wire/lock_words.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;

Error misused(std::string_view option, std::string_view value, std::string_view wanted) {
    return {ErrorCode::invalid_argument,
            dashed(option) + " is '" + std::string(value) + "'; " + std::string(wanted)};
}

// Reads the options of `class put` into a class. Keeps the first error.
class ClassOptions {
public:
    explicit ClassOptions(const Arguments& arguments) : arguments_(arguments) {}

    void duration(std::string_view option, milliseconds& value) {
        const auto text = arguments_.get(option);
        if (!text) return;
        const auto duration = parse_duration(*text);
        if (!duration) return fail(option, *text, "write it as in 500ms, 10s, 1m30s, 2h or 7d");
        value = *duration;
    }

    void count(std::string_view option, std::uint32_t& value, std::uint32_t max = 4'294'967'295) {
        const auto text = arguments_.get(option);
        if (!text) return;
        const auto* const end = text->data() + text->size();
        const auto [stop, error] = std::from_chars(text->data(), end, value);
        if (error != std::errc() || stop != end)
            fail(option, *text, "give a whole number, up to " + std::to_string(max));
    }

    template <typename Enum>
    void word_of(std::string_view option, Enum& value) {
        const auto text = arguments_.get(option);
        if (!text) return;
        std::string all;
        for (const auto& [known, name] : words_of(Enum{})) {
            if (name == *text) {
                value = known;
                return;
            }
            all += (all.empty() ? "" : ", ") + std::string(name);
        }
        fail(option, *text, "it can be one of " + all);
    }

    void dependants(std::string_view option, std::vector<Dependant>& value) {
        const auto given = arguments_.every.find(option);
        if (given == arguments_.every.end()) return;
        for (const auto& text : given->second) {
            const auto colon = text.rfind(':');
            if (colon == std::string::npos) {
                value.push_back({text, Mode::read});
                continue;
            }
            const auto mode = parse_mode(text.substr(colon + 1));
            if (!mode || *mode == Mode::exclusive) {
                return fail(option, text,
                            "the mode after the last colon must be read or write; a name that "
                            "contains a colon needs a mode");
            }
            value.push_back({text.substr(0, colon), *mode});
        }
    }

    void texts(std::string_view option, std::vector<std::string>& value) {
        const auto given = arguments_.every.find(option);
        if (given != arguments_.every.end()) value = given->second;
    }

    const std::optional<Error>& error() const { return error_; }

private:
    void fail(std::string_view option, std::string_view value, std::string_view wanted) {
        if (!error_) error_ = misused(option, value, wanted);
    }

    const Arguments& arguments_;
    std::optional<Error> error_;
};

Result<LockClass> class_of(const Arguments& arguments) {
    LockClass lock_class;
    lock_class.pattern = arguments.operands.front();
    ClassOptions options(arguments);
    options.word_of("policy", lock_class.policy);
    options.duration("lease", lock_class.lease);
    options.duration("max-lease", lock_class.max_lease);
    options.duration("max-hold", lock_class.max_hold);
    options.duration("min-hold", lock_class.min_hold);
    options.duration("lock-delay", lock_class.lock_delay);
    options.word_of("steal", lock_class.steal);
    options.duration("steal-after", lock_class.steal_after);
    options.dependants("dependant", lock_class.dependants);
    options.count("queue-limit", lock_class.queue_limit);
    options.count("permits", lock_class.permits);
    options.count("max-priority", lock_class.max_priority, limits::max_priority);
    lock_class.drafts = arguments.has("drafts");
    lock_class.no_expiry = arguments.has("no-expiry");
    options.texts("steal-by", lock_class.steal_by);
    options.texts("break-by", lock_class.break_by);
    options.texts("bind-by", lock_class.bind_by);
    if (options.error()) return *options.error();
    return lock_class;
}

// Returns the error with the names of options instead of the names of the class's members.
Error in_options(Error error, const LockClass& lock_class) {
    constexpr std::pair<std::string_view, std::string_view> words[] = {
        {"lease is longer than max_lease",
         "--lease (30s if it is not given) is longer than --max-lease; give a shorter --lease"},
        {"steal idle or ask needs steal_after", "--steal idle and ask need --steal-after"},
        {"steal_after is for steal idle and ask", "--steal-after is for --steal idle and ask"},
        {"min_hold is longer than max_hold", "--min-hold is longer than --max-hold"},
        {"max_lease is below", "--max-lease is below"},
        {"no_expiry allows locks that never expire, and max_lease and max_hold would end them: "
         "give "
         "either no_expiry or these limits",
         "--no-expiry allows locks that never expire, and --max-lease and --max-hold would end "
         "them: give either --no-expiry or these limits"},
        {"steal_by needs a steal policy that allows steals: give anyone, idle or ask; the policy "
         "then applies only to the users and groups in steal_by",
         "--steal-by needs --steal anyone, idle or ask, which then applies only to the users and "
         "groups in --steal-by"},
        {"max_priority is out of range", "--max-priority is out of range"},
        {"queue_limit is out of range", "--queue-limit is out of range"}};
    const auto said = ("class " + lock_class.pattern + ": ").size();
    for (const auto& [member, option] : words) {
        if (error.message.find(member) != said) continue;
        error.message.replace(said, member.size(), option);
        break;
    }
    return error;
}

Result<std::unique_ptr<LockConnection>> manager_of(const Arguments& arguments, Opening opening) {
    const auto settings = Settings::load(arguments);
    if (!settings) return settings.error();
    return open_manager(arguments, *settings, milliseconds{0}, opening);
}

std::string none_or(milliseconds duration) {
    return duration == milliseconds{0} ? "-" : exact_duration(duration);
}

std::string steal_of(const LockClass& lock_class) {
    std::string who(word(lock_class.steal));
    if (lock_class.steal_after == milliseconds{0}) return who;
    return who + " " + exact_duration(lock_class.steal_after);
}

std::string draining_of(const LockClass& lock_class) {
    if (!lock_class.draining) return "-";
    return lock_class.draining->empty() ? "yes" : printable(*lock_class.draining);
}

}  // namespace

std::string rights_of(const LockClass& lock_class) {
    std::string text;
    const auto add = [&](std::string_view right, const std::vector<std::string>& names) {
        for (const auto& name : names) {
            text += (text.empty() ? "" : ", ") + std::string(right) + " " + printable(name);
        }
    };
    add("steal", lock_class.steal_by);
    add("break", lock_class.break_by);
    add("bind", lock_class.bind_by);
    return text.empty() ? "-" : text;
}

namespace {

std::string dependants_of(const LockClass& lock_class) {
    std::string text;
    for (const auto& dependant : lock_class.dependants) {
        text += (text.empty() ? "" : ", ") + printable(dependant.resource) + ":" +
                std::string(word(dependant.mode));
    }
    return text;
}

// Returns false if this machine has no such user or group. Users of other hosts, as in
// user:ann@web1, and nodes are not known here.
bool exists_here(std::string_view identity) {
    if (identity.starts_with("node:") || identity.find('@') != std::string_view::npos) return true;
    const auto colon = identity.find(':');
    const std::string name(identity.substr(colon + 1));
    if (all_digits(name)) return true;
    return identity.substr(0, colon) == "user" ? ::getpwnam(name.c_str()) != nullptr
                                               : ::getgrnam(name.c_str()) != nullptr;
}

// The names are saved nevertheless: the user may be created later.
void remark_unknown_names(const LockClass& lock_class) {
    for (const auto* right : {&lock_class.steal_by, &lock_class.break_by, &lock_class.bind_by}) {
        for (const auto& identity : *right) {
            if (exists_here(identity)) continue;
            complain("remark: there is no " + printable(identity) +
                     " on this machine now, so this entry gives no right to anyone");
        }
    }
}

}  // namespace

int class_put_verb(const Arguments& arguments) {
    const auto lock_class = class_of(arguments);
    if (!lock_class) return fail(lock_class.error());
    auto manager = manager_of(arguments, Opening::may_create);
    if (!manager) return fail(manager.error());
    const auto put = (*manager)->ask<LockClass>(Call{PutClass{*lock_class}, {}, {}});
    if (!put) return fail(in_options(put.error(), *lock_class));
    if (arguments.has("json")) {
        print(write_value(*put));
    } else if (!arguments.has("quiet")) {
        print("class " + printable(put->pattern) + " was saved");
    }
    if (!arguments.has("quiet")) remark_unknown_names(*put);
    return exit_status::done;
}

int class_list_verb(const Arguments& arguments) {
    auto manager = manager_of(arguments, Opening::existing);
    if (!manager) return fail(manager.error());
    const auto list = (*manager)->ask<ClassList>(Call{ListClasses{}, {}, {}});
    if (!list) return fail(list.error());
    TextTable table({"PATTERN", "POLICY", "LEASE", "MAX LEASE", "MAX HOLD", "MIN HOLD", "DELAY",
                     "STEAL", "QUEUE", "PRIORITY", "PERMITS", "DRAFTS", "NO EXPIRY", "DRAINED",
                     "RIGHTS", "DEPENDANTS"});
    for (const auto& each : list->classes) {
        if (arguments.has("json")) {
            print(write_value(each));
            continue;
        }
        table.add({printable(each.pattern), std::string(word(each.policy)),
                   exact_duration(each.lease), none_or(each.max_lease), none_or(each.max_hold),
                   none_or(each.min_hold), none_or(each.lock_delay), steal_of(each),
                   std::to_string(each.queue_limit),
                   each.max_priority == 0 ? "-" : std::to_string(each.max_priority),
                   each.permits == 0 ? "-" : std::to_string(each.permits),
                   each.drafts ? "yes" : "-", each.no_expiry ? "yes" : "-", draining_of(each),
                   rights_of(each), dependants_of(each)});
    }
    if (!arguments.has("json")) print_table(table, arguments);
    return exit_status::done;
}

namespace {

int change_draining(const Arguments& arguments, Call call, std::string_view done) {
    auto manager = manager_of(arguments, Opening::existing);
    if (!manager) return fail(manager.error());
    const auto changed = (*manager)->ask<LockClass>(std::move(call));
    if (!changed) return fail(changed.error());
    if (arguments.has("json")) {
        print(write_value(*changed));
    } else if (!arguments.has("quiet")) {
        print("class " + printable(changed->pattern) + " " + std::string(done));
    }
    return exit_status::done;
}

}  // namespace

int class_drain_verb(const Arguments& arguments) {
    return change_draining(
        arguments,
        Call{DrainClass{arguments.operands.front(), arguments.get("reason").value_or(""), {}},
             {},
             {}},
        "is drained: its resources are not locked for anyone until it is resumed; existing locks "
        "remain");
}

int class_resume_verb(const Arguments& arguments) {
    return change_draining(arguments, Call{ResumeClass{arguments.operands.front(), {}}, {}, {}},
                           "is not drained: its resources can be locked");
}

int class_remove_verb(const Arguments& arguments) {
    auto manager = manager_of(arguments, Opening::existing);
    if (!manager) return fail(manager.error());
    const auto gone =
        (*manager)->ask<LockClass>(Call{DeleteClass{arguments.operands.front()}, {}, {}});
    if (!gone) return fail(gone.error());
    if (arguments.has("json")) {
        print(write_value(*gone));
    } else if (!arguments.has("quiet")) {
        print("class " + printable(gone->pattern) + " was deleted");
    }
    return exit_status::done;
}

}  // namespace rocklock
