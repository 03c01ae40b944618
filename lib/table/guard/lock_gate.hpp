// How tables ask about locks, which they know nothing of: `database` answers it from the lock
// manager.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/lock_proof.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

namespace rocklock {

// Threads: thread-safe.
class LockGate {
public:
    // What must be so as the write is committed.
    struct WriteTerms {
        Precondition unchanged;
        BootTime not_after;
        // Who is let in, by which grant.
        std::string by;
        SessionId session;
        GrantId grant{};
        // Whether the grant can be downgraded.
        bool downgrades = true;
    };
    // Taken before a read; see let_read().
    struct ReadMark {
        std::uint64_t changes = 0;
        // Somebody may be kept out: what is read is to be noted.
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

    // `proof` may be none, and `resource` empty: then it is not said what is written. Where the
    // write is refused and is to be kept as a draft, `drafts_of` becomes the principal as whose.
    //
    // Errors: lock_required, stale_token; invalid_argument: the resource is no name; those of the
    //         storage
    virtual Result<WriteTerms> let_write(const LockProof* proof, std::string_view resource,
                                         std::string& drafts_of) = 0;

    // What is to become of the grant that let a write in. The record is part of the write's own
    // commit; once that is done, apply_after_save() does what it says, and removes it. What a crash
    // comes before is done as the store is opened.
    virtual Write promise(const WriteTerms& let_in, AfterSave after) const = 0;
    virtual void apply_after_save(const WriteTerms& let_in, AfterSave after) = 0;

    // Takes the resources in write for work of the tables' own, in a session of its own, as a try:
    // all of them, or nothing where one cannot be had. To be given back soon.
    //
    // Errors: those of the storage
    virtual Result<std::optional<LockProof>> try_lock(
        const std::vector<std::string>& resources) = 0;
    virtual void unlock(const LockProof& own) = 0;

    virtual ReadMark before_read() const = 0;
    // Behind the read. False where what counts has changed meanwhile: then read again.
    //
    // Errors: locked, lock_required; those of the storage
    virtual Result<bool> let_read(const ReadMark& before, const PlainRead& read) = 0;
};

}  // namespace rocklock
