// The options of acquire, run and convert that say what to lock and how.
#include <charconv>
#include <utility>

#include "base/duration_text.hpp"
#include "daemon/cli/verbs.hpp"

namespace rocklock {
namespace {

// Checks that --shared and --exclusive, the options of flock, do not contradict others. Errors:
// invalid_argument.
Result<void> check_flock_mode(const Arguments& arguments) {
    const bool shared = arguments.has("shared");
    if (!shared && !arguments.has("exclusive")) return {};
    const std::string given = shared ? "--shared (-s)" : "--exclusive (-x, -e)";
    if (shared && arguments.has("exclusive")) {
        return Error(ErrorCode::invalid_argument,
                     given + " and --exclusive (-x, -e) exclude each other: give only one of them");
    }
    for (const std::string_view other : {"mode", "to", "permits"}) {
        if (!arguments.has(other)) continue;
        return Error(ErrorCode::invalid_argument, given + " and " + dashed(other) +
                                                      " both say how to lock: give only one of "
                                                      "them");
    }
    return {};
}

// Returns the whole number in the text, or nullopt if the text is not one from 1 to 2^32 - 1.
std::optional<std::uint32_t> count_in(std::string_view text) {
    std::uint32_t count = 0;
    const auto* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, count);
    if (error != std::errc{} || stop != end || count == 0) return std::nullopt;
    return count;
}

// Sets the mode of the lock, or its modes in the order of preference: "write", "write,read".
// Returns false if the text is not a list of modes.
bool set_modes(std::string_view text, LockRequest& lock) {
    std::vector<Mode> modes;
    while (true) {
        const auto comma = text.find(',');
        const auto mode = parse_mode(text.substr(0, comma));
        if (!mode) return false;
        modes.push_back(*mode);
        if (comma == std::string_view::npos) break;
        text.remove_prefix(comma + 1);
    }
    if (modes.size() == 1) {
        lock.mode = modes.front();
    } else {
        lock.modes = std::move(modes);
    }
    return true;
}

// Sets what the text after the colon of --lock says: modes, `edit` or a number of permits.
bool set_how(std::string_view text, LockRequest& lock) {
    if (text == "edit") {
        lock.to = Intent::edit;
        return true;
    }
    if (const auto permits = count_in(text)) {
        lock.permits = *permits;
        return true;
    }
    return set_modes(text, lock);
}

// Returns the lock that one --lock asks for. The last colon ends the name, so every name can be
// given.
Result<LockRequest> lock_in(const std::string& text, bool subtree) {
    LockRequest lock;
    lock.subtree = subtree;
    const auto colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0 || !set_how(text.substr(colon + 1), lock)) {
        return Error(ErrorCode::invalid_argument,
                     "--lock is '" + text +
                         "'; write RESOURCE:MODE with one of the modes read, write and exclusive, "
                         "or RESOURCE:write,read for the first mode that can be granted, "
                         "RESOURCE:edit, or RESOURCE:N for N permits");
    }
    lock.resource = text.substr(0, colon);
    return lock;
}

// Adds the locks of all --lock to those of the operands.
Result<void> add_locks(const Arguments& arguments, std::vector<LockRequest>& locks) {
    const auto given = arguments.every.find("lock");
    if (given == arguments.every.end()) return {};
    for (const auto& text : given->second) {
        auto lock = lock_in(text, arguments.has("subtree"));
        if (!lock) return std::move(lock).error();
        locks.push_back(*std::move(lock));
    }
    return {};
}

// Returns the lock that the options request for each operand. Its resource is empty.
Result<LockRequest> lock_of_operands(const Arguments& arguments) {
    LockRequest lock;
    lock.subtree = arguments.has("subtree");
    const auto mode = arguments.get("mode");
    if (mode && !set_modes(*mode, lock)) {
        return Error(ErrorCode::invalid_argument,
                     "--mode is '" + *mode +
                         "'; it can be read, write or exclusive, or several of them separated by "
                         "commas");
    }
    if (const auto intent = arguments.get("to")) {
        lock.to = parse_intent(*intent);
        if (!lock.to) {
            return Error(ErrorCode::invalid_argument,
                         "--to is '" + *intent + "'; it can be read or edit");
        }
        if (mode) {
            return Error(ErrorCode::invalid_argument,
                         "--mode gives the mode, and with --to the class determines it: give only "
                         "one of them");
        }
    }
    if (const auto permits = arguments.get("permits")) {
        const auto count = count_in(*permits);
        if (!count) {
            return Error(ErrorCode::invalid_argument,
                         "--permits is '" + *permits + "'; give the number of permits, 1 or more");
        }
        if (mode || lock.to) {
            return Error(ErrorCode::invalid_argument,
                         "--permits is for resources with permits, and --mode and --to are for "
                         "resources with modes: give only one of them");
        }
        lock.permits = *count;
    }
    if (auto checked = check_flock_mode(arguments); !checked) return std::move(checked).error();
    if (arguments.has("shared")) lock.mode = Mode::read;
    return lock;
}

}  // namespace

Result<std::vector<LockRequest>> locks_of(const Arguments& arguments) {
    auto lock = lock_of_operands(arguments);
    if (!lock) return std::move(lock).error();
    if (arguments.operands.empty()) {
        for (const std::string_view option : {"mode", "to", "permits", "shared", "exclusive"}) {
            if (!arguments.has(option)) continue;
            return Error(ErrorCode::invalid_argument,
                         dashed(option) +
                             " applies only to the operands, and none is given (each --lock "
                             "has a mode of its own): name a RESOURCE, or omit the option");
        }
    }
    std::vector<LockRequest> locks;
    for (const auto& resource : arguments.operands) {
        lock->resource = resource;
        locks.push_back(*lock);
    }
    if (auto added = add_locks(arguments, locks); !added) return std::move(added).error();
    return locks;
}

Result<std::vector<LockRequest>> converted_locks_of(const Arguments& arguments) {
    std::vector<LockRequest> locks;
    if (auto added = add_locks(arguments, locks); !added) return std::move(added).error();
    for (const auto& lock : locks) {
        if (lock.mode) continue;
        return Error(
            ErrorCode::invalid_argument,
            "--lock for '" + lock.resource + "' must give one new mode: read, write or exclusive");
    }
    return locks;
}

Result<Metadata> metadata_of(const Arguments& arguments) {
    Metadata metadata;
    const auto given = arguments.every.find("metadata");
    if (given == arguments.every.end()) return metadata;
    for (const auto& text : given->second) {
        const auto equals = text.find('=');
        if (equals == std::string::npos || equals == 0) {
            return Error(ErrorCode::invalid_argument,
                         "--metadata is '" + text + "'; write KEY=VALUE, as in ticket=4711");
        }
        const auto [entry, added] =
            metadata.emplace(text.substr(0, equals), text.substr(equals + 1));
        if (!added) {
            return Error(ErrorCode::invalid_argument,
                         "--metadata gives '" + entry->first + "' twice: give each key once");
        }
    }
    return metadata;
}

namespace {

// Returns --max-hold or --min-hold, or nullopt if it is absent.
Result<std::optional<std::chrono::milliseconds>> hold_time_of(const Arguments& arguments,
                                                              const std::string& name) {
    const auto text = arguments.get(name);
    if (!text) return std::optional<std::chrono::milliseconds>{};
    const auto duration = parse_duration(*text);
    if (!duration || duration->count() == 0) {
        return Error(
            ErrorCode::invalid_argument,
            "--" + name + " is '" + *text + "'; write it as in 500ms, 10s, 1m30s, 2h or 7d");
    }
    return duration;
}

// Returns --priority, or 0 if it is absent.
Result<std::uint32_t> priority_of(const Arguments& arguments) {
    const auto text = arguments.get("priority");
    if (!text) return std::uint32_t{0};
    if (*text == "0") return std::uint32_t{0};
    const auto priority = count_in(*text);
    if (!priority) {
        return Error(ErrorCode::invalid_argument,
                     "--priority is '" + *text +
                         "'; give a whole number, up to the --max-priority of the class");
    }
    return *priority;
}

}  // namespace

Result<Acquire> acquire_of(const Arguments& arguments) {
    Acquire acquire;
    auto locks = locks_of(arguments);
    if (!locks) return std::move(locks).error();
    acquire.locks = *std::move(locks);
    auto metadata = metadata_of(arguments);
    if (!metadata) return std::move(metadata).error();
    acquire.metadata = *std::move(metadata);
    const auto max_hold = hold_time_of(arguments, "max-hold");
    if (!max_hold) return max_hold.error();
    acquire.max_hold = *max_hold;
    const auto min_hold = hold_time_of(arguments, "min-hold");
    if (!min_hold) return min_hold.error();
    acquire.min_hold = *min_hold;
    const auto priority = priority_of(arguments);
    if (!priority) return priority.error();
    acquire.priority = *priority;
    acquire.any = arguments.has("any");
    acquire.note = arguments.get("note").value_or("");
    return acquire;
}

Result<std::optional<std::int32_t>> process_of(const Arguments& arguments) {
    const auto text = arguments.get("for-process");
    if (!text) return std::optional<std::int32_t>{};
    std::int32_t pid = 0;
    const auto* const end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, pid);
    if (error != std::errc{} || stop != end || pid <= 0) {
        return Error(ErrorCode::invalid_argument,
                     "--for-process is '" + *text +
                         "'; give the number of a running process, as in --for-process $$");
    }
    return std::optional(pid);
}

}  // namespace rocklock
