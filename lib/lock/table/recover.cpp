// Classes, and recovery of the table from its records.
//
// recover() reads the classes, the sessions and the grants in this order. A background thread reads
// and decodes the records (ReadAhead), and another one adds request ids (RequestLoader), which must
// be finished before finish_recovery(). recover() collects small groups of live grants in
// `recovery`, and inserts each group into the two indexes. finish_recovery() then sets the timers
// and serves the queues.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/assert.hpp"
#include "base/mutant.hpp"
#include "lock/table/core.hpp"
#include "storage/read_ahead.hpp"

namespace rocklock {

using lock_model::Session;
using records::Closure;
using records::GrantRecord;
using records::Lock;

// ---- Classes ----

namespace {

Error no_class(const std::string& pattern) {
    return {ErrorCode::invalid_argument, "there is no class with the pattern \"" + pattern + "\""};
}

}  // namespace

// Returns an error if a resource that is held or waited for would change between modes and permits,
// or would get fewer permits.
std::optional<Error> LockTable::Core::kinds_change(const ClassTable& after) const {
    std::optional<Error> change;
    resources.all_of([&](const Resource& resource) {
        const bool used = resource.holds() > 0 || resource.queue() != nullptr;
        if (!used) return true;
        const std::uint32_t before = classes.of(resource.name()).permits;
        const std::uint32_t then = after.of(resource.name()).permits;
        if (before > 0 ? then >= before : then == 0) return true;
        change.emplace(ErrorCode::kind_mismatch,
                       "\"" + std::string(resource.name()) + "\" is in use with " +
                           (before > 0 ? std::to_string(before) + " permits" : "modes") +
                           ": a class cannot change that until the resource is free");
        return false;
    });
    return change;
}

void LockTable::Core::handle(const PutClass& request) {
    if (auto error = check_class(request.lock_class)) return refuse(ticket, *std::move(error));
    const LockClass* before = classes.find(request.lock_class.pattern);
    LockClass put = request.lock_class;
    const auto draining = before != nullptr ? before->draining : std::nullopt;
    if (put.draining && put.draining != draining) {
        return refuse(ticket, {ErrorCode::invalid_argument,
                               "class " + put.pattern +
                                   ": draining cannot be changed by saving the class: omit it, and "
                                   "drain or resume the class instead"});
    }
    put.draining = draining;
    if (const auto& full = usage.growth_refused()) return refuse(ticket, *full);
    ClassTable after = classes;
    after.put(put);
    if (auto error = kinds_change(after)) return refuse(ticket, *std::move(error));
    classes = std::move(after);
    write(Family::locks, records::class_key(put.pattern),
          records::encode(put, numbers.take_version()));
    classes_changed();
    answer(ticket, std::move(put));
}

void LockTable::Core::handle(const DeleteClass& request) {
    const LockClass* found = classes.find(request.pattern);
    if (found == nullptr) return refuse(ticket, no_class(request.pattern));
    if (found->draining) {
        return refuse(ticket, {ErrorCode::invalid_argument,
                               "the class \"" + request.pattern +
                                   "\" is drained; without the class, its resources could be "
                                   "locked: resume the class before you delete it"});
    }
    const LockClass gone = *found;
    ClassTable after = classes;
    after.remove(request.pattern);
    if (auto error = kinds_change(after)) return refuse(ticket, *std::move(error));
    classes = std::move(after);
    erase(Family::locks, records::class_key(request.pattern));
    classes_changed();
    answer(ticket, gone);
}

void LockTable::Core::handle(const DrainClass& request) {
    if (auto error = check_texts(request.reason, {})) return refuse(ticket, *std::move(error));
    if (auto error = check_name("the name of the administrator", request.by))
        return refuse(ticket, *std::move(error));
    const LockClass* found = classes.find(request.pattern);
    if (found == nullptr) return refuse(ticket, no_class(request.pattern));
    LockClass drained = *found;
    drained.draining = request.reason;
    set_draining(std::move(drained), Outcome::drained, request.by, request.reason);
}

void LockTable::Core::handle(const ResumeClass& request) {
    if (auto error = check_name("the name of the administrator", request.by))
        return refuse(ticket, *std::move(error));
    const LockClass* found = classes.find(request.pattern);
    if (found == nullptr) return refuse(ticket, no_class(request.pattern));
    LockClass resumed = *found;
    if (!resumed.draining) return answer(ticket, std::move(resumed));
    resumed.draining.reset();
    set_draining(std::move(resumed), Outcome::resumed, request.by, {});
}

void LockTable::Core::set_draining(LockClass lock_class, Outcome outcome, const std::string& by,
                                   const std::string& reason) {
    classes.put(lock_class);
    write(Family::locks, records::class_key(lock_class.pattern),
          records::encode(lock_class, numbers.take_version()));
    AuditRow row;
    row.sequence = numbers.take_version();
    row.at = now.wall;
    row.outcome = outcome;
    row.by = by;
    row.reason = reason;
    row.resource = lock_class.pattern;
    write(Family::history, records::audit_key(row.sequence), records::encode(row));
    ++counts.audit_rows;
    classes_changed();
    answer(ticket, std::move(lock_class));
}

// Examines all waiters, because there may be more permits now, or a class may be drained.
void LockTable::Core::classes_changed() {
    need(Durability::durable);
    for (Wait* wait = waits.oldest(); wait != nullptr; wait = wait->younger)
        serving.add_wait(*wait);
}

// ---- Recovery ----

namespace {

Error corrupt(std::string_view what) {
    return {ErrorCode::corrupt, "the records of the lock table are inconsistent (" +
                                    std::string(what) +
                                    "): nothing is granted from this store; restore a backup"};
}

template <typename Record>
struct Decoded {
    bool valid = false;
    Record record;
};

// Calls `read` for every record with a key that begins with `tag`. Returns the first error. `what`
// describes a record that `decode` refuses.
template <typename Record, typename F>
Result<void> each(const Snapshot& records, char tag,
                  typename ReadAhead<Decoded<Record>>::Decode decode, std::string_view what,
                  const F& read) {
    const std::string first(1, tag);
    const std::string last(1, static_cast<char>(tag + 1));
    ReadAhead<Decoded<Record>> cursor(records.scan_once(Family::locks, first, last), decode);
    for (; cursor.valid(); cursor.next()) {
        auto& [valid, record] = cursor.record();
        if (!valid) return corrupt(what);
        auto done = read(record);
        if (!done) return done;
    }
    return cursor.status();
}

template <typename Record>
void store_decoded(Decoded<Record>& decoded, std::optional<Record> record) {
    decoded.valid = record.has_value();
    if (record) decoded.record = *std::move(record);
}

void decode_class(std::string_view /*key*/, std::string_view value, Decoded<LockClass>& decoded) {
    store_decoded(decoded, records::decode_class(value));
}

void decode_session(std::string_view key, std::string_view value,
                    Decoded<records::SessionRecord>& decoded) {
    const auto id = records::session_of_key(key);
    store_decoded(decoded, id ? records::decode_session(*id, value) : std::nullopt);
}

struct Renewal {
    SessionId session;
    records::DeadlineRecord deadline;
};

void decode_renewal(std::string_view key, std::string_view value, Decoded<Renewal>& decoded) {
    const auto id = records::session_of_key(key);
    const auto deadline = records::decode_deadline(value);
    decoded.valid = id && deadline;
    if (decoded.valid) decoded.record = {*id, *deadline};
}

void decode_grant(std::string_view key, std::string_view value, Decoded<GrantRecord>& decoded) {
    const auto id = records::grant_of_key(key);
    decoded.valid = id && records::decode_grant(*id, value, decoded.record);
}

}  // namespace

Result<void> LockTable::Core::recover(const Snapshot& records, const RecoveryFacts& facts) {
    ROCKLOCK_ASSERT(grants.empty() && sessions.empty() && resources.size() == 0);
    boot_epoch = facts.boot_epoch;
    const auto marks_value = records.get(Family::meta, records::marks_key);
    if (!marks_value) return marks_value.error();
    records::Marks marks;
    if (*marks_value) {
        const auto decoded = records::decode_marks(**marks_value);
        if (!decoded) return corrupt("the marks");
        marks = *decoded;
    }
    numbers.start_at(std::max(marks.token, facts.token_floor), marks.sequence);
    if (auto done = recover_classes(records); !done) return done;
    if (auto done = recover_sessions(records, facts); !done) return done;
    if (auto done = recover_grants(records, facts); !done) return done;
    recovery.requests.start(requests);
    count_audit_rows(records);
    recovery.requests.finish(requests);
    finish_recovery(facts);
    return {};
}

// Ignores an error: the audit log is not part of the lock state, and damage in it fails only the
// calls that read it.
void LockTable::Core::count_audit_rows(const Snapshot& records) {
    const auto cursor = records.scan_once(Family::history, records::audit_key(0), {});
    for (; cursor->valid(); cursor->next()) ++counts.audit_rows;
}

Result<void> LockTable::Core::recover_classes(const Snapshot& records) {
    return each<LockClass>(records, records::class_tag, decode_class, "a class",
                           [&](LockClass& lock_class) -> Result<void> {
                               classes.put(std::move(lock_class));
                               return {};
                           });
}

// Reads the sessions first, then the records of renewals. If several records contain a deadline,
// the one that was written last applies.
Result<void> LockTable::Core::recover_sessions(const Snapshot& records,
                                               const RecoveryFacts& facts) {
    auto read_session = [&](records::SessionRecord& record) -> Result<void> {
        if (!numbers.has_reserved_version(record.version)) return corrupt("a session");
        auto session = std::make_unique<Session>();
        session->id = record.id;
        session->principal = record.principal;
        session->lease = record.lease;
        session->binding.bound = record.bound;
        session->only_grant.set = record.single;
        session->only_grant.id = record.made_for;
        session->uid = record.uid;
        session->binding.pid = record.pid;
        session->binding.processes = record.processes;
        session->binding.host = sessions.keep_host(record.host);
        session->opening.at = record.opened;
        session->order = record.order;
        session->note = record.note;
        session->metadata = record.metadata;
        session->opening.request = record.request;
        session->ended = record.ended;
        session->deadline_source.version = record.version;
        session->deadline = record.deadline;
        // The last activity of the session is not recorded.
        session->active = now.boot;
        session->deadline_source.exact = facts.exact && record.boot_epoch == facts.boot_epoch;
        session->timer.owner = session.get();
        count_session(*session);
        sessions.add_recovered(std::move(session));
        return {};
    };
    if (auto done = each<records::SessionRecord>(records, records::session_tag, decode_session,
                                                 "a session", read_session);
        !done)
        return done;
    auto read_renewal = [&](const Renewal& renewal) -> Result<void> {
        const records::DeadlineRecord& record = renewal.deadline;
        if (!numbers.has_reserved_version(record.version)) return corrupt("a renewal");
        Session* const found = sessions.find(renewal.session);
        if (found == nullptr) return corrupt("a renewal without its session");
        Session& session = *found;
        session.renewed = true;
        recover_deadline(session, record, facts);
        return {};
    };
    return each<Renewal>(records, records::deadline_tag, decode_renewal, "a renewal", read_renewal);
}

// Applies a deadline from a record. The session's own record, its renewal and each of its grants
// contain one; the one with the highest version applies.
void LockTable::Core::recover_deadline(Session& session, const records::DeadlineRecord& seen,
                                       const RecoveryFacts& facts) {
    if (seen.version < session.deadline_source.version) return;
    session.deadline_source.version = seen.version;
    session.deadline = seen.deadline;
    session.lease = seen.lease;
    session.deadline_source.exact = facts.exact && seen.boot_epoch == facts.boot_epoch;
}

namespace {

// Returns whether the lock table can store the numbers of the earlier grants on the locks.
bool can_store_links(const GrantRecord& record) {
    return std::all_of(record.locks.begin(), record.locks.end(), [](const records::Lock& lock) {
        return lock_model::Hold::can_store(lock.before);
    });
}

}  // namespace

Result<void> LockTable::Core::recover_grants(const Snapshot& records, const RecoveryFacts& facts) {
    const auto sets = records.scan_once(Family::locks, std::string(1, records::set_tag),
                                        std::string(1, static_cast<char>(records::set_tag + 1)));
    auto read_grant = [&](GrantRecord& record) -> Result<void> {
        if (!numbers.has_reserved_version(record.version) ||
            !numbers.has_reserved_token(number(record.token)) ||
            !numbers.has_reserved_token(number(record.id))) {
            return corrupt("a grant");
        }
        if (record.more_locks > 0) {
            // Both scans are in the order of grants.
            const std::string set = records::set_key(record.id);
            while (sets->valid() && sets->key() < set) sets->next();
            if (!sets->valid() || sets->key() != set ||
                !records::decode_set(sets->value(), record)) {
                return corrupt("the locks of a set");
            }
        }
        if (!can_store_links(record)) return corrupt("a grant");
        if (record.token != Token{number(record.id)}) {
            for (const Lock& lock : record.locks)
                recovery.converted.push_back({lock.resource, number(record.token), record.id});
        }
        if (!record.ended) return recover_grant(record, facts);
        recover_ended(record, facts);
        return {};
    };
    auto done = each<GrantRecord>(records, records::grant_tag, decode_grant, "a grant", read_grant);
    if (done) enter_recovered();
    ROCKLOCK_ASSERT(!done || grants.size() == counts.recovered);
    return done;
}

Result<void> LockTable::Core::recover_grant(GrantRecord& record, const RecoveryFacts& facts) {
    Session* const found = sessions.find(record.session);
    if (found == nullptr) return corrupt("a grant without its session");
    Session& session = *found;
    recover_deadline(session, {record.version, record.boot_epoch, record.deadline, record.lease},
                     facts);
    Grant& grant = make_recovered(record);
    grant.set_id(record.id);
    grant.session = &session;
    grant.set_version(record.version);
    grant.waited = record.waited;
    // The boot clock of another boot cannot be compared. The age then comes from the wall clock,
    // which may have been set back since.
    grant.set_acquired(facts.exact && record.boot_epoch == facts.boot_epoch
                           ? record.acquired
                           : now.boot -
                                 std::max(now.wall - record.acquired_wall, WallTime::duration{0}));
    grant.previous = session.last;
    (session.last != nullptr ? session.last->next : session.first) = &grant;
    session.last = &grant;
    ++session.grants;
    ++counts.recovered;
    const bool converted_up = record.token != Token{number(record.id)};
    if (converted_up || record.count > 0) {
        auto& extra = grant.with_extra();
        if (converted_up) extra.token = record.token;
        extra.count = record.count;
    }
    if (record.convert_request || !record.note.empty() || !record.metadata.empty()) {
        auto& extra = grant.with_extra();
        extra.note = std::move(record.note);
        extra.metadata = std::move(record.metadata);
        extra.convert_request = record.convert_request;
        extra.convert_fingerprint = record.convert_fingerprint;
    }
    if (record.request) {
        grant.set_request({record.request, record.fingerprint});
        recovery.requests.set(requests, record.request, RequestOutcome(grant.id()));
    }
    if (record.cap) {
        const bool exact = facts.exact && record.boot_epoch == facts.boot_epoch;
        remember_cap(grant, record.max_hold, exact ? *record.cap : now.boot + record.max_hold);
        if (!exact) recovery.recapped.push_back(grant.id());
    }
    if (!record.closures.empty()) remember_min_hold(grant, record.closures.front().duration);
    usage.add_grant(session.uid, lock_model::bytes_of_grant(grant));
    recovery.grants.emplace_back(&grant);
    if (recovery.grants.size() == lock_model::RecoveryState::group_size) enter_recovered();
    return {};
}

lock_model::Grant& LockTable::Core::make_recovered(const GrantRecord& record) {
    const Lock& first = record.locks.front();
    if (record.locks.size() == 1 && first.permits == 0 && first.cause == Hold::no_cause) {
        const Slot slot = record.request ? Slot::with_request : Slot::with;
        lock_model::PlainGrant& plain = Resource::make(first.resource, slot)->make_plain();
        plain.hold.mode = first.mode;
        plain.hold.subtree = first.subtree;
        plain.hold.set_before(first.before);
        return plain;
    }
    lock_model::LinkedGrant& grant = *Grant::make(record.locks.size());
    for (std::size_t i = 0; i < record.locks.size(); ++i) {
        const Lock& lock = record.locks[i];
        lock_model::LinkedHold& hold = grant.linked_holds()[i];
        hold.at = Resource::make(lock.resource, Slot::without);
        hold.mode = lock.mode;
        hold.subtree = lock.subtree;
        hold.permit_count = lock.permits;
        hold.cause_index = lock.cause;
        hold.set_before(lock.before);
    }
    return grant;
}

lock_model::Grant& LockTable::Core::move_to(Resource& at, Grant& plain) {
    Resource* const before = plain.holds().front().resource();
    lock_model::LinkedGrant& moved = *Grant::make_from(plain);
    moved.linked_holds()->at = &at;
    Session& session = *moved.session;
    (moved.previous != nullptr ? moved.previous->next : session.first) = &moved;
    (moved.next != nullptr ? moved.next->previous : session.last) = &moved;
    Resource::destroy(before);
    return moved;
}

// Inserts the grants of `recovery` into the two indexes. The bucket of almost every name is not in
// the processor's cache. Those for the first names of the grants are prefetched together.
void LockTable::Core::enter_recovered() {
    std::array<std::uint64_t, lock_model::RecoveryState::group_size> hashes{};
    const std::span<Near<Grant>> group(recovery.grants);
    ROCKLOCK_ASSERT(group.size() <= hashes.size());
    for (std::size_t i = 0; i < group.size(); ++i)
        hashes[i] = hash_of(group[i]->holds().front().resource()->name());
    resources.prefetch(std::span(hashes).first(group.size()));
    // The records were read in the order of the numbers.
    for (Near<Grant>& recovered : group) recovered = &enter_recovered_grant(*recovered);
    recovery.grants.clear();
}

lock_model::Grant& LockTable::Core::enter_recovered_grant(Grant& recovered) {
    Grant* grant = &recovered;
    for (std::size_t i = 0; i < grant->hold_count; ++i) {
        Resource& made = *grant->holds()[i].resource();
        const lock_model::HashedName name(made.name());
        Resource* const known = resources.find(name);
        if (known == nullptr) {
            enter(made, name);
        } else if (grant->plain) {
            grant = &move_to(*known, *grant);
        } else {
            Resource::destroy(&made);
            static_cast<lock_model::LinkedHold&>(grant->holds()[i]).at = known;
        }
        Hold& hold = grant->holds()[i];
        // The last grant on the name may be a later one that has already ended.
        const lock_model::LastGrant last = hold.resource()->last();
        link(hold);
        if (last.grant() > grant->id()) hold.resource()->set_last(last);
    }
    grants.add(*grant);
    return *grant;
}

void LockTable::Core::recover_ended(const GrantRecord& record, const RecoveryFacts& facts) {
    ++ended_records;
    if (record.request) recovery.requests.set(requests, record.request, RequestOutcome(record.id));
    Session* const session = sessions.find(record.session);
    if (session != nullptr) {
        recover_deadline(*session,
                         {record.version, record.boot_epoch, record.deadline, record.lease}, facts);
        if (record.ends_session) session->ended = record.ended;
    }
    for (const Lock& lock : record.locks) {
        // Records are read in the order of grants, so the last one stays.
        const lock_model::LastGrant last(record.id);
        if (Resource* const known = find(lock.resource)) {
            known->set_last(last);
        } else {
            last_grants.keep(fnv1a(lock.resource), last);
        }
    }
    const bool exact = facts.exact && record.boot_epoch == facts.boot_epoch;
    for (const Closure& closure : record.closures) {
        if (closure.lock >= record.locks.size()) continue;
        // After a reboot the elapsed part of a closure is unknown. The closure starts again, unless
        // the wall clock shows that it ended long ago.
        const BootTime until = exact ? closure.until : now.boot + closure.duration;
        const bool over =
            exact ? until <= now.boot
                  : now.wall - record.ended->at > 2 * closure.duration + std::chrono::hours{1};
        if (over) continue;
        Resource& at = resource(record.locks[closure.lock].resource);
        auto& extra = at.with_extra();
        extra.closed_until = std::max(extra.closed_until, until);
        timers.closures.set(extra.timer, extra.closed_until);
    }
}

// Sessions with a deadline of another boot get a full lease from now on. The new deadline is
// written, so that another restart does not extend it again.
void LockTable::Core::arm_recovered() {
    std::vector<SessionId> gone;
    for (auto& [id, session] : sessions) {
        if (session->ended) {
            sessions.count_ended();
            if (session->first == nullptr) {
                gone.push_back(id);
            } else {
                sessions.add_ending(*session);
            }
            continue;
        }
        if (session->opening.request)
            requests.set(session->opening.request, RequestOutcome(*session));
        if (session->deadline_source.exact) {
            if (mutated(Mutant::unwoken_restart)) continue;
            arm_session(*session);
        } else {
            extend(*session);
            write_deadline(*session);
        }
    }
    for (const SessionId& id : gone) free_session(*sessions.find(id));
    // Caps that start again are written for the same reason.
    for (const GrantId id : recovery.recapped) write_grant(*grants.find(id));
    recovery.recapped.clear();
}

void LockTable::Core::end_restored() {
    std::vector<Session*> restored;
    for (auto& [id, session] : sessions) {
        if (!session->ended) restored.push_back(session.get());
    }
    for (Session* session : restored) {
        end_session(*session, {Outcome::broken, {}, "restored", now.wall});
    }
}

void LockTable::Core::finish_recovery(const RecoveryFacts& facts) {
    arm_recovered();
    if (facts.restored) end_restored();
    // An upgrade matters only if it happened after the last grant on the name, that is, if its
    // token is greater than the number of that grant.
    const auto mark = [](lock_model::LastGrant& last,
                         const lock_model::RecoveryState::Converted& up) {
        if (up.token > number(last.grant())) last.note_conversion_of(up.grant);
    };
    for (const lock_model::RecoveryState::Converted& up : recovery.converted) {
        if (Resource* const known = find(up.name)) {
            lock_model::LastGrant last = known->last();
            mark(last, up);
            known->set_last(last);
        } else if (lock_model::LastGrant* const last = last_grants.find(fnv1a(up.name))) {
            mark(*last, up);
        }
    }
    recovery = {};
    if (mutated(Mutant::request_forgotten_at_restart)) requests.clear();
    if (mutated(Mutant::token_from_memory)) numbers.reset_token(facts.token_floor);
    serve_queues();
    reserve_numbers();
    // The manager commits the recovery durably before it decides anything else.
    numbers.confirm_durable(*decision->reserved);
    ROCKLOCK_ASSERT(numbers.is_safe());
    ROCKLOCK_ASSERT(waits.size() == 0 && serving.empty());
    ROCKLOCK_ASSERT(counts.recovered ==
                    grants.size() + counts.expired + counts.broken + counts.released);
}

}  // namespace rocklock
