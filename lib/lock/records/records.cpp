#include "lock/records/records.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "lock/records/parts.hpp"

namespace rocklock::records {

namespace {

using std::chrono::milliseconds;

// Flags for the optional parts of a record.
enum : std::uint16_t {
    has_cap = 1 << 0,
    has_request = 1 << 1,
    has_convert = 1 << 2,
    has_texts = 1 << 3,
    has_more = 1 << 4,
    is_ended = 1 << 5,
    has_closures = 1 << 6,
    was_waiting = 1 << 7,
    is_single = 1 << 8,
    ends_session = 1 << 9,
    has_made_for = 1 << 10,
    has_host = 1 << 11,
};

// The optional members of a class, after all others: each is a tag and its value, in ascending
// order of the tags. A member with its default is absent. Tags are never reused.
enum : std::uint8_t {
    drafts_tag = 1,        // no value
    max_priority_tag = 2,  // a varint
    no_expiry_tag = 3,     // no value
    draining_tag = 4,      // the reason
    rights_tag = 5,        // three lists: steal_by, break_by, bind_by
};

// Encodes a lock: the name, the mode with the flag for `subtree`, and the other members.
template <typename Out>
void append_lock(Out& out, const lock_model::Hold& hold) {
    append_string(out, hold.resource()->name());
    append_u8(out, static_cast<std::uint8_t>(static_cast<unsigned>(hold.mode) |
                                             (hold.subtree ? 4U : 0U)));
    append_varint(out, hold.permits());
    append_u8(out, hold.cause());
    append_varint(out, number(hold.before()));
}

// Returns whether a class with this policy has `steal_after` after its dependants.
bool has_steal_after(StealPolicy policy) {
    return policy == StealPolicy::idle || policy == StealPolicy::ask;
}

template <typename Id>
std::string tagged(char tag, const Id& id) {
    std::string key(1, tag);
    append_session(key, id);
    return key;
}

std::string numbered(char tag, std::uint64_t number) {
    std::string key;
    key.reserve(9);
    key.push_back(tag);
    append_u64(key, number);
    return key;
}

std::uint16_t parts_of(const lock_model::Grant& grant, const lock_model::RequestIdentity& request,
                       const Ending* ending, const std::vector<Closure>& closures) {
    unsigned parts = 0;
    if (const auto* extra = grant.extra()) {
        if (extra->max_hold > milliseconds{0}) parts |= has_cap;
        if (extra->convert_request) parts |= has_convert;
        if (!extra->note.empty() || !extra->metadata.empty()) parts |= has_texts;
    }
    if (request.key) parts |= has_request;
    if (grant.hold_count > 1) parts |= has_more;
    if (grant.waited) parts |= was_waiting;
    if (grant.session->only_grant.set) parts |= is_single;
    if (ending != nullptr) parts |= is_ended;
    if (ending != nullptr && grant.session->only_grant.ended_session) parts |= ends_session;
    if (!closures.empty()) parts |= has_closures;
    return static_cast<std::uint16_t>(parts);
}

}  // namespace

std::string class_key(std::string_view pattern) {
    return std::string(1, class_tag).append(pattern);
}
std::string deadline_key(const SessionId& session) { return tagged(deadline_tag, session); }
std::string session_key(const SessionId& session) { return tagged(session_tag, session); }
std::string grant_key(GrantId grant) { return numbered(grant_tag, number(grant)); }
std::string set_key(GrantId grant) { return numbered(set_tag, number(grant)); }
std::string audit_key(std::uint64_t sequence) { return numbered('a', sequence); }

std::optional<GrantId> grant_of_key(std::string_view key) {
    if (key.size() != 9) return std::nullopt;
    return GrantId{*Reader(key.substr(1)).u64()};
}

std::optional<SessionId> session_of_key(std::string_view key) {
    if (key.size() != 17) return std::nullopt;
    SessionId id;
    std::copy(key.begin() + 1, key.end(), id.bytes.begin());
    return id;
}

std::string encode_grant(const lock_model::Grant& grant, std::uint32_t boot_epoch,
                         WallTime acquired_wall, const Ending* ending,
                         const std::vector<Closure>& closures) {
    ROCKLOCK_ASSERT(grant.version() != 0 && grant.hold_count > 0);
    const lock_model::Session& session = *grant.session;
    const lock_model::Hold& first = grant.holds().front();
    const lock_model::RequestIdentity request = grant.request();
    const std::uint16_t parts = parts_of(grant, request, ending, closures);
    std::string record;
    ByteWriter out(record);
    append_u64(out, grant.version());
    append_u16(out, parts);
    append_varint(out, boot_epoch);
    append_session(out, session.id);
    append_varint(out, number(grant.token()));
    append_boot(out, grant.acquired());
    append_wall(out, acquired_wall);
    append_boot(out, session.deadline);
    append_duration(out, session.lease);
    append_varint(out, grant.count());
    append_lock(out, first);
    if (parts & has_more) append_varint(out, grant.hold_count - 1U);
    const auto* const extra = grant.extra();
    if (parts & has_cap) {
        append_boot(out, extra->cap);
        append_duration(out, extra->max_hold);
    }
    if (parts & has_request) {
        append_request(out, request.key);
        append_u64(out, request.fingerprint);
    }
    if (parts & has_convert) {
        append_request(out, extra->convert_request);
        append_u64(out, extra->convert_fingerprint);
    }
    if (parts & has_texts) append_texts(out, extra->note, extra->metadata);
    if (ending != nullptr) {
        append_ending(out, *ending);
        append_string(out, session.principal);
        append_varint(out, session.uid);
        append_u32(out, static_cast<std::uint32_t>(session.binding.pid));
    }
    if (parts & has_closures) {
        append_varint(out, closures.size());
        for (const Closure& closure : closures) {
            ROCKLOCK_ASSERT(closure.lock < grant.hold_count);
            append_varint(out, closure.lock);
            append_boot(out, closure.until);
            append_duration(out, closure.duration);
        }
    }
    out.flush();
    return record;
}

std::string encode_set(const lock_model::Grant& grant) {
    std::string out;
    ROCKLOCK_ASSERT(grant.hold_count > 1);
    append_u64(out, grant.version());
    const auto holds = grant.holds();
    append_varint(out, holds.size() - 1);
    for (std::size_t i = 1; i < holds.size(); ++i) append_lock(out, holds[i]);
    return out;
}

bool decode_grant(GrantId id, std::string_view value, GrantRecord& record) {
    Parts in(value);
    // Without optional values, all other members are set below.
    if (record.parts != 0) {
        std::vector<Lock> locks = std::move(record.locks);
        record = {};
        record.locks = std::move(locks);
    }
    record.locks.resize(1);
    record.id = id;
    record.version = in.u64();
    const unsigned parts = in.u16();
    record.parts = parts;
    record.waited = (parts & was_waiting) != 0;
    record.single = (parts & is_single) != 0;
    record.ends_session = (parts & ends_session) != 0;
    record.boot_epoch = in.varint32();
    record.session = in.session();
    record.token = Token{in.varint()};
    record.acquired = in.boot();
    record.acquired_wall = in.wall();
    record.deadline = in.boot();
    record.lease = in.duration();
    record.count = in.varint32();
    in.lock(record.locks.front());
    if (parts & has_more) record.more_locks = in.varint32();
    if (parts & has_cap) {
        record.cap = in.boot();
        record.max_hold = in.duration();
    }
    if (parts & has_request) {
        record.request = in.request();
        record.fingerprint = in.u64();
    }
    if (parts & has_convert) {
        record.convert_request = in.request();
        record.convert_fingerprint = in.u64();
    }
    if (parts & has_texts) in.texts(record.note, record.metadata);
    if (parts & is_ended) {
        record.ended = in.ending();
        record.principal = in.string();
        record.uid = in.varint();
        record.pid = static_cast<std::int32_t>(in.u32());
    }
    if (parts & has_closures) {
        const std::uint64_t count = in.varint();
        for (std::uint64_t i = 0; in.ok && i < count; ++i) {
            Closure closure;
            closure.lock = in.varint32();
            closure.until = in.boot();
            closure.duration = in.duration();
            record.closures.push_back(closure);
        }
    }
    return in.done() && record.more_locks < limits::resources_per_grant &&
           (!record.ends_session || record.ended);
}

std::optional<GrantRecord> decode_grant(GrantId id, std::string_view value) {
    // Constructed in the result, because the history decodes many records.
    std::optional<GrantRecord> result(std::in_place);
    if (!decode_grant(id, value, *result)) result.reset();
    return result;
}

bool decode_set(std::string_view value, GrantRecord& record) {
    Parts in(value);
    in.u64();
    const std::uint64_t count = in.varint();
    if (count != record.more_locks) return false;
    for (std::uint64_t i = 0; in.ok && i < count; ++i) in.lock(record.locks.emplace_back());
    return in.done();
}

std::string encode(const SessionRecord& record) {
    std::string out;
    ROCKLOCK_ASSERT(record.version != 0);
    unsigned parts = 0;
    if (!record.note.empty() || !record.metadata.empty()) parts |= has_texts;
    if (record.request) parts |= has_request;
    if (record.single) parts |= is_single;
    if (record.ended) parts |= is_ended;
    if (record.made_for != GrantId{}) parts |= has_made_for;
    if (record.host != ClientHost{}) parts |= has_host;
    append_u64(out, record.version);
    append_u16(out, static_cast<std::uint16_t>(parts));
    append_varint(out, record.boot_epoch);
    append_boot(out, record.deadline);
    append_duration(out, record.lease);
    append_string(out, record.principal);
    append_u8(out, static_cast<std::uint8_t>(record.bound));
    append_varint(out, record.uid);
    append_u32(out, static_cast<std::uint32_t>(record.pid));
    append_varint(out, record.processes.size());
    for (const ProcessId& process : record.processes) {
        append_u32(out, static_cast<std::uint32_t>(process.pid));
        append_u64(out, process.start_time);
    }
    append_wall(out, record.opened);
    append_varint(out, record.order);
    if (parts & has_texts) append_texts(out, record.note, record.metadata);
    if (parts & has_request) append_request(out, record.request);
    if (record.ended) append_ending(out, *record.ended);
    if (parts & has_made_for) append_varint(out, number(record.made_for));
    if (parts & has_host) {
        append_string(out, record.host.node);
        append_string(out, record.host.boot_id);
    }
    return out;
}

std::optional<SessionRecord> decode_session(const SessionId& id, std::string_view value) {
    Parts in(value);
    SessionRecord record;
    record.id = id;
    record.version = in.u64();
    const unsigned parts = in.u16();
    record.single = (parts & is_single) != 0;
    record.boot_epoch = in.varint32();
    record.deadline = in.boot();
    record.lease = in.duration();
    record.principal = in.string();
    const std::uint8_t bound = in.u8();
    if (bound > static_cast<std::uint8_t>(Bound::connection)) return std::nullopt;
    record.bound = static_cast<Bound>(bound);
    record.uid = in.varint();
    record.pid = static_cast<std::int32_t>(in.u32());
    const std::uint64_t processes = in.varint();
    for (std::uint64_t i = 0; in.ok && i < processes; ++i) {
        ProcessId process;
        process.pid = static_cast<std::int32_t>(in.u32());
        process.start_time = in.u64();
        record.processes.push_back(process);
    }
    record.opened = in.wall();
    record.order = in.varint();
    if (parts & has_texts) in.texts(record.note, record.metadata);
    if (parts & has_request) record.request = in.request();
    if (parts & is_ended) record.ended = in.ending();
    if (parts & has_made_for) record.made_for = GrantId{in.varint()};
    if (parts & has_host) {
        record.host.node = in.string();
        record.host.boot_id = in.string();
    }
    if (!in.done()) return std::nullopt;
    return record;
}

std::string encode(const DeadlineRecord& record) {
    std::string out;
    append_u64(out, record.version);
    append_varint(out, record.boot_epoch);
    append_boot(out, record.deadline);
    append_duration(out, record.lease);
    return out;
}

std::optional<DeadlineRecord> decode_deadline(std::string_view value) {
    Parts in(value);
    DeadlineRecord record;
    record.version = in.u64();
    record.boot_epoch = in.varint32();
    record.deadline = in.boot();
    record.lease = in.duration();
    if (!in.done()) return std::nullopt;
    return record;
}

std::string encode(const LockClass& lock_class, std::uint64_t version) {
    std::string out;
    append_u64(out, version);
    append_string(out, lock_class.pattern);
    append_u8(out, static_cast<std::uint8_t>(lock_class.policy));
    append_u8(out, static_cast<std::uint8_t>(lock_class.steal));
    append_duration(out, lock_class.lease);
    append_duration(out, lock_class.max_lease);
    append_duration(out, lock_class.max_hold);
    append_duration(out, lock_class.min_hold);
    append_duration(out, lock_class.lock_delay);
    append_varint(out, lock_class.queue_limit);
    append_varint(out, lock_class.permits);
    append_varint(out, lock_class.dependants.size());
    for (const Dependant& dependant : lock_class.dependants) {
        append_string(out, dependant.resource);
        append_u8(out, static_cast<std::uint8_t>(dependant.mode));
    }
    if (has_steal_after(lock_class.steal)) append_duration(out, lock_class.steal_after);
    if (lock_class.drafts) append_u8(out, drafts_tag);
    if (lock_class.max_priority > 0) {
        append_u8(out, max_priority_tag);
        append_varint(out, lock_class.max_priority);
    }
    if (lock_class.no_expiry) append_u8(out, no_expiry_tag);
    if (lock_class.draining) {
        append_u8(out, draining_tag);
        append_string(out, *lock_class.draining);
    }
    const std::vector<std::string>* rights[] = {&lock_class.steal_by, &lock_class.break_by,
                                                &lock_class.bind_by};
    if (std::any_of(std::begin(rights), std::end(rights),
                    [](const auto* list) { return !list->empty(); })) {
        append_u8(out, rights_tag);
        for (const auto* list : rights) {
            append_varint(out, list->size());
            for (const std::string& name : *list) append_string(out, name);
        }
    }
    return out;
}

namespace {

// Reads the optional members of a class.
void read_tagged(Parts& in, LockClass& result) {
    for (std::uint8_t before = 0; in.ok && !in.reader.rest().empty();) {
        const std::uint8_t tag = in.u8();
        if (tag <= before) in.ok = false;
        before = tag;
        switch (tag) {
            case drafts_tag:
                result.drafts = true;
                break;
            case max_priority_tag:
                result.max_priority = in.varint32();
                break;
            case no_expiry_tag:
                result.no_expiry = true;
                break;
            case rights_tag:
                for (auto* list : {&result.steal_by, &result.break_by, &result.bind_by}) {
                    const std::uint64_t count = in.varint();
                    for (std::uint64_t i = 0; in.ok && i < count; ++i) list->push_back(in.string());
                }
                break;
            case draining_tag:
                result.draining = in.string();
                break;
            default:
                in.ok = false;
        }
    }
}

}  // namespace

std::optional<LockClass> decode_class(std::string_view value) {
    Parts in(value);
    LockClass result;
    in.u64();
    result.pattern = in.string();
    const std::uint8_t policy = in.u8();
    const std::uint8_t steal = in.u8();
    if (policy > static_cast<std::uint8_t>(Policy::read_write)) return std::nullopt;
    if (steal > static_cast<std::uint8_t>(StealPolicy::ask)) return std::nullopt;
    result.policy = static_cast<Policy>(policy);
    result.steal = static_cast<StealPolicy>(steal);
    result.lease = in.duration();
    result.max_lease = in.duration();
    result.max_hold = in.duration();
    result.min_hold = in.duration();
    result.lock_delay = in.duration();
    result.queue_limit = in.varint32();
    result.permits = in.varint32();
    const std::uint64_t dependants = in.varint();
    for (std::uint64_t i = 0; in.ok && i < dependants; ++i) {
        Dependant dependant;
        dependant.resource = in.string();
        dependant.mode = in.mode(in.u8());
        result.dependants.push_back(std::move(dependant));
    }
    if (has_steal_after(result.steal)) result.steal_after = in.duration();
    read_tagged(in, result);
    if (!in.done()) return std::nullopt;
    return result;
}

std::string encode(const AuditRow& row) {
    std::string out;
    append_u64(out, row.sequence);
    append_wall(out, row.at);
    append_u8(out, static_cast<std::uint8_t>(row.outcome));
    append_string(out, row.by);
    append_string(out, row.reason);
    append_string(out, row.resource);
    append_varint(out, number(row.grant));
    append_varint(out, number(row.token));
    append_string(out, row.principal);
    return out;
}

std::optional<AuditRow> decode_audit(std::string_view value) {
    Parts in(value);
    AuditRow row;
    row.sequence = in.u64();
    row.at = in.wall();
    row.outcome = static_cast<Outcome>(in.u8());
    const bool of_a_class = row.outcome == Outcome::drained || row.outcome == Outcome::resumed;
    if (row.outcome > Outcome::transferred && !of_a_class) return std::nullopt;
    row.by = in.string();
    row.reason = in.string();
    row.resource = in.string();
    row.grant = GrantId{in.varint()};
    row.token = Token{in.varint()};
    row.principal = in.string();
    if (!in.done()) return std::nullopt;
    return row;
}

std::string encode(const Marks& marks) {
    std::string out;
    append_u64(out, marks.version);
    append_u64(out, marks.token);
    append_u64(out, marks.sequence);
    return out;
}

std::optional<Marks> decode_marks(std::string_view value) {
    Parts in(value);
    Marks marks;
    marks.version = in.u64();
    marks.token = in.u64();
    marks.sequence = in.u64();
    if (!in.done()) return std::nullopt;
    return marks;
}

Write copy_mark(WallTime made) {
    std::string value;
    append_u64(value, 1);
    append_u64(value, static_cast<std::uint64_t>(made.time_since_epoch().count()));
    return {Family::meta, std::string(copy_key), std::move(value)};
}

std::string encode(const BootRecord& record) {
    std::string out;
    append_u64(out, record.version);
    append_u32(out, record.epoch);
    append_string(out, record.boot_id);
    return out;
}

std::optional<BootRecord> decode_boot(std::string_view value) {
    Parts in(value);
    BootRecord record;
    record.version = in.u64();
    record.epoch = in.u32();
    record.boot_id = in.string();
    if (!in.done()) return std::nullopt;
    return record;
}

}  // namespace rocklock::records
