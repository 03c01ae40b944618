// The records of the lock table: keys, bytes, and what they say. docs/storage_format.md is the
// table.
//
// One record a grant, written when it is given and written again when it ends: an ended one is the
// history and the memory of request ids. The locks of a set beyond the first lie in a second
// record, which stays as it is. A renewal is a record of its own, so that it costs the same however
// much the session holds.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/lock.hpp>
#include <rocklock/storage/storage.hpp>

#include "lock/model/nodes.hpp"

namespace rocklock::records {

// ---- Keys, in Family::locks unless said otherwise ----

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
// There in a copy that nobody has opened yet. Whoever does ends what lives in it, as of a store
// that was restored, and deletes the key in the same batch.
inline constexpr std::string_view copy_key = "lock copy";

inline constexpr char class_tag = 'c';
inline constexpr char deadline_tag = 'd';
inline constexpr char grant_tag = 'g';
inline constexpr char set_tag = 'h';
inline constexpr char session_tag = 's';

// The grant that a key of a grant or set names.
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

// A resource that its last holder left closed for a while.
struct Closure {
    std::uint32_t lock = 0;
    BootTime until;
    std::chrono::milliseconds duration{};
};

struct GrantRecord {
    std::uint64_t version = 0;
    GrantId id{};
    Token token{};
    SessionId session;
    std::uint32_t boot_epoch = 0;
    BootTime acquired;
    WallTime acquired_wall;
    // The session's, as of this record.
    BootTime deadline;
    std::chrono::milliseconds lease{};
    std::uint32_t count = 0;
    bool waited = false;
    std::vector<Lock> locks;
    // How many more are in the set record.
    std::uint32_t more_locks = 0;
    std::optional<BootTime> cap;
    std::chrono::milliseconds max_hold{0};
    lock_model::RequestKey request;
    std::uint64_t fingerprint = 0;
    lock_model::RequestKey convert_request;
    std::uint64_t convert_fingerprint = 0;
    std::string note;
    Metadata metadata;

    // With an ending: who it was, since the session may be forgotten.
    std::optional<Ending> ended;
    std::string principal;
    std::uint32_t uid = 0;
    std::int32_t pid = 0;
    bool single = false;
    // Its session ended with it, which that one's own record does not say.
    bool ends_session = false;
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
    // Of a single one: the grant that it was made for, whose record may say that both have ended.
    GrantId made_for{};
    std::uint32_t uid = 0;
    std::int32_t pid = 0;
    std::vector<ProcessId> processes;
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

// Nothing at or above these was ever handed out.
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

// Straight from the table, without a copy in between. `ending` and `closures` when it ends.
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
// The mark of a copy made at that time.
Write copy_mark(WallTime made);

// Each returns nothing when the bytes are not such a record.
std::optional<GrantRecord> decode_grant(GrantId id, std::string_view value);
// Appends to record.locks.
bool decode_set(std::string_view value, GrantRecord& record);
std::optional<SessionRecord> decode_session(const SessionId& id, std::string_view value);
std::optional<DeadlineRecord> decode_deadline(std::string_view value);
std::optional<LockClass> decode_class(std::string_view value);
std::optional<AuditRow> decode_audit(std::string_view value);
std::optional<Marks> decode_marks(std::string_view value);
std::optional<BootRecord> decode_boot(std::string_view value);

}  // namespace rocklock::records
