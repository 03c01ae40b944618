// Returns all locks and all sessions of a lock table at one time.
#pragma once

#include <vector>

#include "lock/model/lock_search.hpp"
#include "lock/table/lock_table.hpp"

namespace rocklock::proof {

inline Result<LockPage> list(const LockTable& table, const ListLocks& request, Instant now) {
    auto search = LockSearch::begin(request);
    if (!search) return std::move(search).error();
    for (;;) {
        if (auto page = table.search(*search, now)) return *std::move(page);
    }
}

inline std::vector<SessionView> sessions(const LockTable& table, Instant now) {
    SessionSearch search{{}};
    for (;;) {
        if (auto views = table.search(search, now)) return *std::move(views);
    }
}

}  // namespace rocklock::proof
