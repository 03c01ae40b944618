#include "lock/records/history.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "lock/model/names.hpp"
#include "lock/model/row_bytes.hpp"

namespace rocklock {

namespace {

using records::GrantRecord;
using std::chrono::milliseconds;

// The minimum time for which a repeated request is recognized if there are too many records.
constexpr milliseconds memory_min = std::chrono::minutes{10};

Error corrupt() {
    return {ErrorCode::corrupt, "a record of the lock history can't be read: check the store"};
}

Error ended(const Ending& ending) {
    Error error(ErrorCode::grant_ended,
                "the grant has ended: " + std::string(to_string(ending.outcome)));
    if (!ending.by.empty()) error.message += " by " + ending.by;
    error.message += "; acquire the lock again";
    error.ended = ending;
    return error;
}

Error unknown_grant() {
    return {ErrorCode::not_owner,
            "this session has no such grant: it never existed, or it ended long ago"};
}

Grant past_grant(const GrantRecord& record) {
    Grant grant;
    grant.id = record.id;
    grant.token = record.token;
    grant.session = record.session;
    grant.waited = record.waited;
    grant.deadline = record.deadline;
    grant.ended = record.ended;
    for (const records::Lock& lock : record.locks) {
        GrantedLock granted{lock.resource, lock.mode, lock.subtree, lock.permits, {}};
        if (lock.cause < record.locks.size()) granted.cause = record.locks[lock.cause].resource;
        grant.locks.push_back(std::move(granted));
    }
    return grant;
}

Holder past_holder(const GrantRecord& record, const records::Lock& lock) {
    Holder holder;
    holder.resource = lock.resource;
    holder.mode = lock.mode;
    holder.subtree = lock.subtree;
    holder.permits = lock.permits;
    holder.grant = record.id;
    holder.token = record.token;
    holder.principal = record.principal;
    holder.session = record.session;
    holder.uid = record.uid;
    holder.pid = record.pid;
    holder.acquired_at = record.acquired_wall;
    holder.deadline = record.deadline == no_deadline
                          ? no_deadline_wall
                          : record.acquired_wall + std::chrono::duration_cast<milliseconds>(
                                                       record.deadline - record.acquired);
    holder.note = record.note;
    holder.metadata = record.metadata;
    if (lock.cause < record.locks.size()) holder.cause = record.locks[lock.cause].resource;
    return holder;
}

Result<Answer> answer_replay(const SessionKey& key, const HistoryLookup& asked,
                             const GrantRecord& record) {
    if (record.fingerprint != asked.fingerprint) {
        return Error(ErrorCode::parameter_mismatch,
                     "this request id was used before with other locks: use a new one");
    }
    Grant grant = past_grant(record);
    if (record.single) {
        SessionInfo own;
        own.id = record.session;
        own.secret = session_secret(key, record.session);
        own.lease = record.lease;
        own.deadline = record.deadline;
        grant.own_session = own;
    }
    return Answer(std::move(grant));
}

}  // namespace

Result<std::optional<GrantRecord>> read_grant(const Storage& storage, GrantId grant) {
    const auto value = storage.get(Family::locks, records::grant_key(grant));
    if (!value) return value.error();
    if (!*value) return std::optional<GrantRecord>{};
    auto record = records::decode_grant(grant, **value);
    if (!record) return corrupt();
    if (record->more_locks > 0) {
        const auto set = storage.get(Family::locks, records::set_key(grant));
        if (!set) return set.error();
        if (!*set || !records::decode_set(**set, *record)) return corrupt();
    }
    return record;
}

namespace {

// Returns how a session has ended. Its own record contains that, or the record of the only grant
// for which it was opened. Returns nullopt if it has not ended.
Result<std::optional<Ending>> end_of_session(const Storage& storage,
                                             const records::SessionRecord& session) {
    if (session.ended || session.made_for == GrantId{}) return session.ended;
    const auto grant = read_grant(storage, session.made_for);
    if (!grant) return grant.error();
    if (!*grant || !(*grant)->ends_session) return std::optional<Ending>{};
    return (*grant)->ended;
}

}  // namespace

Error past_session_error(const Storage& storage, const SessionId& session) {
    const auto value = storage.get(Family::locks, records::session_key(session));
    if (!value) return value.error();
    const auto record = *value ? records::decode_session(session, **value) : std::nullopt;
    const auto ended = record ? end_of_session(storage, *record)
                              : Result<std::optional<Ending>>(std::optional<Ending>());
    if (!ended) return ended.error();
    if (!*ended) {
        return {ErrorCode::session_not_found,
                "there is no such session, or it ended long ago: open a new one"};
    }
    Error error(ErrorCode::session_expired, "the session has ended: open a new one");
    error.ended = **ended;
    return error;
}

HistoryAnswer answer_from_history(const Storage& storage, const SessionKey& key,
                                  const HistoryLookup& asked) {
    using Verb = HistoryLookup::Verb;
    if (asked.grant == GrantId{}) {
        return Result<Answer>(past_session_error(storage, asked.session));
    }
    auto read = read_grant(storage, asked.grant);
    if (!read) return Result<Answer>(std::move(read).error());
    if (!*read || !(*read)->ended) return Result<Answer>(unknown_grant());
    const GrantRecord& record = **read;
    if (asked.verb == Verb::reacquire) {
        const Outcome outcome = record.ended->outcome;
        if (outcome != Outcome::expired && outcome != Outcome::broken) {
            return Result<Answer>(ended(*record.ended));
        }
        return ReacquireLocks{asked.session, asked.grant, past_grant(record).locks,
                              record.principal};
    }
    if (asked.verb == Verb::replay) return answer_replay(key, asked, record);
    if (asked.verb != Verb::force && record.session != asked.session) {
        return Result<Answer>(unknown_grant());
    }
    if (asked.verb != Verb::release) return Result<Answer>(ended(*record.ended));
    return Result<Answer>(Answer(released_before(*record.ended)));
}

Result<std::optional<PastHolder>> read_past_holder(const Storage& storage,
                                                   std::string_view resource, GrantId last) {
    // A few steps suffice: the chain may contain a live holder, and grants on other names with the
    // same hash.
    for (int step = 0; step < 16 && last != GrantId{}; ++step) {
        auto read = read_grant(storage, last);
        if (!read) return std::move(read).error();
        if (!*read) break;
        const GrantRecord& record = **read;
        GrantId before{};
        for (const records::Lock& lock : record.locks) {
            if (fnv1a(lock.resource) == fnv1a(resource)) before = lock.before;
            if (lock.resource != resource || !record.ended) continue;
            return std::optional(PastHolder{past_holder(record, lock), *record.ended});
        }
        last = before;
    }
    return std::optional<PastHolder>{};
}

namespace {

// The end of a page, and therefore the start of the next one: the grant of its last row, and the
// grant that is looked up next.
struct HistoryPosition {
    std::uint64_t shown = 0;
    std::uint64_t link = 0;
};

std::optional<HistoryPosition> parse_position(std::string_view next) {
    HistoryPosition position;
    const char* const end = next.data() + next.size();
    const auto shown = std::from_chars(next.data(), end, position.shown);
    if (shown.ec != std::errc{} || shown.ptr == end || *shown.ptr != ':') return std::nullopt;
    const auto link = std::from_chars(shown.ptr + 1, end, position.link);
    if (link.ec != std::errc{} || link.ptr != end) return std::nullopt;
    return position;
}

// Follows the chain of grants on one name through their records, and merges the rows of the table
// into it: live grants, and grants with an end that is not written yet.
class HistoryReading {
public:
    HistoryReading(const Storage& storage, const HistoryRequest& request, GrantId last,
                   std::vector<HistoryRow> present)
        : storage_(storage),
          request_(request),
          last_(last),
          present_(std::move(present)),
          living_(present_.begin()) {}

    Result<HistoryPage> run() {
        // A deleted record ends the chain. Rows of the table that remain then are older, and come
        // last.
        while (last_ != GrantId{}) {
            if (!add_living_above(last_) || full()) return std::move(page_);
            auto read = read_grant(storage_, last_);
            if (!read) return std::move(read).error();
            if (!*read) break;
            add(**read);
        }
        last_ = GrantId{};
        add_living_above(GrantId{});
        return std::move(page_);
    }

private:
    bool full() {
        if (page_.rows.size() < request_.limit && bytes_ < max_page_bytes) return false;
        page_.next = std::to_string(number(page_.rows.back().holder.grant)) + ":" +
                     std::to_string(number(last_));
        return true;
    }

    // Adds the rows of the table with a greater grant id. Returns false if the page is full before
    // all are added.
    bool add_living_above(GrantId grant) {
        for (; living_ != present_.end() && living_->holder.grant > grant; ++living_) {
            if (full()) return false;
            append(std::move(*living_));
        }
        return true;
    }

    void append(HistoryRow row) {
        bytes_ += lock_model::row_bytes(row);
        page_.rows.push_back(std::move(row));
    }

    void add(const GrantRecord& record) {
        GrantId before{};
        for (const records::Lock& lock : record.locks) {
            if (fnv1a(lock.resource) == fnv1a(request_.resource)) before = lock.before;
            if (lock.resource != request_.resource || !record.ended) continue;
            append({past_holder(record, lock), record.ended});
        }
        if (living_ != present_.end() && living_->holder.grant == record.id) {
            if (!record.ended) append(std::move(*living_));
            ++living_;
        }
        last_ = before;
    }

    const Storage& storage_;
    const HistoryRequest& request_;
    GrantId last_;
    std::vector<HistoryRow> present_;
    std::vector<HistoryRow>::iterator living_;
    HistoryPage page_;
    // The size of the texts in `page_`.
    std::size_t bytes_ = 0;
};

}  // namespace

Result<HistoryPage> read_history(const Storage& storage, const HistoryRequest& request,
                                 GrantId last, std::vector<HistoryRow> present) {
    if (request.limit == 0 || request.limit > 1000) {
        return Error(ErrorCode::invalid_argument, "limit is out of range: give 1 to 1,000");
    }
    if (!request.next.empty()) {
        const auto position = parse_position(request.next);
        if (!position) {
            return Error(ErrorCode::invalid_argument,
                         "next is not the value that an earlier page returned");
        }
        last = GrantId{position->link};
        std::erase_if(present, [&](const HistoryRow& row) {
            return number(row.holder.grant) >= position->shown;
        });
    }
    return HistoryReading(storage, request, last, std::move(present)).run();
}

Result<std::vector<AuditRow>> read_audit(const Snapshot& snapshot, std::uint64_t after,
                                         std::uint32_t limit) {
    std::vector<AuditRow> rows;
    const auto cursor = snapshot.scan(Family::history, records::audit_key(after + 1), {});
    for (std::size_t bytes = 0; cursor->valid() && rows.size() < limit && bytes < max_page_bytes;
         cursor->next()) {
        auto row = records::decode_audit(cursor->value());
        if (!row) return corrupt();
        bytes += lock_model::row_bytes(*row);
        rows.push_back(*std::move(row));
    }
    if (auto status = cursor->status(); !status) return std::move(status).error();
    return rows;
}

bool HistoryTrimmer::may_be_deleted(const Age& record, bool excess, const Facts& facts) const {
    // If the record is from another boot, it is at least as old as the current boot.
    std::chrono::nanoseconds age = record.epoch == facts.boot_epoch ? facts.now - record.deadline
                                                                    : facts.now.time_since_epoch();
    if (record.deadline != no_deadline)
        return age >= retention_.history_age ||
               (excess && age >= std::max(memory_min, record.lease));
    // Without a deadline, the age counts from the end, which is known as wall time only.
    age = facts.wall - record.ended_at;
    return age >= retention_.history_age || (excess && age >= memory_min);
}

void HistoryTrimmer::visit_grant(std::string_view key, std::string_view value,
                                 const Snapshot& snapshot, const Facts& facts, Round& round) const {
    const auto id = records::grant_of_key(key);
    auto record = id ? records::decode_grant(*id, value) : std::nullopt;
    if (!record || !record->ended) return;
    const bool excess = facts.ended_records > retention_.max_history_records + round.grants.size();
    const Age age{record->boot_epoch, record->deadline, record->lease, record->ended->at};
    if (!may_be_deleted(age, excess, facts)) return;
    if (record->more_locks > 0) {
        const auto set = snapshot.get(Family::locks, records::set_key(*id));
        if (set && *set) records::decode_set(**set, *record);
        round.batch.writes.push_back({Family::locks, records::set_key(*id), std::nullopt});
    }
    if (record->ends_session) {
        const std::string session = records::session_key(record->session);
        round.batch.writes.push_back({Family::locks, session, std::nullopt});
        ++round.sessions;
    }
    ForgottenGrant forgotten{*id, {}, record->request.high, record->request.low};
    for (records::Lock& lock : record->locks) {
        forgotten.resources.push_back(std::move(lock.resource));
    }
    round.batch.writes.push_back({Family::locks, std::string(key), std::nullopt});
    round.grants.push_back(std::move(forgotten));
}

void HistoryTrimmer::visit_session(std::string_view key, std::string_view value, const Facts& facts,
                                   Round& round) const {
    const auto id = records::session_of_key(key);
    const auto record = id ? records::decode_session(*id, value) : std::nullopt;
    if (!record || !record->ended) return;
    const bool excess = facts.ended_sessions > retention_.max_history_records + round.sessions;
    const Age age{record->boot_epoch, record->deadline, record->lease, record->ended->at};
    if (!may_be_deleted(age, excess, facts)) return;
    round.batch.writes.push_back({Family::locks, std::string(key), std::nullopt});
    ++round.sessions;
}

std::vector<std::string> audit_keys(const Snapshot& snapshot, std::string_view from,
                                    std::uint64_t through, std::size_t limit) {
    std::vector<std::string> keys;
    const std::string first = records::audit_key(0);
    const std::string last = records::audit_key(through);
    const auto cursor = snapshot.scan(Family::history, from.empty() ? first : from, {});
    for (; cursor->valid() && keys.size() < limit && cursor->key() <= last; cursor->next()) {
        keys.emplace_back(cursor->key());
    }
    return keys;
}

// The keys are in the order of time, so the rows to delete are the first ones. A row that cannot be
// decoded, and the rows after it, are kept.
void HistoryTrimmer::collect_audit(const Snapshot& snapshot, const Facts& facts, std::size_t budget,
                                   Round& round) {
    if (retention_.audit_age.count() == 0 && retention_.max_audit_rows == 0) return;
    const auto cursor = snapshot.scan(Family::history, audit_from_, {});
    for (; cursor->valid() && round.audit_rows < budget; cursor->next()) {
        const bool excess = retention_.max_audit_rows != 0 &&
                            facts.audit_rows > retention_.max_audit_rows + round.audit_rows;
        if (!excess) {
            const auto row = records::decode_audit(cursor->value());
            const bool old = row && retention_.audit_age.count() != 0 &&
                             facts.wall - row->at >= retention_.audit_age;
            if (!old) break;
        }
        round.batch.writes.push_back({Family::history, std::string(cursor->key()), std::nullopt});
        ++round.audit_rows;
    }
    if (cursor->valid()) audit_from_ = cursor->key();
}

HistoryTrimmer::Round HistoryTrimmer::collect(const Snapshot& snapshot, const Facts& facts,
                                              std::size_t budget) {
    Round round;
    const auto resume_scan = [&](std::string& from, char tag, const auto& examine) {
        const std::string first(1, tag);
        const std::string last(1, static_cast<char>(tag + 1));
        if (from.empty()) from = first;
        const auto cursor = snapshot.scan(Family::locks, from, last);
        std::size_t read = 0;
        for (; cursor->valid() && read < budget; cursor->next(), ++read) {
            examine(cursor->key(), cursor->value());
        }
        from = cursor->valid() ? std::string(cursor->key()) : std::string();
    };
    resume_scan(grants_from_, records::grant_tag,
                [&](std::string_view key, std::string_view value) {
                    visit_grant(key, value, snapshot, facts, round);
                });
    collect_audit(snapshot, facts, budget, round);
    // While grants of ended sessions are being cleaned up, the records of their sessions are still
    // needed.
    if (facts.cleaning) return round;
    resume_scan(sessions_from_, records::session_tag,
                [&](std::string_view key, std::string_view value) {
                    visit_session(key, value, facts, round);
                });
    round.complete = grants_from_.empty() && sessions_from_.empty();
    return round;
}

}  // namespace rocklock
