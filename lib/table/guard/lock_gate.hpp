// The interface through which tables query locks. Tables do not depend on the lock manager.
// `lib/database` implements this interface with the lock manager.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/identity.hpp>
#include <rocklock/lock_proof.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

namespace rocklock {

// Threads: thread-safe.
class LockGate {
public:
    // The conditions that must hold when the write is committed.
    struct WriteTerms {
        Precondition unchanged;
        BootTime not_after;
        // The principal, the session and the grant that allow the write.
        std::string by;
        SessionId session;
        GrantId grant{};
        // Whether the grant can be downgraded.
        bool downgrades = true;
    };
    // The owner of a draft: the principal of the session that has lost its lock, and the user that
    // opened this session.
    struct DraftOwner {
        std::string principal;
        UserId uid = 0;
    };
    // The state before a read; see check_read().
    struct ReadMark {
        std::uint64_t changes = 0;
        // Whether any resource was locked in mode `exclusive`. If true, check_read() may refuse the
        // read, so the caller must record the resources of the items that it reads.
        bool any = false;
    };
    struct PlainRead {
        std::vector<std::string> resources;
        const LockProof* proof = nullptr;
        bool strict = false;
    };

    LockGate() = default;
    LockGate(const LockGate&) = delete;
    LockGate& operator=(const LockGate&) = delete;
    virtual ~LockGate() = default;

    // Returns the conditions under which a write of `resource` is allowed. `proof` may be null.
    // `resource` is empty for a table that is not bound. If the write is refused and is to be
    // stored as a draft, sets `drafts_of` to the owner of this draft.
    //
    // Errors: lock_required, stale_token; invalid_argument if the resource is not a valid name;
    //         those of the storage
    virtual Result<WriteTerms> check_write(const LockProof* proof, std::string_view resource,
                                           DraftOwner& drafts_of) = 0;

    // These functions release or downgrade the grant that allowed a write. after_save_record()
    // returns a record that the caller must add to the commit of the write. After the commit,
    // apply_after_save() releases or downgrades the grant and removes the record. If the process
    // crashes between the commit and apply_after_save(), the next open of the store does this work.
    virtual Write after_save_record(const WriteTerms& terms, AfterSave after) const = 0;
    virtual void apply_after_save(const WriteTerms& terms, AfterSave after) = 0;

    // Locks all resources in mode `write`, in a new session, without waiting. Used for maintenance
    // of the tables, not for requests. If one of the resources is not available, locks none and
    // returns nullopt. The caller must call unlock() soon.
    //
    // Errors: those of the storage
    virtual Result<std::optional<LockProof>> try_lock(
        const std::vector<std::string>& resources) = 0;
    virtual void unlock(const LockProof& own) = 0;

    virtual ReadMark before_read() const = 0;
    // Called after the read. If the relevant locks have changed since `before`, returns false, and
    // the caller must repeat the read.
    //
    // Errors: locked, lock_required; those of the storage
    virtual Result<bool> check_read(const ReadMark& before, const PlainRead& read) = 0;
};

}  // namespace rocklock
