// The records of the lock table: their keys, their encoding and their meaning.
// docs/storage_format.md lists them.
//
// A grant has one record, which is written when the grant is given, when it changes, and when it
// ends. The records of ended grants are the history; they are also used to recognize repeated
// requests. If a grant has more than one lock, the locks after the first are in a second record,
// the set record, which is not written again when the grant ends. A renewal of a session writes
// only the deadline record of the session. Its cost therefore does not depend on the number of
// locks that the session holds.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/identity.hpp>
#include <rocklock/lock.hpp>
#include <rocklock/storage/storage.hpp>

#include "lock/model/nodes.hpp"

namespace rocklock::records {

// ---- Keys, in Family::locks unless noted ----

std::string class_key(std::string_view pattern);
std::string deadline_key(const SessionId& session);
std::string grant_key(GrantId grant);
std::string set_key(GrantId grant);
std::string session_key(const SessionId& session);
// In Family::history.
std::string audit_key(std::uint64_t sequence);
// In Family::meta.
inline constexpr std::string_view marks_key = "lock marks";
inline constexpr std::string_view boot_key = "lock boot";
inline constexpr std::string_view secret_key = "lock secret";
// Present in a copy of a store that has not been opened yet. The first open of the copy ends all
// sessions and grants, and deletes the key in the same batch.
inline constexpr std::string_view copy_key = "lock copy";

inline constexpr char class_tag = 'c';
inline constexpr char deadline_tag = 'd';
inline constexpr char grant_tag = 'g';
inline constexpr char set_tag = 'h';
inline constexpr char session_tag = 's';

// Return the grant or the session that a key contains, or nullopt if the key has the wrong length.
std::optional<GrantId> grant_of_key(std::string_view key);
std::optional<SessionId> session_of_key(std::string_view key);

// ---- Values ----

struct Lock {
    std::string resource;
    Mode mode = Mode::write;
    bool subtree = false;
    std::uint32_t permits = 0;
    std::uint8_t cause = lock_model::Hold::no_cause;
    GrantId before{};
};

// A resource that cannot be granted for some time after its last grant has ended. `lock` is the
// index of the resource in the grant.
struct Closure {
    std::uint32_t lock = 0;
    BootTime until;
    std::chrono::milliseconds duration{};
};

struct GrantRecord {
    // The bits of the encoded record that say which optional values it contains.
    unsigned parts = 0;
    std::uint64_t version = 0;
    GrantId id{};
    Token token{};
    SessionId session;
    std::uint32_t boot_epoch = 0;
    BootTime acquired;
    WallTime acquired_wall;
    // The deadline and the lease of the session when this record was written.
    BootTime deadline;
    std::chrono::milliseconds lease{};
    std::uint32_t count = 0;
    bool waited = false;
    std::vector<Lock> locks;
    // The number of locks that are in the set record.
    std::uint32_t more_locks = 0;
    std::optional<BootTime> cap;
    std::chrono::milliseconds max_hold{0};
    lock_model::RequestKey request;
    std::uint64_t fingerprint = 0;
    lock_model::RequestKey convert_request;
    std::uint64_t convert_fingerprint = 0;
    std::string note;
    Metadata metadata;

    // Set if the grant has ended. The three members below are then also set. They describe the
    // owner of the grant, because the record of the session may be deleted before this record.
    std::optional<Ending> ended;
    std::string principal;
    UserId uid = 0;
    std::int32_t pid = 0;
    // Whether the session was opened for this grant alone; see lock_model::OnlyGrant.
    bool single = false;
    // Whether the session has ended together with the grant. Only this record then contains the end
    // of the session.
    bool ends_session = false;
    // For an ended grant: the resources that stay closed after the end. For a grant that is held:
    // one element with the `min_hold` of its request, or none if the request had no `min_hold`.
    std::vector<Closure> closures;
};

struct SessionRecord {
    std::uint64_t version = 0;
    SessionId id;
    std::uint32_t boot_epoch = 0;
    BootTime deadline;
    std::chrono::milliseconds lease{};
    std::string principal;
    Bound bound = Bound::none;
    bool single = false;
    // If `single` is true: the only grant of the session. The record of this grant may contain the
    // end of both.
    GrantId made_for{};
    UserId uid = 0;
    std::int32_t pid = 0;
    std::vector<ProcessId> processes;
    ClientHost host{};
    WallTime opened;
    std::uint64_t order = 0;
    std::string note;
    Metadata metadata;
    lock_model::RequestKey request;
    std::optional<Ending> ended;
};

struct DeadlineRecord {
    std::uint64_t version = 0;
    std::uint32_t boot_epoch = 0;
    BootTime deadline;
    std::chrono::milliseconds lease{};
};

// Upper limits of the numbers in use: every token is less than `token`, and every sequence is less
// than `sequence`.
struct Marks {
    std::uint64_t version = 0;
    std::uint64_t token = 1;
    std::uint64_t sequence = 1;
};

struct BootRecord {
    std::uint64_t version = 0;
    std::uint32_t epoch = 0;
    std::string boot_id;
};

// Encodes a grant of the lock table, without first copying it to a GrantRecord. If the grant ends,
// `ending` is not null, and `closures` contains the resources that stay closed.
std::string encode_grant(const lock_model::Grant& grant, std::uint32_t boot_epoch,
                         WallTime acquired_wall, const Ending* ending,
                         const std::vector<Closure>& closures);
std::string encode_set(const lock_model::Grant& grant);
std::string encode(const SessionRecord& record);
std::string encode(const DeadlineRecord& record);
std::string encode(const LockClass& lock_class, std::uint64_t version);
std::string encode(const AuditRow& row);
std::string encode(const Marks& marks);
std::string encode(const BootRecord& record);
// Returns the write that marks a store as a copy that was made at the time `made`.
Write copy_mark(WallTime made);

// The decode functions return nullopt if the bytes are not a valid record of the kind.
std::optional<GrantRecord> decode_grant(GrantId id, std::string_view value);
// As above, but sets all members of `record`, and reuses its memory. Returns false if the value is
// not valid.
bool decode_grant(GrantId id, std::string_view value, GrantRecord& record);
// Appends the locks of a set to record.locks. Returns false if the bytes are not valid.
bool decode_set(std::string_view value, GrantRecord& record);
std::optional<SessionRecord> decode_session(const SessionId& id, std::string_view value);
std::optional<DeadlineRecord> decode_deadline(std::string_view value);
std::optional<LockClass> decode_class(std::string_view value);
std::optional<AuditRow> decode_audit(std::string_view value);
std::optional<Marks> decode_marks(std::string_view value);
std::optional<BootRecord> decode_boot(std::string_view value);

}  // namespace rocklock::records
