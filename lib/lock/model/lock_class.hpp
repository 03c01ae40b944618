// The classes of a store, and the choice of the class that applies to a name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

class ClassTable {
public:
    // Returns the class that applies to `resource`: the class with the most specific pattern that
    // matches. If no pattern matches, returns the default class, whose pattern is empty. The
    // reference is valid until the next put() or remove().
    const LockClass& of(std::string_view resource) const;

    // Returns the class with this pattern, or null. The pointer is valid until the next put() or
    // remove().
    const LockClass* find(std::string_view pattern) const;
    void put(LockClass lock_class);
    void remove(std::string_view pattern);
    bool empty() const { return classes_.empty(); }
    // Returns whether any class has a `max_lease`.
    bool limit_leases() const { return limit_leases_; }
    // Returns whether any class allows locks without expiry.
    bool allow_no_expiry() const { return allow_no_expiry_; }
    // Returns the number of classes that are drained.
    std::uint64_t draining() const { return draining_; }
    // Returns the class of `resource` if this class is drained. If it is not drained and `subtree`
    // is true, returns a drained class whose pattern can match a name below `resource`. If there is
    // no such class, returns null.
    const LockClass* draining(std::string_view resource, bool subtree) const;
    // Returns the classes, most specific first.
    const std::vector<LockClass>& all() const { return classes_; }

private:
    void note_limits();

    std::vector<LockClass> classes_;
    bool limit_leases_ = false;
    bool allow_no_expiry_ = false;
    std::uint64_t draining_ = 0;
};

// Returns whether a right of a class (`steal_by`, `break_by` or `bind_by`) names one of the
// identities.
bool names_any(const std::vector<std::string>& right, const std::vector<std::string>& identities);
// Returns a text for messages: the users and groups that a right names, followed by
// "administrators".
std::string named_in(const std::vector<std::string>& right);

// Returns an invalid_argument error that states what is allowed, or nullopt if the class is valid.
std::optional<Error> check_class(const LockClass& lock_class);

}  // namespace rocklock
