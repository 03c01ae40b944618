// The classes of a store, and the choice of the class that applies to a name.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

class ClassTable {
public:
    // Returns the class that applies to `resource`: the most specific one with a matching pattern.
    // If none matches, returns the default class, which has an empty pattern. The reference is
    // valid until the next put() or remove().
    const LockClass& of(std::string_view resource) const;

    const LockClass* find(std::string_view pattern) const;
    void put(LockClass lock_class);
    void remove(std::string_view pattern);
    bool empty() const { return classes_.empty(); }
    // Returns whether any class has a `max_lease`.
    bool limit_leases() const { return limit_leases_; }
    // Returns the classes, most specific first.
    const std::vector<LockClass>& all() const { return classes_; }

private:
    void note_limits();

    std::vector<LockClass> classes_;
    bool limit_leases_ = false;
};

// Returns an invalid_argument error that states what is allowed, or nullopt if the class is valid.
std::optional<Error> check_class(const LockClass& lock_class);

}  // namespace rocklock
