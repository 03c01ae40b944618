#include "lock/table/lock_table.hpp"

#include <algorithm>
#include <utility>

#include "base/mutant.hpp"
#include "lock/table/core.hpp"

namespace rocklock {

void Decision::clear() {
    batch.preconditions.clear();
    batch.writes.clear();
    batch.not_after.reset();
    durability = Durability::deferred;
    synced = false;
    reserved.reset();
    replies.clear();
    lost.clear();
    wanted.clear();
    answered.clear();
    history.clear();
    events.clear();
    slow.clear();
}

LockTable::Core::Core(const LockTableOptions& table_options, const SessionKey& session_key)
    : options(table_options),
      key(session_key),
      usage(table_options.user_limits, table_options.count_users) {}

LockTable::Core::~Core() {
    grants.all_of([](Grant& grant) {
        Grant::destroy(&grant);
        return true;
    });
    // Grants that remain if recovery has failed.
    for (Grant* grant : recovery.grants) {
        if (grant->plain) {
            Resource::destroy(grant->holds().front().resource());
            continue;
        }
        for (Hold& hold : grant->holds()) Resource::destroy(hold.resource());
        Grant::destroy(grant);
    }
    resources.all_of([](Resource& resource) {
        Resource::destroy(&resource);
        return true;
    });
}

void LockTable::Core::handle(const Event& event) {
    std::visit([this](const auto& what) { handle(what); }, event);
}

void LockTable::Core::finish_decision() {
    serve_queues();
    // Events and notices use numbers even if the decision writes no record.
    const bool numbers_used = !decision->batch.empty() || !decision->events.empty() ||
                              !decision->wanted.empty() || !decision->answered.empty();
    if (numbers_used) keep_numbers_safe();
    // This must hold before the decision is answered: after a crash, none of its numbers may be
    // assigned again.
    ROCKLOCK_ASSERT(!numbers_used || numbers.is_safe() || decision->synced ||
                    mutated(Mutant::token_block_not_synced));
    ROCKLOCK_ASSERT(counts.granted + counts.recovered == grants.size() + counts.released +
                                                             counts.expired + counts.stolen +
                                                             counts.broken + counts.transferred);
}

void LockTable::Core::handle(const Request& request) {
    std::visit([this](const auto& what) { handle(what); }, request);
}

void LockTable::Core::handle(const CancelWait& event) { withdraw(event.ticket); }

// Ends all waits and sessions of the event before serve_queues() serves any waiter. Cleans up as
// many grants as the end of a single session would; the sweep cleans up the rest.
void LockTable::Core::handle(const Disconnect& event) {
    for (const Ticket waiting : event.waits) withdraw(waiting);
    std::size_t budget = Tick{}.budget;
    for (const CloseSession& close : event.sessions) {
        Session* const session = sessions.find(close.session);
        if (session == nullptr || !session->live(now.boot)) continue;
        const std::size_t cleaned = std::min<std::size_t>(budget, session->grants);
        end_session(*session, {Outcome::released, {}, close.reason, now.wall}, budget);
        budget -= cleaned;
    }
    for (const UndeliveredGrant& undelivered : event.undelivered) give_back(undelivered);
}

void LockTable::Core::withdraw(Ticket waiting) {
    Wait* wait = waits.find(waiting);
    if (wait == nullptr) {
        if (notice_waits.remove(waiting)) {
            refuse(waiting, {ErrorCode::cancelled, "the wait for notices was cancelled"});
        }
        return;
    }
    ++counts.cancelled;
    refuse(waiting, {ErrorCode::cancelled, "the wait was cancelled, and nothing was granted"});
    if (!mutated(Mutant::cancel_leaves_entry)) end_wait(*wait);
}

void LockTable::Core::handle(const Tick& event) {
    idle.set_accepting(false);
    serve_time(event.budget);
    serve_queues();
    if (event.expiry_pause.count() > 0) timers.expires_from = now.boot + event.expiry_pause;
    if (event.sweeps) sweep(event.budget);
    if (event.search) search();
    if (sessions.empty()) free_unused();
}

void LockTable::Core::refuse(Ticket to, Error error) {
    ++counts.refused;
    decision->replies.emplace_back(to, std::move(error));
}

void LockTable::Core::write(Family family, std::string record_key, std::string value) {
    ROCKLOCK_ASSERT(decision != nullptr && !record_key.empty());
    std::vector<Write>& writes = decision->batch.writes;
    // Most decisions have one or two writes.
    if (writes.capacity() == 0) writes.reserve(2);
    Write& added = writes.emplace_back();
    added.family = family;
    added.key = std::move(record_key);
    added.value = std::move(value);
}

void LockTable::Core::erase(Family family, std::string record_key) {
    decision->batch.writes.push_back({family, std::move(record_key), std::nullopt});
}

// Tokens and versions are taken from a reservation that must be durable before its first number is
// used. If at most half of it is left, the next reservation is written with the batch of the
// decision. That batch need not be synced, because the numbers of the remaining half are safe; the
// manager syncs it in the background. If that takes so long that the remaining half is used up,
// decisions are synced until it is done.
void LockTable::Core::keep_numbers_safe() {
    if (numbers.is_low()) reserve_numbers();
    if (numbers.is_safe()) return;
    if (mutated(Mutant::token_block_not_synced)) return;
    // A decision that consists of events only has no batch that could be synced, so a reservation
    // is written.
    if (decision->batch.empty()) reserve_numbers();
    need(Durability::durable);
    decision->synced = true;
}

void LockTable::Core::reserve_numbers() {
    const std::uint64_t version = numbers.take_version();
    const ReservedNumbers marks = numbers.extend(options.reserve, now.boot);
    ROCKLOCK_ASSERT(!decision->reserved && !numbers.is_used_up());
    write(Family::meta, std::string(records::marks_key),
          records::encode(records::Marks{version, marks.token, marks.version}));
    decision->reserved = marks;
}

void LockTable::confirm(const ReservedNumbers& reserved) {
    core_->numbers.confirm_durable(reserved);
}

WallTime LockTable::Core::wall_of(BootTime boot) const {
    // Truncate both times separately, so that a boot time is converted to the same wall time at any
    // `now`.
    using std::chrono::milliseconds;
    if (boot == no_deadline) return no_deadline_wall;
    return now.wall +
           (std::chrono::floor<milliseconds>(boot) - std::chrono::floor<milliseconds>(now.boot));
}

// Serves all listed queues and waits, then times out overdue waiters one at a time, and serves
// again after each. If the timeout of one waiter makes room for another overdue waiter, the other
// one is thus granted, not refused.
void LockTable::Core::serve_queues() {
    serve_all();
    while (serving.has_overdue()) {
        lose_patience();
        serve_all();
    }
    while (serving.has_maybe_empty()) retire_unused(serving.next_maybe_empty(loaded_together));
    ROCKLOCK_ASSERT(serving.empty());
}

void LockTable::Core::serve_all() {
    if (waits.has_any_of()) serve_in_order();
    while (serving.has_waits() || serving.has_queue()) {
        if (serving.has_waits()) {
            for (const ServeList::Recheck& next : serving.take_waits()) {
                Wait* wait = waits.find(next.ticket);
                if (wait == nullptr) continue;
                wait->listed.recheck = false;
                reconsider(*wait);
            }
            continue;
        }
        serve(serving.take_queue());
    }
}

// ---- The interface of the table ----

LockTable::LockTable(const LockTableOptions& options, const SessionKey& key)
    : core_(std::make_unique<Core>(options, key)) {}

LockTable::~LockTable() = default;

void LockTable::apply(const Event& event, Ticket ticket, const SessionId& fresh, Instant now,
                      Decision& decision) {
    apply_to_core(event, ticket, fresh, now, decision);
}

void LockTable::apply(const Request& request, Ticket ticket, const SessionId& fresh, Instant now,
                      Decision& decision) {
    apply_to_core(request, ticket, fresh, now, decision);
}

template <typename What>
void LockTable::apply_to_core(const What& what, Ticket ticket, const SessionId& fresh, Instant now,
                              Decision& decision) {
    if (mutated(Mutant::expiry_on_wall_clock)) {
        now.boot = core_->now.boot + std::max(now.wall - core_->now.wall, WallTime::duration{0});
    }
    ROCKLOCK_ASSERT(now.boot >= core_->now.boot);
    ROCKLOCK_ASSERT(core_->decision == nullptr);
    ROCKLOCK_ASSERT(decision.batch.empty() && decision.replies.empty() && !decision.reserved);
    core_->now = now;
    core_->decision = &decision;
    core_->ticket = ticket;
    core_->fresh = fresh;
    core_->idle.set_accepting(true);
    core_->handle(what);
    core_->finish_decision();
    core_->decision = nullptr;
}

std::optional<BootTime> LockTable::next_wake() const {
    BootTime next = BootTime::max();
    const lock_model::Timers& timers = core_->timers;
    const TimerHeap& notice_waits = core_->notice_waits.timeouts();
    for (const TimerHeap* heap : {&timers.waits, &timers.closures, &notice_waits}) {
        if (!heap->empty()) next = std::min(next, heap->top().at);
    }
    if (!timers.grants.empty()) next = std::min(next, timers.next_grant());
    if (!timers.sessions.empty()) next = std::min(next, timers.next_session());
    if (core_->sessions.has_ending()) next = core_->now.boot;
    if (next == BootTime::max()) return std::nullopt;
    return next;
}

bool LockTable::waits_due(BootTime now) const {
    const lock_model::Timers& timers = core_->timers;
    const TimerHeap& notice_waits = core_->notice_waits.timeouts();
    for (const TimerHeap* heap : {&timers.waits, &timers.closures, &notice_waits}) {
        if (!heap->empty() && heap->top().at <= now) return true;
    }
    return false;
}

Result<void> LockTable::recover(const Snapshot& records, const RecoveryFacts& facts,
                                Decision& decision) {
    ROCKLOCK_ASSERT(core_->decision == nullptr && decision.batch.empty());
    core_->now = facts.now;
    core_->decision = &decision;
    auto recovered = core_->recover(records, facts);
    core_->decision = nullptr;
    return recovered;
}

void LockTable::forget(const ForgottenGrant& grant) {
    if (core_->ended_records > 0) --core_->ended_records;
    for (const std::string& name : grant.resources) {
        const std::uint64_t hash = fnv1a(name);
        const lock_model::LastGrant* const last = core_->last_grants.find(hash);
        if (last != nullptr && last->grant() == grant.grant) core_->last_grants.forget(hash);
        lock_model::Resource* const idle = core_->find(name);
        if (idle != nullptr && idle->idle && !idle->held() && idle->last().grant() == grant.grant)
            idle->set_last({});
    }
    const lock_model::RequestKey request{grant.request_high, grant.request_low};
    if (core_->requests.find(request).grant() == grant.grant) core_->requests.erase(request);
}

std::uint64_t LockTable::ended_records() const { return core_->ended_records; }

void LockTable::forget_sessions(std::uint64_t count) { core_->sessions.forget_ended(count); }

void LockTable::forget_audit_rows(std::uint64_t count) {
    // The count is too small if recovery could not read the whole log.
    core_->counts.audit_rows -= std::min(core_->counts.audit_rows, count);
}

std::uint64_t LockTable::audit_rows() const { return core_->counts.audit_rows; }

void LockTable::set_user_limits(const UserLimits& limits) { core_->usage.set_limits(limits); }

void LockTable::set_slow_wait(std::chrono::milliseconds slow_wait) {
    core_->options.slow_wait = slow_wait;
}

void LockTable::set_reports_losses(std::function<bool(const SessionId&)> reports_losses) {
    core_->options.reports_losses = std::move(reports_losses);
}

void LockTable::refuse_growth(std::optional<Error> error) {
    core_->usage.refuse_growth(std::move(error));
}

bool LockTable::refuses_growth() const { return core_->usage.growth_refused().has_value(); }

std::uint64_t LockTable::ended_sessions() const { return core_->sessions.ended_records(); }

bool LockTable::has_sessions() const { return !core_->sessions.empty(); }

bool LockTable::searching() const { return core_->waits.searching(); }

std::size_t LockTable::waiting() const { return core_->waits.size(); }

std::uint64_t LockTable::first_sequence() const { return core_->numbers.first_version(); }

bool LockTable::cleaning() const { return core_->sessions.has_ending(); }

std::uint32_t LockTable::boot_epoch() const { return core_->boot_epoch; }

}  // namespace rocklock
