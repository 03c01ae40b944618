// The commits on which a response, a notice or an event depends.
#pragma once

#include <rocklock/storage/storage.hpp>

namespace rocklock::manager {

struct CommitDependency {
    CommitNumber number = 0;
    Durability durability = Durability::deferred;
    // Another commit that must at least be written, for example a renewal whose deadline the
    // response contains.
    CommitNumber kept = 0;

    // Returns whether the dependent response can be delivered. Also returns true if the storage has
    // failed; callers must therefore also check Storage::failure().
    bool done(const Storage& storage) const {
        if (number != 0 && !storage.done(number, durability)) return false;
        return kept == 0 || storage.done(kept, Durability::written);
    }
};

}  // namespace rocklock::manager
