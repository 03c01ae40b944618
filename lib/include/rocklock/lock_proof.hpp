// The proof of a lock that a request for data presents, and the binding of tables to locks.
//
// If a write presents a token, it is committed only if the grant is live, holds the written
// resource in mode `write` or `exclusive`, and has that token. The check and the write are one
// commit. A client that was paused, was disconnected or lost its lock therefore cannot write,
// however late its write arrives.
//
// A table can be bound to resources (Fowler's Implicit Offline Lock). A write without a proof is
// then refused. A plain read is refused while another session holds the resource in mode
// `exclusive`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/types.hpp>

namespace rocklock {

// The proof of a lock. The session is assumed to belong to the sender: a server must check its
// secret before it accepts a request.
struct LockProof {
    SessionId session;
    // The token of the grant on which the sender relies. Without a token, any grant of the session
    // that covers the item is accepted, even if another session held the resource in the meantime.
    std::optional<Token> token;
    // The uid of the user. A draft of a refused write counts towards the limits of this user
    // (UserLimits). Without a uid it counts towards no limit.
    std::optional<std::uint32_t> user{};
};

// The effect of a save on the grants that permitted it. The save and its effect are one commit:
// after a crash, the store contains both or neither.
enum class AfterSave : std::uint8_t {
    keep,
    // As Release. If the session acquired the grant several times (Held::count), its count is
    // decremented.
    release,
    // Converts the grant to `read`, so that other sessions can also lock in mode `read`. If the
    // grant has permits or waits for a conversion, the request is refused and nothing is saved.
    downgrade,
};

// The resource to which an item of a table belongs.
struct TableBinding {
    std::string table;
    // A name with key attributes in braces, such as `orders/{OrderId}`, or one name for the whole
    // table. Numbers are written in DynamoDB's form, binary values in base64url.
    std::string resource;
    // If set, plain reads fail with lock_required if the class of the resource has the policy
    // exclusive_read and the reader's session does not hold the resource.
    bool strict = false;

    friend bool operator==(const TableBinding&, const TableBinding&) = default;
};

}  // namespace rocklock
