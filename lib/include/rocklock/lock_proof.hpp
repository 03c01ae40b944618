// Guards: what a request for data shows of its sender's locks, and tables that ask for it.
//
// A write that shows a token is committed only while its grant lives, holds what is written in
// `write` or `exclusive`, and has that token: the check and the write are one commit. So who was
// paused, cut off or robbed of a lock cannot write, however late the write comes.
//
// A table can be bound to resources (Fowler's Implicit Offline Lock): then a write that shows
// nothing is refused, and a plain read while another holds the resource in `exclusive`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/types.hpp>

namespace rocklock {

// The session is taken for the sender's own: whoever lets others send requests checks its secret
// first.
struct LockProof {
    SessionId session;
    // Of the grant that the sender believes in. Without one any grant of the session's will do that
    // covers the item, also one that was given after another had come between.
    std::optional<Token> token;
    // The uid whose limits a draft of a refused write counts towards (UserLimits). None: no user's.
    std::optional<std::uint32_t> user{};
};

// What becomes of the grants that let a save in, in the same commit: a crash leaves both done, or
// neither.
enum class AfterSave : std::uint8_t {
    keep,
    // As Release: a grant that was counted is counted down.
    release,
    // To `read`, for who goes on looking: others may read too. Refused, with nothing saved, for a
    // grant of permits, and for one that waits for a conversion.
    downgrade,
};

// Which resource an item of a table belongs to.
struct TableBinding {
    std::string table;
    // A name with key attributes in braces, as in `orders/{OrderId}`; or one name for the whole
    // table. Numbers are as DynamoDB writes them, binaries in base64url.
    std::string resource;
    // Plain reads are refused too where the class of the resource has the policy exclusive_read,
    // and the reader's session does not hold it: lock_required.
    bool strict = false;

    friend bool operator==(const TableBinding&, const TableBinding&) = default;
};

}  // namespace rocklock
