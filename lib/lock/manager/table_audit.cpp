#include "lock/manager/table_audit.hpp"

#include <cstdio>

#include "base/assert.hpp"

namespace rocklock::manager {

bool TableAudit::is_on() {
#ifdef ROCKLOCK_AUDITS
    return true;
#else
    return false;
#endif
}

void TableAudit::decided(const LockTable& table, Instant now) {
    if (++decisions_ < min_period + table.audit_cost()) return;
    decisions_ = 0;
    const auto wrong = table.audit_invariants(now);
    if (wrong) std::fprintf(stderr, "rocklock: audit of the lock table: %s\n", wrong->c_str());
    ROCKLOCK_ASSERT(!wrong);
}

}  // namespace rocklock::manager
