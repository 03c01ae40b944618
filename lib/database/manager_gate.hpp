// What the tables ask about locks, answered by the lock manager: where locks and data meet.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lock/manager/lock_manager.hpp"
#include "table/guard/lock_gate.hpp"

namespace rocklock {

// Lifetime: borrows manager and storage.
class ManagerGate final : public LockGate {
public:
    using GivenUp = std::function<void(const SessionId& session, GrantId grant)>;

    ManagerGate(LockManager& manager, Storage& storage) : manager_(manager), storage_(storage) {}

    // Told of grants that a save has released, on the thread that saved. Before anybody saves.
    void on_given_up(GivenUp callback) { given_up_ = std::move(callback); }

    // Does what was promised by saves that a crash came behind. Before anybody else asks for
    // anything. Errors: those of the storage and of the manager; corrupt
    Result<void> open();

    Result<WriteTerms> let_write(const LockProof* proof, std::string_view resource,
                                 std::string& drafts_of) override;
    Write promise(const WriteTerms& let_in, AfterSave after) const override;
    void apply_after_save(const WriteTerms& let_in, AfterSave after) override;
    Result<std::optional<LockProof>> try_lock(const std::vector<std::string>& resources) override;
    void unlock(const LockProof& own) override;
    ReadMark before_read() const override;
    Result<bool> let_read(const ReadMark& before, const PlainRead& read) override;

private:
    // Errors: those of the manager but for a grant that has ended, which there is nothing to do for
    Result<void> give_up(const SessionId& session, GrantId grant, AfterSave after);

    LockManager& manager_;
    Storage& storage_;
    GivenUp given_up_;
};

}  // namespace rocklock
