// Implements LockGate, the interface by which tables check locks, with the lock manager: decides
// whether the locks allow a read or a write of an item.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lock/manager/lock_manager.hpp"
#include "table/guard/lock_gate.hpp"

namespace rocklock {

// Lifetime: borrows the manager and the storage.
class ManagerGate final : public LockGate {
public:
    using ReleasedCallback = std::function<void(const SessionId& session, GrantId grant)>;

    ManagerGate(LockManager& manager, Storage& storage) : manager_(manager), storage_(storage) {}

    // Sets the callback for grants that a save has released. It runs on the thread of the save.
    // Must be set before the first save.
    void on_released(ReleasedCallback callback) { released_ = std::move(callback); }

    // Completes those releases and downgrades that an earlier run has recorded in the commit of a
    // save, but has not executed. Must be called before all other requests. Errors: those of the
    // storage and of the manager; corrupt.
    Result<void> open();

    Result<WriteTerms> check_write(const LockProof* proof, std::string_view resource,
                                   DraftOwner& drafts_of) override;
    Write after_save_record(const WriteTerms& terms, AfterSave after) const override;
    void apply_after_save(const WriteTerms& terms, AfterSave after) override;
    Result<std::optional<LockProof>> try_lock(const std::vector<std::string>& resources) override;
    void unlock(const LockProof& own) override;
    ReadMark before_read() const override;
    Result<bool> check_read(const ReadMark& before, const PlainRead& read) override;

private:
    // Releases or downgrades a grant after a save. Succeeds even if the grant has already ended.
    // Errors: only those errors of the manager that require another attempt (is_failure()).
    Result<void> give_up(const SessionId& session, GrantId grant, AfterSave after);

    LockManager& manager_;
    Storage& storage_;
    ReleasedCallback released_;
};

}  // namespace rocklock
