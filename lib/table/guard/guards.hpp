// The lock checks of a commit and of a read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/identity.hpp>
#include <rocklock/items/item_requests.hpp>
#include <rocklock/lock_proof.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

#include "table/guard/lock_gate.hpp"
#include "table/schema/schema.hpp"

namespace rocklock::table {

// A write that was refused because its session has lost the lock. It is to be stored as a draft.
struct LateWrite {
    std::string principal;
    std::string resource;
    // The uid of the user that opened the session.
    UserId uid = 0;
};

// Asks the gate whether a write is allowed. If so, adds the conditions of the gate to the batch and
// returns them. Returns nullopt if no lock is required. If `gate` is null, writes to bound tables
// are refused.
//
// Errors: as LockGate::check_write(); `late` is set if the refused write is to be stored as a draft
Result<std::optional<LockGate::WriteTerms>> guard_write(LockGate* gate, const Schema& schema,
                                                        const WriteItem& write, Batch& batch,
                                                        std::optional<LateWrite>& late);

// The grants that allow the writes of a commit and are to be released or downgraded after the
// commit. Contains each grant once.
class AfterCommit {
public:
    AfterCommit(LockGate* gate, AfterSave after) : gate_(gate), after_(after) {}

    // Called before the writes of a decision are checked.
    void begin() { terms_.clear(); }
    // Adds the record of the release or downgrade to the batch; see
    // LockGate::after_save_record().
    void add(const std::optional<LockGate::WriteTerms>& terms, Batch& batch);
    // Errors: invalid_argument  no grant has allowed a write, so that no grant can be released or
    //                           downgraded; or a grant to be downgraded has permits or waits for a
    //                           conversion
    Result<void> check() const;
    // Called after the commit.
    void apply_after_save() const;

private:
    LockGate* gate_;
    AfterSave after_;
    std::vector<LockGate::WriteTerms> terms_;
};

// Checks whether a read of bound tables is allowed. begin() is called before the read, and end()
// after it. Between these calls, see() and add_resource() record what was read. Lifetime: borrows
// gate and proof.
class GuardedRead {
public:
    GuardedRead(LockGate* gate, const std::optional<LockProof>& proof)
        : gate_(gate), proof_(proof ? &*proof : nullptr) {}

    // Called before the snapshot is taken.
    void begin();
    // Both functions return true for a table that is not bound. Otherwise, is_free() returns true
    // if reads without a lock were certainly allowed at begin(). If it returns false, end() may
    // still allow the read. is_still_free() returns true if no resource is locked in mode
    // `exclusive` now, and no such lock has begun or ended since begin(). Neither locks a mutex.
    bool is_free(const Schema& schema) const;
    bool is_still_free(const Schema& schema) const;
    // Records an item that was read, even if it is not returned.
    void see(const Schema& schema, const AttributeMap& item);
    // Records that all items with these key attributes were read. Must be called even if there are
    // no such items, because their absence may be the result of another session's unfinished edit.
    void add_resource(const Schema& schema, const AttributeMap& known);
    // Returns true if the read may be returned, and false if it must be repeated from begin() on.
    //
    // Errors: as LockGate::check_read()
    Result<bool> end();

private:
    // Returns whether resources of the table must be recorded.
    bool notes(const Schema& schema);

    LockGate* gate_;
    const LockProof* proof_;
    LockGate::ReadMark mark_;
    // The recorded resources of bound tables.
    std::vector<std::string> resources_;
    bool bound_ = false;
    bool strict_ = false;
    // Set if a lock changed during a read that recorded no resources. The next attempt then records
    // its resources.
    bool records_resources_ = false;
};

// Repeats a read until it may be returned. `read` calls see() and returns a Result.
template <typename Read>
auto read_guarded(LockGate* gate, const std::optional<LockProof>& proof, const Read& read) {
    GuardedRead guard(gate, proof);
    while (true) {
        guard.begin();
        auto found = read(guard);
        if (!found) return found;
        const auto free = guard.end();
        if (!free) return decltype(found)(Error(free.error()));
        if (*free) return found;
    }
}

}  // namespace rocklock::table
