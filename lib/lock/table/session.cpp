// Opens, renews and ends sessions.
#include <algorithm>
#include <utility>

#include "base/mutant.hpp"
#include "lock/table/core.hpp"

namespace rocklock {

using lock_model::Session;

namespace {

Ending expired_at(WallTime at) { return {Outcome::expired, {}, {}, at}; }

// Returns whether a repeated request asks for a different session than the one that its id has
// opened. The session may have more processes than its request, because others may have joined; and
// a renewal may have changed its lease, so the lease at opening is compared.
bool opens_another(const OpenSession& request, std::chrono::milliseconds lease,
                   const Session& session) {
    const auto is_of_session = [&](const ProcessId& process) {
        return std::find(session.binding.processes.begin(), session.binding.processes.end(),
                         process) != session.binding.processes.end();
    };
    return request.bound != session.binding.bound ||
           lease != session.opening.lease.value_or(lease) ||
           !std::all_of(request.processes.begin(), request.processes.end(), is_of_session);
}

}  // namespace

std::optional<Error> LockTable::Core::check_open(const OpenSession& request,
                                                 milliseconds lease) const {
    if (auto error = check_name("principal", request.principal)) return error;
    if (lease != no_expiry) {
        if (auto error = check_lease(lease)) return error;
    } else if (request.bound != Bound::none) {
        return Error(ErrorCode::invalid_argument,
                     "a session without expiry cannot be bound to a process or a connection, whose "
                     "end would end it: open it unbound, or with a lease");
    } else if (!classes.allow_no_expiry()) {
        return Error(ErrorCode::invalid_argument,
                     "no class allows locks without expiry: open the session with a lease, or save "
                     "a class with no_expiry first");
    }
    if (auto error = check_texts(request.note, request.metadata)) return error;
    if (request.request_id.size() > limits::request_id_bytes) {
        return Error(ErrorCode::invalid_argument, "request id is longer than 256 bytes");
    }
    if (request.bound == Bound::process && request.processes.empty()) {
        return Error(ErrorCode::invalid_argument,
                     "a session bound to a process must name one: give its pid and start time");
    }
    return std::nullopt;
}

Session& LockTable::Core::make_session(const OpenSession& request, milliseconds lease,
                                       const RequestKey& request_key) {
    auto session = std::make_unique<Session>();
    session->id = fresh;
    session->principal = request.principal;
    session->lease = lease;
    session->opening.lease = lease;
    session->binding.bound = request.bound;
    session->binding.processes = request.processes;
    session->binding.host = sessions.keep_host(request.host);
    session->uid = request.uid;
    session->binding.pid = request.pid;
    session->note = request.note;
    session->metadata = request.metadata;
    session->opening.request = request_key;
    session->opening.at = now.wall;
    session->active = now.boot;
    session->timer.owner = session.get();
    ++counts.sessions_opened;
    Session& made = sessions.add_new(std::move(session));
    count_session(made);
    return made;
}

void LockTable::Core::count_session(Session& session) {
    ROCKLOCK_ASSERT(session.counted == 0);
    session.counted = lock_model::bytes_of_session(session);
    usage.add_session(session.uid, session.counted);
}

void LockTable::Core::free_session(Session& session) {
    usage.remove_session(session.uid, session.counted);
    sessions.remove(session);
}

// Returns the live session that was opened with this request id, or null.
Session* LockTable::Core::opened_by(const RequestKey& id) {
    Session* const old = id ? requests.find(id).session() : nullptr;
    return old != nullptr && old->live(now.boot) ? old : nullptr;
}

void LockTable::Core::handle(const OpenSession& request) {
    const milliseconds lease = request.lease.value_or(limits::lease_default);
    if (auto error = check_open(request, lease)) return refuse(ticket, *std::move(error));
    const RequestKey id = request_key(nullptr, &request, request.request_id);
    if (const Session* old = opened_by(id)) {
        if (opens_another(request, lease, *old)) {
            return refuse(ticket, {ErrorCode::parameter_mismatch,
                                   "this request id was used before for a session with another "
                                   "lease, binding or process: use a new one"});
        }
        ++counts.replays;
        return answer(ticket, info_with_secret(*old));
    }
    if (const auto& full = usage.growth_refused()) return refuse(ticket, *full);
    if (auto error = usage.check_session(request.uid, lock_model::bytes_of_session(request)))
        return refuse(ticket, *std::move(error));
    Session& session = make_session(request, lease, id);
    if (id) requests.set(id, RequestOutcome(session));
    extend(session);
    write_session(session);
    need(Durability::written);
    answer(ticket, info_with_secret(session));
}

Session* LockTable::Core::require_session(const SessionId& id) {
    Session* const found = sessions.find(id);
    if (found == nullptr) {
        decision->history.push_back({ticket, id, GrantId{}, HistoryLookup::Verb::other});
        return nullptr;
    }
    Session& session = *found;
    if (session.live(now.boot)) return &session;
    refuse(ticket,
           session_error(session.ended ? *session.ended : expired_at(wall_of(session.deadline))));
    return nullptr;
}

Error LockTable::Core::session_error(const Ending& ending) const {
    std::string text = "the session was closed";
    if (ending.outcome == Outcome::expired) text = "the lease of the session has expired";
    if (ending.outcome == Outcome::broken) text = "the session was ended by " + ending.by;
    if (ending.outcome == Outcome::broken && !ending.reason.empty()) {
        text += " (" + ending.reason + ")";
    }
    Error error(ErrorCode::session_expired, text + ": open a new session");
    error.ended = ending;
    return error;
}

// Checks waiting requests as well, because they will be granted under the lease of that time.
std::optional<Error> LockTable::Core::lease_too_long_for_locks(const Session& session,
                                                               milliseconds lease) const {
    if (!classes.limit_leases()) return std::nullopt;
    for (const Grant* grant = session.first; grant != nullptr; grant = grant->next) {
        if (!lock_model::live(*grant, now.boot)) continue;
        if (auto error = lease_too_long(*grant, lease)) return error;
    }
    for (const Wait* wait : session.waits) {
        for (const RequestedLock& requested : wait->requested_locks) {
            if (auto error = lease_too_long(*requested.resource, lease)) return error;
        }
    }
    return std::nullopt;
}

// Returns an error if a new note or new metadata would exceed the byte limit of the session's user.
std::optional<Error> LockTable::Core::check_new_texts(const Session& session,
                                                      const RenewSession& request) const {
    if (!request.note && !request.metadata) return std::nullopt;
    OpenSession after;
    after.principal = session.principal;
    after.note = request.note.value_or(session.note);
    after.metadata = request.metadata.value_or(session.metadata);
    const std::uint64_t bytes = lock_model::bytes_of_session(after);
    if (bytes <= session.counted) return std::nullopt;
    return usage.check_bytes(session.uid, bytes - session.counted);
}

void LockTable::Core::handle(const RenewSession& request) {
    Session* const found = sessions.find(request.session);
    // After the manager was stalled, a late renewal is judged as of the time at which the manager
    // could have read it.
    const bool late_but_good = request.as_of && found != nullptr && !found->ended &&
                               *request.as_of < found->deadline &&
                               !mutated(Mutant::late_renewals_refused);
    const bool revives = mutated(Mutant::renewal_revives) && found != nullptr;
    Session* session = late_but_good || revives ? found : require_session(request.session);
    if (session == nullptr) return;
    const milliseconds lease = request.lease.value_or(session->lease);
    if (request.lease == no_expiry) {
        return refuse(ticket, {ErrorCode::invalid_argument,
                               "a renewal cannot remove the lease of a session: open a new session "
                               "without expiry, and transfer the grants to it"});
    }
    if (lease != no_expiry) {
        if (auto error = check_lease(lease)) return refuse(ticket, *std::move(error));
    }
    if (auto error = check_texts(request.note.value_or(session->note),
                                 request.metadata.value_or(session->metadata))) {
        return refuse(ticket, *std::move(error));
    }
    const bool longer = lease > session->lease;
    if (longer) {
        if (auto error = lease_too_long_for_locks(*session, lease))
            return refuse(ticket, *std::move(error));
    }
    if (auto error = check_new_texts(*session, request)) return refuse(ticket, *std::move(error));
    ++counts.renewals;
    if (session->deadline != no_deadline) {
        counts.renew_margin.add(
            std::max(session->deadline - now.boot, std::chrono::nanoseconds{0}));
    }
    session->lease = lease;
    if (request.active) session->active = now.boot;
    extend(*session);
    if (request.note || request.metadata) {
        if (request.note) session->note = *request.note;
        if (request.metadata) session->metadata = *request.metadata;
        usage.remove_session(session->uid, std::exchange(session->counted, 0));
        count_session(*session);
        write_session(*session);
    }
    write_deadline(*session);
    need(longer ? Durability::durable : Durability::written);
    SessionInfo reply = info(*session);
    Notices notices = take_notices(*session);
    reply.wanted = std::move(notices.wanted);
    reply.lost = std::move(notices.lost);
    reply.answers = std::move(notices.answers);
    answer(ticket, std::move(reply));
}

void LockTable::Core::handle(const JoinProcess& request) {
    Session* session = require_session(request.session);
    if (session == nullptr) return;
    if (session->binding.bound != Bound::process) {
        return refuse(ticket,
                      {ErrorCode::invalid_argument,
                       "the session is not bound to a process: open it with Bound process"});
    }
    const ClientHost* const host = session->binding.host;
    if (host == nullptr ? request.host != ClientHost{} : request.host != *host) {
        return refuse(ticket,
                      {ErrorCode::invalid_argument,
                       "the session is bound to processes of " +
                           (host == nullptr ? "the host of the manager" : "host " + host->node) +
                           ": a process of another host cannot be added"});
    }
    if (std::find(session->binding.processes.begin(), session->binding.processes.end(),
                  request.process) == session->binding.processes.end()) {
        if (session->binding.processes.size() >= limits::resources_per_grant) {
            return refuse(ticket,
                          {ErrorCode::limit_exceeded, "a session has at most 100 processes"});
        }
        session->binding.processes.push_back(request.process);
        write_session(*session);
        need(Durability::written);
    }
    answer(ticket, info(*session));
}

void LockTable::Core::handle(const CloseSession& request) {
    Session* session = require_session(request.session);
    if (session == nullptr) return;
    end_with_answer(*session, {Outcome::released, {}, request.reason, now.wall});
}

void LockTable::Core::handle(const EndSession& request) {
    if (auto error = lock_model::check_reason(request.reason))
        return refuse(ticket, *std::move(error));
    if (auto error = check_name("the administrator", request.by))
        return refuse(ticket, *std::move(error));
    Session* session = require_session(request.session);
    if (session == nullptr) return;
    need(Durability::durable);
    end_with_answer(*session, {Outcome::broken, request.by, request.reason, now.wall});
}

// Ends the session, and responds with the grants that end with it.
void LockTable::Core::end_with_answer(Session& session, Ending ending) {
    ClosedSession closed;
    for (const Grant* grant = session.first; grant != nullptr; grant = grant->next) {
        if (lock_model::live(*grant, now.boot)) closed.released.push_back(grant->id());
    }
    answer(ticket, std::move(closed));
    end_session(session, std::move(ending));
}

SessionInfo LockTable::Core::info_with_secret(const Session& session) const {
    SessionInfo result = info(session);
    result.secret = session_secret(key, session.id);
    return result;
}

SessionInfo LockTable::Core::info(const Session& session) const {
    SessionInfo result;
    result.id = session.id;
    result.lease = session.lease;
    result.remaining = lock_model::time_until(session.deadline, now.boot);
    result.deadline = session.deadline;
    result.deadline_wall = wall_of(session.deadline);
    return result;
}

// Gives the session a full lease from now on. If the deadline moves to a later time, the timer is
// not moved; it is rearmed when it fires. The cost of a renewal therefore does not depend on the
// number of sessions.
void LockTable::Core::extend(Session& session) {
    ROCKLOCK_ASSERT(!session.ended || mutated(Mutant::renewal_revives));
    const BootTime deadline = session.lease == no_expiry ? no_deadline : now.boot + session.lease;
    const BootTime before = std::exchange(session.deadline, deadline);
    session.warned = false;
    if (deadline == no_deadline) return;
    if (!session.timer.armed() || warning_time(session) < session.timer.at) arm_session(session);
    // The timer of a wait is never later than its session's deadline. If the new deadline is
    // earlier, later timers have to be rearmed. Otherwise the waits are not visited: there may be
    // many, and each grant of the session extends it.
    if (session.deadline >= before) return;
    for (Wait* wait : session.waits) {
        if (session.deadline < wait->timer.at) serving.add_wait(*wait);
    }
}

void LockTable::Core::write_session(const Session& session) {
    ROCKLOCK_ASSERT(!session.unborn);
    records::SessionRecord record;
    record.version = numbers.take_version();
    record.id = session.id;
    record.boot_epoch = boot_epoch;
    record.deadline = session.deadline;
    record.lease = session.lease;
    record.principal = session.principal;
    record.bound = session.binding.bound;
    record.single = session.only_grant.set;
    record.made_for = session.only_grant.id;
    record.uid = session.uid;
    record.pid = session.binding.pid;
    record.processes = session.binding.processes;
    if (session.binding.host != nullptr) record.host = *session.binding.host;
    record.opened = session.opening.at;
    record.order = session.order;
    record.note = session.note;
    record.metadata = session.metadata;
    record.request = session.opening.request;
    record.ended = session.ended;
    write(Family::locks, records::session_key(session.id), records::encode(record));
}

void LockTable::Core::write_deadline(Session& session) {
    ROCKLOCK_ASSERT(!session.unborn);
    session.renewed = true;
    write(Family::locks, records::deadline_key(session.id),
          records::encode(records::DeadlineRecord{numbers.take_version(), boot_epoch,
                                                  session.deadline, session.lease}));
}

// Ends the session now. The sweep cleans up grants beyond `budget`.
void LockTable::Core::end_session(Session& session, Ending ending, std::size_t budget) {
    ROCKLOCK_ASSERT(!session.ended);
    session.ended = std::move(ending);
    timers.sessions.remove(session.timer);
    // If the lease expired before, a later OpenSession may have used the id again.
    if (session.opening.request) requests.erase(session.opening.request, RequestOutcome(session));
    if (budget > 0) note_shared_end(session);
    if (!session.unborn) {
        sessions.count_ended();
        if (!session.only_grant.ended_session) write_session(session);
        if (session.renewed) erase(Family::locks, records::deadline_key(session.id));
    }
    // When these waits are examined, they are refused because their session has ended.
    for (Wait* wait : session.waits) serving.add_wait(*wait);
    end_notice_waits(session);
    sessions.add_ending(session);
    clean(session, budget);
}

// If the session ends together with the one grant for which it was opened, the record of the grant
// states the end of both. This halves the number of records to write, and keeps their writes in the
// order of the keys.
void LockTable::Core::note_shared_end(Session& session) {
    if (!session.only_grant.set || session.grants != 1 ||
        session.first->id() != session.only_grant.id)
        return;
    ROCKLOCK_ASSERT(session.first->next == nullptr);
    session.only_grant.ended_session = true;
}

std::size_t LockTable::Core::clean(Session& session, std::size_t budget) {
    ROCKLOCK_ASSERT(session.ended);
    const Ending ending = *session.ended;
    std::size_t cleaned = 0;
    for (; session.first != nullptr && cleaned < budget; ++cleaned)
        end_grant(*session.first, ending);
    forget_session(session);
    return cleaned;
}

// Frees an ended session that has no grants and no waits left.
void LockTable::Core::forget_session(Session& session) {
    if (!session.ended || session.first != nullptr || !session.waits.empty()) return;
    sessions.finish_ending(session);
    free_session(session);
}

}  // namespace rocklock
