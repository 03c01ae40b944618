// From a request to a grant.
#include <algorithm>
#include <utility>

#include "base/duration_text.hpp"
#include "base/invalid_argument.hpp"
#include "base/mutant.hpp"
#include "lock/table/core.hpp"

namespace rocklock {

using lock_model::RequestedLock;
using lock_model::RequestKey;
using lock_model::tighter;
using lock_model::Wait;

namespace {

std::string quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

// A number that is no length of a name and none of `held`, which stand where this does in requests
// that have no `modes`.
std::uint64_t fingerprint_of(const std::vector<Mode>& modes) {
    std::uint64_t value = 1;
    for (const Mode mode : modes) value = value * 4 + static_cast<std::uint64_t>(mode);
    return value << 32;
}

// What must be equal in a repeated request: Locks, Held and MaxHoldMs. Written to disk, so it never
// changes.
std::uint64_t fingerprint_of(const Acquire& request) {
    std::uint64_t hash = fnv_start;
    const auto add = [&](std::uint64_t value) {
        hash = fnv1a({reinterpret_cast<const char*>(&value), sizeof value}, hash);
    };
    for (const LockRequest& lock : request.locks) {
        add(lock.resource.size());
        hash = fnv1a(lock.resource, hash);
        add(lock.mode ? 1 + static_cast<std::uint64_t>(*lock.mode) : 0);
        add(lock.to ? 1 + static_cast<std::uint64_t>(*lock.to) : 0);
        add(lock.subtree ? 1 : 0);
        add(lock.permits);
        if (!lock.modes.empty()) add(fingerprint_of(lock.modes));
    }
    add(static_cast<std::uint64_t>(request.held));
    add(request.max_hold ? 1 + static_cast<std::uint64_t>(request.max_hold->count()) : 0);
    return hash;
}

std::optional<Error> check_acquire(const Acquire& request) {
    if (request.session.has_value() == request.opens.has_value()) {
        return invalid_argument(
            "an acquire names its session or, without one, a principal: exactly one of them");
    }
    if (request.locks.empty()) return invalid_argument("no resource is named: give 1 to 100");
    if (request.locks.size() > limits::resources_per_grant) {
        Error error(ErrorCode::limit_exceeded,
                    "a set of " + std::to_string(request.locks.size()) +
                        " resources is too large: at most 100 are allowed");
        error.limit = limits::resources_per_grant;
        return error;
    }
    if (request.patience < std::chrono::milliseconds{0}) {
        return invalid_argument("patience is negative: give 0 to try, or how long to wait");
    }
    if (request.max_hold && (*request.max_hold <= std::chrono::milliseconds{0} ||
                             *request.max_hold > limits::lease_max)) {
        return invalid_argument("max_hold is out of range: give 1 ms to 30 days");
    }
    if (request.request_id.size() > limits::request_id_bytes) {
        return invalid_argument("request id is longer than 256 bytes");
    }
    return check_texts(request.note, request.metadata);
}

std::optional<Error> check_modes(const LockRequest& lock) {
    if (lock.modes.empty()) return std::nullopt;
    if (lock.mode || lock.to) {
        return invalid_argument("resource " + quoted(lock.resource) +
                                ": give modes, or a mode, or an intent: one of them");
    }
    for (auto mode = lock.modes.begin(); mode != lock.modes.end(); ++mode) {
        if (std::find(lock.modes.begin(), mode, *mode) == mode) continue;
        return invalid_argument("resource " + quoted(lock.resource) + ": the mode " +
                                std::string(to_string(*mode)) +
                                " is named twice among its modes: name each once");
    }
    return std::nullopt;
}

bool has_choice(const LockRequest& lock) { return !lock.modes.empty(); }

bool chooses(const Acquire& request) {
    return std::any_of(request.locks.begin(), request.locks.end(), has_choice);
}

std::vector<LockRequest> in_weakest_modes(std::vector<LockRequest> locks) {
    for (LockRequest& lock : locks) {
        if (!has_choice(lock)) continue;
        lock.mode = *std::min_element(lock.modes.begin(), lock.modes.end());
        lock.modes.clear();
    }
    return locks;
}

// A mutant: all holders of a resource get the lease of the newest.
void share_lease(const lock_model::Grant& newest) {
    const lock_model::Hold* hold = newest.holds().front().resource->first;
    for (; hold != nullptr; hold = hold->next) {
        BootTime& deadline = hold->grant->session->deadline;
        deadline = std::max(deadline, newest.session->deadline);
    }
}

}  // namespace

// ---- Working out what is wanted ----

Result<LockTable::Core::Resolved> LockTable::Core::resolve(const std::vector<LockRequest>& locks) {
    Resolved resolved;
    resolved.requested_locks.reserve(locks.size());
    for (const LockRequest& lock : locks) {
        if (auto error = resolve_one(lock, resolved)) return *std::move(error);
    }
    if (!classes.empty()) {
        // Judged by what was asked for: a name that a dependant makes stronger takes nothing along.
        std::vector<bool> edits;
        for (const RequestedLock& requested : resolved.requested_locks)
            edits.push_back(requested.mode != Mode::read);
        for (std::size_t root = 0; root < locks.size(); ++root) {
            if (!edits[root]) continue;
            const LockClass& lock_class = classes.of(locks[root].resource);
            if (auto error = add_dependants(locks[root], lock_class, root, resolved)) {
                return *std::move(error);
            }
        }
    }
    return resolved;
}

std::optional<Error> LockTable::Core::resolve_one(const LockRequest& lock, Resolved& resolved) {
    if (auto error = check_name("resource name", lock.resource)) return error;
    if (auto error = check_depth(lock.resource)) return error;
    if (lock.mode && lock.to) {
        return invalid_argument("resource " + quoted(lock.resource) +
                                ": give a mode or an intent, not both");
    }
    if (auto error = check_modes(lock)) return error;
    const LockClass& lock_class = classes.of(lock.resource);
    RequestedLock requested;
    requested.subtree = lock.subtree;
    if (lock_class.permits > 0) {
        if (lock.mode || lock.to || lock.subtree || has_choice(lock)) {
            return Error(ErrorCode::kind_mismatch,
                         "resource " + quoted(lock.resource) + " is counted in permits (class " +
                             quoted(lock_class.pattern) + "): ask for permits, not for a mode");
        }
        requested.permits = std::max<std::uint32_t>(lock.permits, 1);
        if (requested.permits > lock_class.permits) {
            Error error(ErrorCode::limit_exceeded,
                        "resource " + quoted(lock.resource) + " has only " +
                            std::to_string(lock_class.permits) + " permits");
            error.limit = lock_class.permits;
            return error;
        }
    } else if (lock.permits > 0) {
        return Error(ErrorCode::kind_mismatch,
                     "resource " + quoted(lock.resource) +
                         " is locked in modes, not counted in permits: "
                         "give its class permits first, or ask for a mode");
    } else if (lock.mode) {
        requested.mode = *lock.mode;
    } else if (has_choice(lock)) {
        requested.mode = *std::max_element(lock.modes.begin(), lock.modes.end());
    } else {
        const auto mode = mode_for(lock_class.policy, lock.to.value_or(Intent::edit));
        if (!mode) {
            return invalid_argument(
                "resource " + quoted(lock.resource) +
                ": its policy exclusive_write has no lock for reading: read without one, "
                "or name the mode read");
        }
        requested.mode = *mode;
    }
    requested.resource = &resource(lock.resource);
    for (const RequestedLock& other : resolved.requested_locks) {
        if (other.resource == requested.resource) {
            return invalid_argument("resource " + quoted(lock.resource) +
                                    " is named twice: name each once");
        }
    }
    if (resolved.requested_locks.empty()) resolved.lease = lock_class.lease;
    resolved.requested_locks.push_back(requested);
    resolved.max_hold = tighter(resolved.max_hold, lock_class.max_hold);
    resolved.max_lease = tighter(resolved.max_lease, lock_class.max_lease);
    return std::nullopt;
}

std::optional<Error> LockTable::Core::add_dependants(const LockRequest& lock,
                                                     const LockClass& lock_class, std::size_t root,
                                                     Resolved& resolved) {
    for (const Dependant& dependant : lock_class.dependants) {
        if (dependant.resource == lock.resource) continue;
        if (classes.of(dependant.resource).permits > 0) {
            return Error(ErrorCode::kind_mismatch,
                         "dependant " + quoted(dependant.resource) + " of " +
                             quoted(lock.resource) +
                             " is counted in permits and can't be locked along");
        }
        // What its own class limits holds for it here too.
        const LockClass& its_class = classes.of(dependant.resource);
        resolved.max_hold = tighter(resolved.max_hold, its_class.max_hold);
        resolved.max_lease = tighter(resolved.max_lease, its_class.max_lease);
        Resource& at = resource(dependant.resource);
        const auto same =
            std::find_if(resolved.requested_locks.begin(), resolved.requested_locks.end(),
                         [&](const RequestedLock& requested) { return requested.resource == &at; });
        if (same != resolved.requested_locks.end()) {
            same->mode = std::max(same->mode, dependant.mode);
            continue;
        }
        if (resolved.requested_locks.size() == limits::resources_per_grant) {
            Error error(ErrorCode::limit_exceeded,
                        "the set has more than 100 resources with its dependants");
            error.limit = limits::resources_per_grant;
            return error;
        }
        resolved.requested_locks.push_back(
            {.resource = &at, .cause = static_cast<std::uint8_t>(root), .mode = dependant.mode});
    }
    return std::nullopt;
}

std::vector<LockRequest> LockTable::Core::choose_modes(const Session& session,
                                                       std::vector<LockRequest> locks) {
    for (LockRequest& lock : locks) {
        for (const Mode mode : std::exchange(lock.modes, {})) {
            lock.mode = mode;
            const auto alone = resolve({lock});
            if (alone && !find_conflicts(session, alone->requested_locks, nullptr, false).blocked)
                break;
        }
    }
    return locks;
}

RequestKey LockTable::Core::request_key(const SessionId* session, const OpenSession* opens,
                                        std::string_view request_id) const {
    if (request_id.empty()) return {};
    const std::size_t separators = mutated(Mutant::keys_run_together) ? 0 : 1;
    const auto hash = [&](std::uint64_t start) {
        std::uint64_t value = start;
        if (session != nullptr) {
            value =
                fnv1a({reinterpret_cast<const char*>(session->bytes.data()), session->bytes.size()},
                      value);
        } else {
            value = fnv1a(std::to_string(opens->uid), value);
            value = fnv1a({"\0", separators}, value);
            value = fnv1a(opens->principal, value);
        }
        value = fnv1a({"\0", separators}, value);
        return fnv1a(request_id, value);
    };
    return {hash(fnv_start), hash(fnv_start * 31)};
}

std::optional<Error> LockTable::Core::lease_too_long(const Resource& at, milliseconds lease) const {
    const milliseconds longest = classes.of(at.name()).max_lease;
    if (longest == milliseconds{0} || lease <= longest) return std::nullopt;
    return invalid_argument("a lease of " + exact_duration(lease) +
                            " is longer than the class of " + quoted(at.name()) +
                            " allows: at most " + exact_duration(longest));
}

std::optional<Error> LockTable::Core::lease_too_long(const Grant& grant, milliseconds lease) const {
    if (!classes.limit_leases()) return std::nullopt;
    for (const Hold& hold : grant.holds()) {
        if (auto error = lease_too_long(*hold.resource, lease)) return error;
    }
    return std::nullopt;
}

// ---- Acquiring ----

// The refusal of a request that goes beyond what its user may have. `session`: none if the request
// opens one.
std::optional<Error> LockTable::Core::check_user(const Acquire& request,
                                                 const Session* session) const {
    const std::uint64_t bytes =
        lock_model::bytes_of_grant(request.locks, request.note, request.metadata);
    if (session != nullptr) return usage.check_grant(session->uid, bytes);
    const std::uint64_t own = lock_model::bytes_of_session(*request.opens);
    if (auto error = usage.check_session(request.opens->uid, own)) return error;
    return usage.check_grant(request.opens->uid, own + bytes);
}

void LockTable::Core::handle(const Acquire& request) {
    if (auto error = check_acquire(request)) return refuse(ticket, *std::move(error));
    const RequestKey id =
        request_key(request.session ? &*request.session : nullptr,
                    request.opens ? &*request.opens : nullptr, request.request_id);
    const std::uint64_t fingerprint = id ? fingerprint_of(request) : 0;
    if (id && replay(id, fingerprint, request)) return;

    Session* session = nullptr;
    if (request.session) {
        session = require_session(*request.session);
        if (session == nullptr) return;
        // Whether or not it is granted.
        session->active = now.boot;
    }
    auto resolved = resolve(request.locks);
    if (!resolved) return refuse(ticket, std::move(resolved).error());
    const milliseconds lease =
        session != nullptr ? session->lease : request.opens->lease.value_or(resolved->lease);
    if (resolved->max_lease > milliseconds{0} && lease > resolved->max_lease) {
        return refuse(ticket, invalid_argument("a lease of " + exact_duration(lease) +
                                               " is longer than the class allows: at most " +
                                               exact_duration(resolved->max_lease)));
    }
    if (session == nullptr) {
        if (auto error = check_open(*request.opens, lease))
            return refuse(ticket, *std::move(error));
    } else if (check_own_holds(request, *session, *resolved)) {
        return;
    }

    if (auto error = check_user(request, session)) return refuse(ticket, *std::move(error));
    if (session == nullptr) {
        session = &make_session(*request.opens, lease, RequestKey{});
        session->single = true;
        session->unborn = true;
    }
    // No error: the strongest modes have been judged already, and ask for no less.
    if (chooses(request)) resolved = resolve(choose_modes(*session, request.locks));
    Conflicts conflicts = find_conflicts(*session, resolved->requested_locks, nullptr, false);
    if (conflicts.blocked && request.patience == milliseconds{0}) {
        conflicts = find_conflicts(*session, resolved->requested_locks, nullptr, false,
                                   Collect::holds_and_waits);
        refuse(ticket, conflict(ErrorCode::conflict, *session, conflicts));
        if (session->unborn) free_session(*session);
        return;
    }
    const milliseconds max_hold =
        tighter(resolved->max_hold, request.max_hold.value_or(milliseconds{0}));
    if (!conflicts.blocked) {
        const lock_model::GrantRequest grant_request{
            session, request.note, &request.metadata, max_hold, id, fingerprint, false};
        return answer(ticket, answer_grant(make_grant(grant_request, resolved->requested_locks,
                                                      conflicts.dead)));
    }
    auto wait = std::make_unique<Wait>();
    wait->ticket = ticket;
    wait->session = session;
    wait->held = request.held;
    wait->note = request.note;
    wait->metadata = request.metadata;
    wait->max_hold = max_hold;
    wait->request = id;
    wait->fingerprint = fingerprint;
    wait->patience_ends = lock_model::patience_end(now.boot, request.patience);
    begin_wait(std::move(wait), resolved->requested_locks);
}

bool LockTable::Core::replay(const RequestKey& id, std::uint64_t fingerprint,
                             const Acquire& request) {
    const auto seen = requests.find(id);
    if (seen == requests.end()) return false;
    const auto differs = [&] {
        refuse(ticket, {ErrorCode::parameter_mismatch,
                        "this request id was used before with other locks: use a new one"});
        return true;
    };
    const lock_model::Wait* waiting = waits.find(seen->second.waiting);
    if (waiting != nullptr && waiting->request == id) {
        if (waiting->fingerprint != fingerprint) return differs();
        // The place in the queue goes to whoever asks now: the one before has lost its connection.
        std::unique_ptr<Wait> wait = waits.take(seen->second.waiting);
        refuse(wait->ticket,
               {ErrorCode::cancelled, "the same request was sent again and waits instead"});
        wait->ticket = ticket;
        wait->recheck = false;
        wait->patience_ends = lock_model::patience_end(now.boot, request.patience);
        seen->second.waiting = ticket;
        Wait& again = *wait;
        waits.insert(ticket, std::move(wait));
        recheck(again);
        return true;
    }
    const auto found = grants.find(number(seen->second.grant));
    if (found == grants.end()) {
        decision->history.push_back({ticket, request.session.value_or(SessionId{}),
                                     seen->second.grant, HistoryLookup::Verb::replay, fingerprint});
        return true;
    }
    const Grant& grant = **found;
    if (!grant.extra || !(grant.extra->request == id)) return false;
    if (grant.extra->fingerprint != fingerprint) return differs();
    ++counts.replays;
    rocklock::Grant reply = answer_grant(grant);
    if (!lock_model::live(grant, now.boot)) reply.ended = ending_of(grant);
    answer(ticket, std::move(reply));
    return true;
}

lock_model::Hold* LockTable::Core::own_hold(const Session& session, const Resource& at) const {
    const auto good = [&](const Hold& hold) {
        return hold.resource == &at && hold.root() && lock_model::live(hold, now.boot);
    };
    // Whichever list is shorter.
    if (at.holds <= session.grants) {
        for (Hold* hold = at.first; hold != nullptr; hold = hold->next) {
            if (hold->grant->session == &session && good(*hold)) return hold;
        }
        return nullptr;
    }
    for (Grant* grant = session.first; grant != nullptr; grant = grant->next) {
        for (Hold& hold : grant->holds()) {
            if (good(hold)) return &hold;
        }
    }
    return nullptr;
}

// The one live grant that covers every requested lock in the same or a stronger mode.
lock_model::Grant* LockTable::Core::own_cover(
    Session& session, std::span<const RequestedLock> requested_locks) const {
    const auto meets = [&](const Hold& hold, const RequestedLock& requested) {
        return hold.resource == requested.resource && covers(hold.mode, requested.mode) &&
               hold.permits >= requested.permits && (hold.subtree || !requested.subtree);
    };
    for (Hold* first = requested_locks.front().resource->first; first != nullptr;
         first = first->next) {
        Grant* grant = first->grant;
        if (grant->session != &session || !lock_model::live(*grant, now.boot)) continue;
        const auto holds = grant->holds();
        const bool covers_all = std::all_of(
            requested_locks.begin(), requested_locks.end(), [&](const RequestedLock& requested) {
                return std::any_of(holds.begin(), holds.end(),
                                   [&](const Hold& hold) { return meets(hold, requested); });
            });
        if (covers_all) return grant;
    }
    return nullptr;
}

// A lock that was taken along for another one (a dependant) does not count as held: it may be taken
// for itself besides.
bool LockTable::Core::check_own_holds(Ticket to, Session& session,
                                      std::span<const RequestedLock> requested_locks, Held held) {
    const Grant* same = nullptr;
    for (const RequestedLock& requested : requested_locks) {
        if (!requested.root()) continue;
        const Hold* own = own_hold(session, *requested.resource);
        if (own != nullptr) same = own->grant;
    }
    if (same == nullptr) return false;
    Grant* cover = held == Held::refuse ? nullptr : own_cover(session, requested_locks);
    if (cover == nullptr) {
        Error error(
            ErrorCode::already_held,
            held == Held::refuse
                ? "this session holds it already: release or convert that grant, or join it"
                : "this session holds it already, but no one grant covers all that is asked for");
        error.grant = same->id;
        refuse(to, std::move(error));
        return true;
    }
    if (held == Held::count) {
        ++extra_of(*cover).count;
        extend(session);
        write_grant(*cover);
        need(Durability::durable);
    }
    answer(to, answer_grant(*cover));
    return true;
}

bool LockTable::Core::check_own_holds(const Acquire& request, Session& session,
                                      const Resolved& strongest) {
    if (!chooses(request))
        return check_own_holds(ticket, session, strongest.requested_locks, request.held);
    const auto weakest = resolve(in_weakest_modes(request.locks));
    return check_own_holds(ticket, session, weakest->requested_locks, request.held);
}

// ---- Granting ----

lock_model::GrantExtra& LockTable::Core::extra_of(Grant& grant) {
    if (!grant.extra) {
        grant.extra = std::make_unique<lock_model::GrantExtra>();
        grant.extra->timer.owner = &grant;
    }
    return *grant.extra;
}

lock_model::Grant& LockTable::Core::make_grant(const lock_model::GrantRequest& grant_request,
                                               std::span<const RequestedLock> requested_locks,
                                               const std::vector<GrantId>& dead) {
    Session& session = *grant_request.session;
    // Whoever is out of time in its way ends in the same batch.
    end_dead(dead, session);
    Grant& grant = *Grant::make(requested_locks.size());
    grant.id = GrantId{number(take_token())};
    grant.session = &session;
    grant.acquired = now.boot;
    grant.waited = grant_request.waited;
    for (std::size_t i = 0; i < requested_locks.size(); ++i) {
        Hold& hold = grant.holds()[i];
        hold.resource = requested_locks[i].resource;
        hold.mode = requested_locks[i].mode;
        hold.subtree = requested_locks[i].subtree;
        hold.permits = requested_locks[i].permits;
        hold.cause = requested_locks[i].cause;
        hold.before = hold.resource->last.grant();
        link(hold);
        ++(hold.permits > 0 ? counts.permits_granted
                            : counts.locks_granted[static_cast<std::size_t>(hold.mode)]);
    }
    grant.previous = session.last;
    (session.last != nullptr ? session.last->next : session.first) = &grant;
    session.last = &grant;
    ++session.grants;
    grants.insert(&grant);
    ++counts.granted;

    if (!grant_request.note.empty() || !grant_request.metadata->empty() || grant_request.request) {
        auto& extra = extra_of(grant);
        extra.note = grant_request.note;
        extra.metadata = *grant_request.metadata;
        extra.request = grant_request.request;
        extra.fingerprint = grant_request.fingerprint;
        if (grant_request.request)
            requests[grant_request.request] = lock_model::Remembered::of(grant.id);
    }
    usage.add_grant(session.uid, lock_model::bytes_of_grant(grant));
    if (grant_request.max_hold > milliseconds{0}) {
        remember_cap(grant, grant_request.max_hold, now.boot + grant_request.max_hold);
    }
    const bool ran_on =
        mutated(Mutant::lease_from_request) && grant_request.waited && !session.unborn;
    if (!ran_on) extend(session);
    session.active = now.boot;
    if (mutated(Mutant::shared_lease)) share_lease(grant);
    if (session.unborn) {
        session.unborn = false;
        session.made_for = grant.id;
        write_session(session);
    }
    write_grant(grant);
    if (grant.hold_count > 1) {
        write(Family::locks, records::set_key(grant.id), records::encode_set(grant));
    }
    if (options.events) note_grant(grant);
    need(Durability::durable);
    recheck_covered(grant);
    return grant;
}

// The taker's own are left to the sweep: a session made for one grant would end with it, in the
// middle of being given another.
void LockTable::Core::end_dead(const std::vector<GrantId>& dead, const Session& taker) {
    for (const GrantId id : dead) {
        const auto old = grants.find(number(id));
        if (old != grants.end() && (*old)->session != &taker) end_grant(**old, ending_of(**old));
    }
}

void LockTable::Core::remember_cap(Grant& grant, milliseconds max_hold, BootTime cap) {
    auto& extra = extra_of(grant);
    extra.max_hold = max_hold;
    extra.cap = cap;
    grant_timers.set(extra.timer, cap);
}

void LockTable::Core::link(Hold& hold) {
    Resource& at = *hold.resource;
    hold.previous = nullptr;
    hold.next = at.first;
    if (at.first != nullptr) at.first->previous = &hold;
    at.first = &hold;
    at.last = lock_model::LastGrant(hold.grant->id);
    ++at.holds;
    if (hold.mode != Mode::read) ++at.strong;
    if (hold.subtree) ++subtree_marks;
    if (hold.mode == Mode::exclusive) exclusive.begin(at.name(), hold.subtree);
}

void LockTable::Core::unlink(Hold& hold) {
    Resource& at = *hold.resource;
    (hold.previous != nullptr ? hold.previous->next : at.first) = hold.next;
    if (hold.next != nullptr) hold.next->previous = hold.previous;
    --at.holds;
    if (hold.mode != Mode::read) --at.strong;
    if (hold.subtree) --subtree_marks;
    if (hold.mode == Mode::exclusive) exclusive.end(at.name(), hold.subtree);
    touch(at);
}

void LockTable::Core::write_grant(Grant& grant) {
    grant.version = take_version();
    write(Family::locks, records::grant_key(grant.id),
          records::encode_grant(grant, boot_epoch, wall_of(grant.acquired), nullptr, {}));
}

rocklock::Grant LockTable::Core::view(const Grant& grant) const {
    rocklock::Grant result;
    result.id = grant.id;
    result.token = grant.token();
    result.session = grant.session->id;
    result.waited = grant.waited;
    result.count = grant.count();
    const BootTime cap = grant.cap();
    if (cap < BootTime::max()) result.cap = cap;
    const BootTime deadline = std::min(grant.session->deadline, cap);
    result.deadline = deadline;
    result.deadline_wall = wall_of(deadline);
    result.remaining =
        std::max(std::chrono::duration_cast<milliseconds>(deadline - now.boot), milliseconds{0});
    result.locks.reserve(grant.hold_count);
    for (const Hold& hold : grant.holds()) {
        GrantedLock lock;
        lock.resource = hold.resource->name();
        lock.mode = hold.mode;
        lock.subtree = hold.subtree;
        lock.permits = hold.permits;
        if (!hold.root()) lock.cause = grant.holds()[hold.cause].resource->name();
        result.locks.push_back(std::move(lock));
    }
    return result;
}

rocklock::Grant LockTable::Core::answer_grant(const Grant& grant) const {
    rocklock::Grant result = view(grant);
    if (grant.session->single) result.own_session = info_with_secret(*grant.session);
    return result;
}

// ---- Taking again what was lost ----

void LockTable::Core::handle(const Reacquire& request) {
    Session* session = require_session(request.session);
    if (session == nullptr) return;
    const auto found = grants.find(number(request.grant));
    if (found != grants.end()) {
        Grant& grant = **found;
        if (lock_model::live(grant, now.boot)) {
            if (grant.session == session) return answer(ticket, answer_grant(grant));
            return refuse(ticket, {ErrorCode::not_owner, "another session holds this grant"});
        }
        // Out of time, and not cleaned up yet: it becomes history now, and is answered from there.
        end_grant(grant, ending_of(grant));
        need(Durability::durable);
    }
    decision->history.push_back(
        {ticket, request.session, request.grant, HistoryLookup::Verb::reacquire, 0});
}

// Whether anybody was granted this name, or a name above it, after that grant. Of the names inside
// a subtree, which may be forgotten by now, nobody can tell: there any later grant at all counts.
bool LockTable::Core::granted_since(const Resource& at, bool subtree, GrantId grant) const {
    if (at.last.grant() != grant || at.last.older_converted()) return true;
    for (const Resource* above = at.parent; above != nullptr; above = above->parent) {
        const lock_model::LastGrant last = above->last;
        if (number(last.grant()) > number(grant) || last.older_converted()) return true;
        // When is not known any more; it may have been since.
        if (last.grant() != grant && last.itself_converted()) return true;
    }
    return subtree && next_token > number(grant) + 1;
}

void LockTable::Core::handle(const ReacquireLocks& event) {
    Session* session = require_session(event.session);
    if (session == nullptr) return;
    if (session->principal != event.principal) {
        return refuse(ticket,
                      {ErrorCode::not_owner, "the grant was somebody else's; nothing was changed"});
    }
    std::vector<RequestedLock> requested_locks;
    milliseconds max_hold{0};
    for (const GrantedLock& lock : event.locks) {
        Resource& at = resource(lock.resource);
        if (granted_since(at, lock.subtree, event.grant)) {
            return refuse(ticket,
                          {ErrorCode::precondition_failed,
                           "resource " + quoted(lock.resource) +
                               " was granted to another since: load it anew and acquire it"});
        }
        RequestedLock requested{
            .resource = &at, .permits = lock.permits, .mode = lock.mode, .subtree = lock.subtree};
        for (std::size_t root = 0; root < event.locks.size(); ++root) {
            if (!lock.cause.empty() && event.locks[root].resource == lock.cause) {
                requested.cause = static_cast<std::uint8_t>(root);
            }
        }
        requested_locks.push_back(requested);
        max_hold = tighter(max_hold, classes.of(lock.resource).max_hold);
    }
    for (const RequestedLock& requested : requested_locks) {
        if (auto error = lease_too_long(*requested.resource, session->lease))
            return refuse(ticket, *std::move(error));
    }
    if (check_own_holds(ticket, *session, requested_locks, Held::refuse)) return;
    const Conflicts conflicts =
        find_conflicts(*session, requested_locks, nullptr, false, Collect::holds_and_waits);
    if (conflicts.blocked) {
        return refuse(ticket, conflict(ErrorCode::conflict, *session, conflicts));
    }
    const Metadata none;
    std::vector<LockRequest> names;
    for (const GrantedLock& lock : event.locks) names.push_back({.resource = lock.resource});
    if (auto error = usage.check_grant(session->uid, lock_model::bytes_of_grant(names, {}, none))) {
        return refuse(ticket, *std::move(error));
    }
    const lock_model::GrantRequest grant_request{session, {}, &none, max_hold, {}, 0, false};
    answer(ticket, answer_grant(make_grant(grant_request, requested_locks, conflicts.dead)));
}

}  // namespace rocklock
