#include "lock/lock_table.hpp"

#include <algorithm>
#include <utility>

#include "lock/table_core.hpp"

namespace rocklock {

using table::Resource;
using table::Wait;

void Decision::clear() {
    batch.preconditions.clear();
    batch.writes.clear();
    batch.not_after.reset();
    durability = Durability::deferred;
    synced = false;
    replies.clear();
    lost.clear();
    wanted.clear();
    history.clear();
}

LockTable::Core::Core(const LockTableOptions& table_options, const SessionKey& session_key)
    : options(table_options), key(session_key) {}

LockTable::Core::~Core() {
    for (Grant* grant : grants) Grant::destroy(grant);
    // Of a recovery that failed.
    for (Grant* grant : recovered) {
        for (Hold& hold : grant->holds()) Resource::destroy(hold.resource);
        Grant::destroy(grant);
    }
    for (Resource* resource : resources) Resource::destroy(resource);
}

void LockTable::Core::apply(const Event& event) {
    std::visit([this](const auto& what) { handle(what); }, event);
    settle();
    if (marks_are_low() && !decision->batch.empty()) reserve_marks();
    ROCKLOCK_ASSERT(counts.granted + counts.recovered == grants.size() + counts.released +
                                                             counts.expired + counts.stolen +
                                                             counts.broken + counts.transferred);
}

void LockTable::Core::handle(const Request& request) {
    std::visit([this](const auto& what) { handle(what); }, request);
}

void LockTable::Core::handle(const CancelWait& event) {
    const auto found = waits.find(event.ticket);
    if (found == waits.end()) return;
    ++counts.cancelled;
    refuse(event.ticket, {ErrorCode::cancelled, "the wait was cancelled; nothing is held by it"});
    end_wait(*found->second);
}

void LockTable::Core::handle(const Tick& event) {
    serve_time();
    settle();
    sweep(event.budget);
    if (event.search) search();
}

void LockTable::Core::refuse(Ticket to, Error error) {
    ++counts.refused;
    decision->replies.push_back({to, std::move(error)});
}

void LockTable::Core::write(Family family, std::string record_key, std::string value) {
    decision->batch.writes.push_back({family, std::move(record_key), std::move(value)});
}

void LockTable::Core::erase(Family family, std::string record_key) {
    decision->batch.writes.push_back({family, std::move(record_key), std::nullopt});
}

// Tokens and versions are handed out of a reservation that is on disk before, or together with, the
// first use of it; when half of it is gone the next one rides in the batch at hand, which is then
// synced.
bool LockTable::Core::marks_are_low() const {
    const std::uint64_t half = options.reserve / 2;
    return next_token + half >= token_mark || next_version + half >= version_mark;
}

void LockTable::Core::reserve_marks() {
    const std::uint64_t version = take_version();
    token_mark = next_token + options.reserve;
    version_mark = next_version + options.reserve;
    ROCKLOCK_ASSERT(token_mark < (std::uint64_t{1} << 53));
    write(Family::meta, std::string(records::marks_key),
          records::encode(records::Marks{version, token_mark, version_mark}));
    need(Durability::durable);
    decision->synced = true;
}

WallTime LockTable::Core::wall_of(BootTime boot) const {
    return now.wall + std::chrono::duration_cast<std::chrono::milliseconds>(boot - now.boot);
}

void LockTable::Core::settle() {
    while (!rechecks.empty() || !dirty.empty()) {
        if (!rechecks.empty()) {
            // In the order of the queues: of two requests of one session for one thing the first
            // gets it.
            std::vector<Ticket> due = std::exchange(rechecks, {});
            std::erase_if(due, [this](Ticket next) { return !waits.contains(next); });
            std::sort(due.begin(), due.end(),
                      [this](Ticket a, Ticket b) { return waits.at(a)->before(*waits.at(b)); });
            for (const Ticket next : due) {
                const auto found = waits.find(next);
                if (found == waits.end()) continue;
                found->second->recheck = false;
                reconsider(*found->second);
            }
            continue;
        }
        Resource& resource = *dirty.back();
        dirty.pop_back();
        resource.dirty = false;
        serve(resource);
    }
    // What is removed may leave its parent empty, which is touched then.
    while (!touched.empty()) {
        Resource& resource = *touched.back();
        touched.pop_back();
        resource.touched = false;
        remove_if_empty(resource);
    }
}

// ---- The outside ----

LockTable::LockTable(const LockTableOptions& options, const SessionKey& key)
    : core_(std::make_unique<Core>(options, key)) {}

LockTable::~LockTable() = default;

void LockTable::apply(const Event& event, Ticket ticket, const SessionId& fresh, Instant now,
                      Decision& decision) {
    ROCKLOCK_ASSERT(now.boot >= core_->now.boot);
    core_->now = now;
    core_->decision = &decision;
    core_->ticket = ticket;
    core_->fresh = fresh;
    core_->apply(event);
    core_->decision = nullptr;
}

std::optional<BootTime> LockTable::next_wake() const {
    BootTime next = BootTime::max();
    for (const TimerHeap* heap : {&core_->session_timers, &core_->grant_timers, &core_->wait_timers,
                                  &core_->closure_timers}) {
        if (!heap->empty()) next = std::min(next, heap->top().at);
    }
    if (!core_->ending_sessions.empty()) next = core_->now.boot;
    if (next == BootTime::max()) return std::nullopt;
    return next;
}

Result<void> LockTable::recover(const Snapshot& records, const RecoveryFacts& facts,
                                Decision& decision) {
    core_->now = facts.now;
    core_->decision = &decision;
    auto recovered = core_->recover(records, facts);
    core_->decision = nullptr;
    return recovered;
}

void LockTable::forget(GrantId grant, const std::vector<std::string>& resources,
                       std::uint64_t request_high, std::uint64_t request_low) {
    if (core_->ended_records > 0) --core_->ended_records;
    for (const std::string& name : resources) {
        const auto found = core_->last_grants.find(fnv1a(name));
        if (found != core_->last_grants.end() && found->second.grant() == grant) {
            core_->last_grants.erase(found);
        }
    }
    const auto request = core_->requests.find({request_high, request_low});
    if (request != core_->requests.end() && request->second.grant == grant) {
        core_->requests.erase(request);
    }
}

std::uint64_t LockTable::ended_records() const { return core_->ended_records; }

void LockTable::forget_session() {
    if (core_->ended_sessions > 0) --core_->ended_sessions;
}

std::uint64_t LockTable::ended_sessions() const { return core_->ended_sessions; }

bool LockTable::cleaning() const { return !core_->ending_sessions.empty(); }

std::uint32_t LockTable::boot_epoch() const { return core_->boot_epoch; }

std::optional<std::string> LockTable::audit_invariants(Instant now) const {
    const Instant before = core_->now;
    core_->now = now;
    auto wrong = core_->audit();
    core_->now = before;
    return wrong;
}

}  // namespace rocklock
