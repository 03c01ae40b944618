// The grants in a lock table, in the order in which they were given.
#pragma once

#include "base/assert.hpp"
#include "lock/model/nodes.hpp"

namespace rocklock {

// A list that is linked through the grants, so that the oldest grant is known without a search.
//
// Threads:  one at a time.
// Lifetime: does not own the grants; each must be removed before it is destroyed.
class GrantOrder {
public:
    // Appends a grant, which must be younger than all others.
    void add(lock_model::Grant& grant) {
        ROCKLOCK_ASSERT(last_.get() == nullptr || last_->id < grant.id);
        grant.older = last_;
        grant.younger = nullptr;
        (last_.get() != nullptr ? last_->younger : first_) = &grant;
        last_ = &grant;
    }
    void remove(lock_model::Grant& grant) {
        ROCKLOCK_ASSERT(first_.get() != nullptr);
        (grant.older.get() != nullptr ? grant.older->younger : first_) = grant.younger;
        (grant.younger.get() != nullptr ? grant.younger->older : last_) = grant.older;
    }
    // Returns the oldest grant, or null if there is none.
    const lock_model::Grant* oldest() const { return first_; }
    const lock_model::Grant* youngest() const { return last_; }

private:
    Near<lock_model::Grant> first_;
    Near<lock_model::Grant> last_;
};

}  // namespace rocklock
