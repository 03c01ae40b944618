// What the tables ask about locks, answered by the lock manager: where locks and data meet.
#pragma once

#include "lock/lock_manager.hpp"
#include "table/lock_gate.hpp"

namespace rocklock {

// Lifetime: borrows the manager.
class ManagerGate final : public LockGate {
public:
    explicit ManagerGate(LockManager& manager) : manager_(manager) {}

    Result<WriteTerms> let_write(const LockProof* proof, std::string_view resource) override;
    ReadMark before_read() const override;
    Result<bool> let_read(const ReadMark& before, const PlainRead& read) override;

private:
    LockManager& manager_;
};

}  // namespace rocklock
