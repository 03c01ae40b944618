// The classes of a store: patterns, and which of them speaks for a name.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

class ClassTable {
public:
    // The class that counts for `resource`: of all patterns that match, the most specific; without
    // one the default class, whose pattern is empty. Valid until the next put() or remove().
    const LockClass& of(std::string_view resource) const;

    const LockClass* find(std::string_view pattern) const;
    void put(LockClass lock_class);
    void remove(std::string_view pattern);
    bool empty() const { return classes_.empty(); }
    // Whether any has a `max_lease`.
    bool limit_leases() const { return limit_leases_; }
    // Most specific first.
    const std::vector<LockClass>& all() const { return classes_; }

private:
    void note_limits();

    std::vector<LockClass> classes_;
    bool limit_leases_ = false;
};

// Errors: invalid_argument that says what is allowed.
std::optional<Error> check_class(const LockClass& lock_class);

}  // namespace rocklock
