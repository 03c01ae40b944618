// Checks whether a write to bound items is permitted, and whether the result of a plain read may be
// returned.
#include <algorithm>
#include <utility>

#include "base/time_format.hpp"
#include "lock/manager/core.hpp"

namespace rocklock {

namespace {

// The pause before a check is repeated. While a server reads its sockets after a stall, it may
// still find a renewal of a session that seems to have expired.
constexpr std::chrono::milliseconds stall_pause{1};

std::string named(std::string_view resource) {
    return resource.empty() ? "the written items" : '"' + std::string(resource) + '"';
}

void describe_holder(Error& error, std::string_view resource) {
    if (error.blockers.empty()) return;
    const Holder& holder = error.blockers.front();
    error.message += "; " + (resource.empty() ? "it" : named(resource)) + " is held by " +
                     holder.principal + " now";
}

Error not_covered(const FenceRequest& request) {
    const std::string who = request.token ? "the grant of the token" : "the session";
    return {ErrorCode::lock_required, who + " does not hold " + named(request.resource) +
                                          " in mode write or exclusive: acquire it before writing"};
}

Error stale(const FenceRequest& request, const std::optional<Ending>& ended) {
    Error error(ErrorCode::stale_token,
                request.token ? "the grant of token " + std::to_string(number(*request.token))
                              : std::string("the session"));
    error.ended = ended;
    if (!ended) {
        error.message += " is unknown: it never existed, or it ended long ago";
        return error;
    }
    error.message += " has ended: " + std::string(to_string(ended->outcome));
    if (!ended->by.empty()) error.message += " by " + ended->by;
    error.message += " at " + format_time(ended->at);
    if (!ended->reason.empty()) error.message += " (" + ended->reason + ")";
    return error;
}

Error refused(const FenceRequest& request, const NoFence& none) {
    switch (none.why) {
        case NoFence::Why::ended:
        case NoFence::Why::unknown:
            return stale(request, none.ended);
        case NoFence::Why::foreign:
            return {ErrorCode::lock_required, "the grant of token " +
                                                  std::to_string(number(*request.token)) +
                                                  " belongs to another session"};
        case NoFence::Why::not_covered:
            break;
    }
    return not_covered(request);
}

Error kept_out(std::string_view resource, std::vector<Holder> holders) {
    Error error(ErrorCode::locked,
                named(resource) + " is held in mode exclusive by " + holders.front().principal +
                    ": read the item after that lock has ended, or send the session that holds it");
    error.blockers = std::move(holders);
    return error;
}

// Returns whether the holder has lost the lock against its will. Only then is a draft kept.
bool was_lost(const NoFence& none) {
    if (none.late.principal.empty() || !none.ended) return false;
    const Outcome outcome = none.ended->outcome;
    return outcome == Outcome::expired || outcome == Outcome::stolen || outcome == Outcome::broken;
}

bool covered(const records::GrantRecord& record, std::string_view resource) {
    return std::any_of(record.locks.begin(), record.locks.end(), [&](const records::Lock& lock) {
        if (lock.permits > 0 || !covers(lock.mode, Mode::write)) return false;
        return lock.resource == resource || (lock.subtree && lies_below(resource, lock.resource));
    });
}

}  // namespace

ReadMark LockManager::read_mark() const { return core_->marked.load(); }

Result<Fence> LockManager::fence(const FenceRequest& request, LostHolder* drafts_of) {
    if (auto error = core_->not_ours()) return *std::move(error);
    NoFence none;
    std::vector<Holder> holders;
    bool keeps_drafts = false;
    Core::CommitDependency all;
    for (;;) {
        Core::DeferredActions after;
        std::optional<Fence> found;
        bool stalled = false;
        {
            MutexLock lock(core_->mutex);
            if (core_->failed) return *core_->failed;
            core_->check_time(core_->clock.now().boot, after);
            const Instant now = core_->view_time();
            auto fence = core_->table.fence(request, now);
            if (auto* granted = std::get_if<Fence>(&fence)) {
                found = std::move(*granted);
                stalled = core_->stalls.stalled() && found->until <= core_->clock.now().boot;
            } else {
                none = std::get<NoFence>(std::move(fence));
                keeps_drafts = core_->table.keeps_drafts(request.resource);
                holders =
                    core_->table.holders_over(request.resource, Mode::read, request.session, now);
                all = core_->commits.all_written();
            }
        }
        core_->finish(after);
        if (found && !stalled) return *std::move(found);
        if (!found) break;
        std::this_thread::sleep_for(stall_pause);
    }
    if (none.why == NoFence::Why::unknown) {
        if (auto done = core_->await_dependency(all); !done) return std::move(done).error();
        auto known = core_->find_ended(request);
        if (!known) return std::move(known).error();
        none = *std::move(known);
    }
    if (drafts_of != nullptr && keeps_drafts && was_lost(none)) *drafts_of = none.late;
    Error error = refused(request, none);
    error.blockers = std::move(holders);
    describe_holder(error, request.resource);
    return error;
}

Error LockManager::lock_missing(std::string_view resource) {
    Error error(ErrorCode::lock_required, "a write requires a lock on " + named(resource) +
                                              " in mode write or exclusive, and the request has "
                                              "none: acquire the lock, and send its session");
    if (core_->fork_check.in_child()) return error;
    MutexLock lock(core_->mutex);
    error.blockers = core_->table.holders_over(resource, Mode::read, {}, core_->view_time());
    lock.unlock();
    describe_holder(error, resource);
    return error;
}

// Looks up a grant or a session in the history that the table does not know.
Result<NoFence> LockManager::Core::find_ended(const FenceRequest& request) const {
    if (!request.token) {
        const Error past = past_session_error(storage, request.session);
        if (past.code == ErrorCode::io_error || past.code == ErrorCode::corrupt) return past;
        return NoFence{NoFence::Why::unknown, past.ended, {}};
    }
    auto record = read_grant(storage, GrantId{number(*request.token)});
    if (!record) return std::move(record).error();
    if (!*record) return NoFence{NoFence::Why::unknown, {}, {}};
    if ((*record)->session != request.session) return NoFence{NoFence::Why::foreign, {}, {}};
    NoFence none{NoFence::Why::ended, (*record)->ended, {}};
    if (covered(**record, request.resource)) none.late = {(*record)->principal, (*record)->uid};
    return none;
}

Result<bool> LockManager::check_read(const ReadMark& mark, const PlainRead& read) {
    if (!mark.any && !read.strict && mark == read_mark()) return true;
    MutexLock lock(core_->mutex);
    const ExclusiveHolds& exclusive = core_->table.exclusive_holds();
    const Instant now = core_->view_time();
    for (const auto& resource : read.resources) {
        const auto changed = exclusive.changed_since(mark.changes, resource);
        if (!changed || *changed) return false;
        auto holders = exclusive.state().holds == 0
                           ? std::vector<Holder>()
                           : core_->table.holders_over(resource, Mode::exclusive, read.reader, now);
        if (!holders.empty()) return kept_out(resource, std::move(holders));
        if (!read.strict || core_->table.policy_of(resource) != Policy::exclusive_read) continue;
        const bool held =
            read.reader && core_->table.holds(*read.reader, resource, Mode::read, now);
        if (!held) {
            return Error(ErrorCode::lock_required,
                         named(resource) +
                             " can be read only by a session that holds it, and the request has no "
                             "such session: acquire the lock, and send its session");
        }
    }
    return true;
}

}  // namespace rocklock
