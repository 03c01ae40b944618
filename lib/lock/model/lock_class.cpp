#include "lock/model/lock_class.hpp"

#include <algorithm>
#include <string>

#include "lock/model/names.hpp"

namespace rocklock {

namespace {

// Removes the first element from `path` and returns it. Sets `more` to whether another element
// follows.
std::string_view take_element(std::string_view& path, bool& more) {
    const std::size_t slash = path.find('/');
    const std::string_view element = path.substr(0, slash);
    more = slash != std::string_view::npos;
    path = more ? path.substr(slash + 1) : std::string_view{};
    return element;
}

bool matches(std::string_view pattern, std::string_view name) {
    for (;;) {
        bool more_pattern = false;
        bool more_name = false;
        const std::string_view wanted = take_element(pattern, more_pattern);
        const std::string_view element = take_element(name, more_name);
        if (wanted != "*" && wanted != element) return false;
        if (more_pattern != more_name) return false;
        if (!more_pattern) return true;
    }
}

// Returns whether pattern `a` is ordered before `b`: element by element from the left, a literal
// before `*`. This must be right for patterns that can match the same name; the order of all others
// is arbitrary but strict.
bool more_specific(std::string_view a, std::string_view b) {
    for (;;) {
        bool more_a = false;
        bool more_b = false;
        const std::string_view element_a = take_element(a, more_a);
        const std::string_view element_b = take_element(b, more_b);
        const bool star_a = element_a == "*";
        const bool star_b = element_b == "*";
        if (star_a != star_b) return star_b;
        if (element_a != element_b) return element_a < element_b;
        if (more_a != more_b) return more_b;
        if (!more_a) return false;
    }
}

Error invalid(const LockClass& lock_class, std::string_view message) {
    return {ErrorCode::invalid_argument,
            "class " + lock_class.pattern + ": " + std::string(message)};
}

// A `*` within an element would be matched literally, which is hardly intended.
bool has_partial_star(std::string_view pattern) {
    for (bool more = true; more;) {
        const std::string_view element = take_element(pattern, more);
        if (element != "*" && element.find('*') != std::string_view::npos) return true;
    }
    return false;
}

std::optional<Error> check_durations(const LockClass& lock_class) {
    using std::chrono::milliseconds;
    if (auto error = check_lease(lock_class.lease)) return error;
    for (const milliseconds duration :
         {lock_class.max_lease, lock_class.max_hold, lock_class.min_hold, lock_class.lock_delay}) {
        if (duration < milliseconds{0} || duration > limits::lease_max) {
            return invalid(lock_class, "a duration is out of range: give 0 (none) to 30 days");
        }
    }
    if (lock_class.max_lease > milliseconds{0} && lock_class.max_lease < limits::lease_min) {
        return invalid(lock_class, "max_lease is below 100 ms, the minimum of a lease");
    }
    if (lock_class.max_lease > milliseconds{0} && lock_class.lease > lock_class.max_lease) {
        return invalid(lock_class, "lease is longer than max_lease");
    }
    if (lock_class.max_hold > milliseconds{0} && lock_class.min_hold > lock_class.max_hold) {
        return invalid(lock_class, "min_hold is longer than max_hold");
    }
    return std::nullopt;
}

std::optional<Error> check_steal(const LockClass& lock_class) {
    using std::chrono::milliseconds;
    const bool waits =
        lock_class.steal == StealPolicy::idle || lock_class.steal == StealPolicy::ask;
    const bool given = lock_class.steal_after != milliseconds{0};
    if (waits &&
        (lock_class.steal_after <= milliseconds{0} || lock_class.steal_after > limits::lease_max)) {
        return invalid(lock_class,
                       "steal idle or ask needs steal_after: give 1 ms to 30 days, the time before "
                       "a steal is allowed");
    }
    if (!waits && given) {
        return invalid(lock_class, "steal_after is for steal idle and ask: omit it");
    }
    return std::nullopt;
}

}  // namespace

const LockClass& ClassTable::of(std::string_view resource) const {
    static const LockClass by_default;
    for (const LockClass& lock_class : classes_) {
        if (matches(lock_class.pattern, resource)) return lock_class;
    }
    return by_default;
}

const LockClass* ClassTable::find(std::string_view pattern) const {
    const auto found = std::find_if(classes_.begin(), classes_.end(),
                                    [&](const LockClass& c) { return c.pattern == pattern; });
    return found == classes_.end() ? nullptr : &*found;
}

void ClassTable::put(LockClass lock_class) {
    remove(lock_class.pattern);
    const auto it = std::find_if(classes_.begin(), classes_.end(), [&](const LockClass& c) {
        return more_specific(lock_class.pattern, c.pattern);
    });
    classes_.insert(it, std::move(lock_class));
    note_limits();
}

void ClassTable::remove(std::string_view pattern) {
    std::erase_if(classes_, [&](const LockClass& c) { return c.pattern == pattern; });
    note_limits();
}

void ClassTable::note_limits() {
    limit_leases_ = std::any_of(classes_.begin(), classes_.end(), [](const LockClass& c) {
        return c.max_lease > std::chrono::milliseconds{0};
    });
}

std::optional<Error> check_class(const LockClass& lock_class) {
    if (auto error = check_name("class pattern", lock_class.pattern)) return error;
    if (has_partial_star(lock_class.pattern)) {
        return invalid(lock_class,
                       "* matches a whole element of a path: write it between slashes, as in "
                       "orders/*, or give the complete name of the resource");
    }
    if (auto error = check_durations(lock_class)) return error;
    if (auto error = check_steal(lock_class)) return error;
    if (lock_class.queue_limit == 0 || lock_class.queue_limit > limits::waiters_total) {
        return invalid(lock_class, "queue_limit is out of range: give 1 to 1,000,000");
    }
    if (lock_class.dependants.size() >= limits::resources_per_grant) {
        return invalid(lock_class, "more than 99 dependants: a set has at most 100 resources");
    }
    if (lock_class.permits > 0 && !lock_class.dependants.empty()) {
        return invalid(
            lock_class,
            "a class with permits cannot have dependants: its resources are never locked to edit");
    }
    for (const Dependant& dependant : lock_class.dependants) {
        if (auto error = check_name("dependant", dependant.resource)) return error;
        if (dependant.mode == Mode::exclusive) {
            return invalid(lock_class,
                           "a dependant is locked in mode read or write, not exclusive");
        }
    }
    return std::nullopt;
}

}  // namespace rocklock
