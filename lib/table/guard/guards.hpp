// What guards demand of one commit, and of one read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <rocklock/items/item_requests.hpp>
#include <rocklock/lock_proof.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

#include "table/guard/lock_gate.hpp"
#include "table/schema/schema.hpp"

namespace rocklock::table {

// A write whose lock was lost, and which is to be kept as a draft.
struct LateWrite {
    std::string principal;
    std::string resource;
};

// Asks the gate about a write, and has the batch committed on the gate's terms, which it answers
// with; nothing where nobody asks. `gate` may be none: then nothing bound can be written.
//
// Errors: as LockGate::let_write(); `late` is set where what is refused is to be kept
Result<std::optional<LockGate::WriteTerms>> guard_write(LockGate* gate, const Schema& schema,
                                                        const WriteItem& write, Batch& batch,
                                                        std::optional<LateWrite>& late);

// The grants that let a save in, where something is to become of them: each once.
class AfterCommit {
public:
    AfterCommit(LockGate* gate, AfterSave after) : gate_(gate), after_(after) {}

    // Before the writes of a decision are let in.
    void begin() { let_in_.clear(); }
    // Adds to the batch what promises it.
    void add(const std::optional<LockGate::WriteTerms>& let_in, Batch& batch);
    // Errors: invalid_argument  no write was let in by a grant, so none can be given up; or a
    //                           grant to be downgraded has permits, or waits for a conversion
    Result<void> check() const;
    // Behind the commit.
    void apply_after_save() const;

private:
    LockGate* gate_;
    AfterSave after_;
    std::vector<LockGate::WriteTerms> let_in_;
};

// A read that bound tables may refuse. Lifetime: borrows gate and proof.
class GuardedRead {
public:
    GuardedRead(LockGate* gate, const std::optional<LockProof>& proof)
        : gate_(gate), proof_(proof ? &*proof : nullptr) {}

    // Before the moment that is read.
    void begin();
    // Whether plain reads of the table are let in as things are, and were since begin(): without a
    // mutex. What is not free now may be so to end().
    bool is_free(const Schema& schema) const;
    bool is_free_still(const Schema& schema) const;
    // An item was looked at, whether it is told or not.
    void see(const Schema& schema, const AttributeMap& item);
    // All items were looked for that have these attributes of the key, whether there are any: that
    // there is none may be what another has only begun to do.
    void add_resource(const Schema& schema, const AttributeMap& known);
    // Whether what was read may be told; false: begin again.
    //
    // Errors: as LockGate::let_read()
    Result<bool> end();

private:
    // Whether resources of the table are to be noted.
    bool notes(const Schema& schema);

    LockGate* gate_;
    const LockProof* proof_;
    LockGate::ReadMark mark_;
    // Of bound tables only.
    std::vector<std::string> resources_;
    bool bound_ = false;
    bool strict_ = false;
    // Noted although nobody seemed to be kept out.
    bool careful_ = false;
};

// Reads until what was read may be told. `read` sees to see() and returns a Result.
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
