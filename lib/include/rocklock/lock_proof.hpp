// The proof of a lock, which a request for items can present, and the binding of tables to
// resources.
//
// A write that presents a token is committed only if the grant with this token has not ended and
// has mode `write` or `exclusive`. For a bound table, the grant must also cover the item. The check
// and the write are one commit. If a client was paused or disconnected and has lost its lock, its
// write is therefore refused, however late it arrives.
//
// A table can be bound to resources (Fowler's Implicit Offline Lock). A write to a bound table
// without a proof is refused. A read from a bound table is refused while another session holds the
// item's resource in mode `exclusive`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/identity.hpp>
#include <rocklock/types.hpp>

namespace rocklock {

// The proof of a lock. The library assumes that `session` belongs to the sender of the request. A
// server must therefore check the secret of the session before it passes on a request.
struct LockProof {
    SessionId session;
    // The token of the grant on which the sender relies. If none, any grant of the session that
    // covers the item is accepted, even if another session has held the resource in the meantime.
    std::optional<Token> token;
    // The uid of the user that sends the request. A draft of a refused write counts towards the
    // limits of this user (UserLimits). If none, the draft counts towards no limit.
    std::optional<UserId> user{};
    // The uid of a user. If set, WriteItem::from_draft can name only drafts that were kept for
    // sessions of this user. A server sets it to the user that opened `session`.
    std::optional<UserId> owner{};
};

// The effect of a save on its grants. A save is a write that these grants have permitted. The save
// and the effect are one commit: after a crash, either both have taken effect or neither.
enum class AfterSave : std::uint8_t {
    keep,
    // Releases the grant, as Release does: if the count of the grant is greater than 0
    // (Held::count), the count is only decremented.
    release,
    // Changes the mode of the grant to `read`, so that other sessions can also lock its resources
    // in mode `read`. If the grant has permits, or if a conversion of the grant waits, the request
    // is refused and nothing is saved.
    downgrade,
};

// The binding of a table: the resource to which each of its items belongs.
struct TableBinding {
    std::string table;
    // The name of the resource. It can contain names of key attributes in braces, as in
    // `orders/{OrderId}`, which are replaced by the values of the item's attributes: numbers in
    // DynamoDB's form, binary values in base64url. Without braces, all items belong to one
    // resource.
    std::string resource;
    // Whether reads also require a lock. If true, and the class of the resource has
    // Policy::exclusive_read, a read by a session that does not hold the resource fails with
    // lock_required.
    bool strict = false;

    friend bool operator==(const TableBinding&, const TableBinding&) = default;
};

}  // namespace rocklock
