#include "lock/model/lock_class.hpp"

#include <algorithm>
#include <optional>
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

// Whether elements remain after the shorter one of a pattern and a name.
struct Remainder {
    bool pattern = false;
    bool name = false;
};

// Compares as many elements as both have. Returns nullopt if one of them differs.
std::optional<Remainder> compare(std::string_view pattern, std::string_view name) {
    Remainder more;
    do {
        const std::string_view wanted = take_element(pattern, more.pattern);
        const std::string_view element = take_element(name, more.name);
        if (wanted != "*" && wanted != element) return std::nullopt;
    } while (more.pattern && more.name);
    return more;
}

bool matches(std::string_view pattern, std::string_view name) {
    const auto more = compare(pattern, name);
    return more && !more->pattern && !more->name;
}

// Returns whether the pattern can match a name below `name`.
bool matches_below(std::string_view pattern, std::string_view name) {
    const auto more = compare(pattern, name);
    return more && more->pattern;
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
    const bool limited =
        lock_class.max_lease > milliseconds{0} || lock_class.max_hold > milliseconds{0};
    if (lock_class.no_expiry && limited) {
        return invalid(lock_class,
                       "no_expiry allows locks that never expire, and max_lease and max_hold would "
                       "end them: give either no_expiry or these limits");
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

// The maximum number of users and groups in one right.
constexpr std::size_t max_named = 100;

std::optional<Error> check_rights(const LockClass& lock_class) {
    for (const auto* right : {&lock_class.steal_by, &lock_class.break_by, &lock_class.bind_by}) {
        if (right->size() > max_named) {
            return invalid(lock_class,
                           "more than 100 users and groups have one right: give the right to a "
                           "group that contains them");
        }
        for (const std::string& name : *right) {
            const bool known = name.starts_with("user:") || name.starts_with("group:") ||
                               name.starts_with("node:");
            if (!known || name.ends_with(':')) {
                return invalid(lock_class, "'" + name +
                                               "' in steal_by, break_by or bind_by is not a user, "
                                               "a group or a node: write user:NAME, group:NAME or "
                                               "node:NAME");
            }
            if (auto error = check_name("a user or group", name)) return error;
        }
    }
    if (!lock_class.steal_by.empty() && lock_class.steal == StealPolicy::never) {
        return invalid(lock_class,
                       "steal_by needs a steal policy that allows steals: give anyone, idle or "
                       "ask; the policy then applies only to the users and groups in steal_by");
    }
    return std::nullopt;
}

}  // namespace

bool names_any(const std::vector<std::string>& right, const std::vector<std::string>& identities) {
    return std::find_first_of(right.begin(), right.end(), identities.begin(), identities.end()) !=
           right.end();
}

std::string named_in(const std::vector<std::string>& right) {
    std::string text;
    for (const std::string& name : right) {
        const std::size_t colon = name.find(':');
        text += name.substr(0, colon) + " " + name.substr(colon + 1);
        text += &name == &right.back() ? " and " : ", ";
    }
    return text + "administrators";
}

const LockClass& ClassTable::of(std::string_view resource) const {
    static const LockClass by_default;
    for (const LockClass& lock_class : classes_) {
        if (matches(lock_class.pattern, resource)) return lock_class;
    }
    return by_default;
}

const LockClass* ClassTable::draining(std::string_view resource, bool subtree) const {
    if (draining_ == 0) return nullptr;
    const LockClass& own = of(resource);
    if (own.draining) return &own;
    if (!subtree) return nullptr;
    const auto found = std::find_if(classes_.begin(), classes_.end(), [&](const LockClass& c) {
        return c.draining && matches_below(c.pattern, resource);
    });
    return found == classes_.end() ? nullptr : &*found;
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
    allow_no_expiry_ = std::any_of(classes_.begin(), classes_.end(),
                                   [](const LockClass& c) { return c.no_expiry; });
    draining_ = static_cast<std::uint64_t>(
        std::count_if(classes_.begin(), classes_.end(),
                      [](const LockClass& c) { return c.draining.has_value(); }));
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
    if (auto error = check_rights(lock_class)) return error;
    if (lock_class.queue_limit == 0 || lock_class.queue_limit > limits::waiters_total) {
        return invalid(lock_class, "queue_limit is out of range: give 1 to 1,000,000");
    }
    if (lock_class.max_priority > limits::max_priority) {
        return invalid(lock_class, "max_priority is out of range: give 0 (none) to 100");
    }
    if (lock_class.dependants.size() >= limits::resources_per_grant) {
        return invalid(lock_class, "more than 99 dependants: a set has at most 100 resources");
    }
    if (lock_class.permits > 0 && !lock_class.dependants.empty()) {
        return invalid(
            lock_class,
            "a class with permits cannot have dependants: they are locked only with a resource "
            "that is locked in write or exclusive");
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
