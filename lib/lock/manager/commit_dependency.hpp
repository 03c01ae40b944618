// What an answer, a notice or an event rests on.
#pragma once

#include <rocklock/storage/storage.hpp>

namespace rocklock::manager {

// The commits that something rests on.
struct CommitDependency {
    CommitNumber number = 0;
    Durability durability = Durability::deferred;
    // And this one must be written: a renewal, for example, whose deadline is shown.
    CommitNumber kept = 0;

    // Whether it may be told. True too when the storage has failed: ask that besides.
    bool done(const Storage& storage) const {
        if (number != 0 && !storage.done(number, durability)) return false;
        return kept == 0 || storage.done(kept, Durability::written);
    }
};

}  // namespace rocklock::manager
