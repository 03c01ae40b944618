// The lock table as read-only system tables. The lock manager supplies the rows:
//
//     table              key                 item
//     rocklock.locks     Resource, Grant     a holder
//     rocklock.sessions  Session             a live session
//     rocklock.history   Resource, Sequence  an event that is kept
//     rocklock.classes   Pattern             a class
//
// Each item has the members with which the protocol describes the value in the column "item".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lock/manager/lock_manager.hpp"
#include "table/schema/system_tables.hpp"

namespace rocklock {

// Lifetime: borrows the manager.
class LockTables final : public SystemTables {
public:
    explicit LockTables(LockManager& manager) : manager_(manager) {}

    const std::vector<SystemTable>& tables() const override;
    Result<std::vector<SystemRow>> get(const std::vector<Key>& keys) override;
    Result<std::vector<Item>> scan(const Range& range) override;

private:
    Result<std::vector<Item>> scan_locks(const Range& range);
    Result<std::vector<Item>> scan_sessions(const Range& range);
    Result<std::vector<Item>> scan_history(const Range& range);
    Result<std::vector<Item>> scan_classes(const Range& range);
    // The key of a requested event, and its index in the rows to return.
    struct AskedEvent {
        std::size_t row = 0;
        std::string resource;
        std::uint64_t sequence = 0;
    };
    // Adds the events of `asked` to `rows`.
    Result<void> add_events(const std::vector<AskedEvent>& asked, std::vector<SystemRow>& rows);

    LockManager& manager_;
};

}  // namespace rocklock
