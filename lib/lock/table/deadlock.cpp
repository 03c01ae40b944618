// Deadlock detection: a request is refused if its wait would close a cycle in the wait-for graph.
//
// A session waits for the sessions that hold a conflicting lock, and for the sessions whose earlier
// requests conflict with one of its requests. It continues only after all of its waiting requests
// are granted, and a set needs all of its resources, so a cycle is a deadlock. Counting resources
// are the exception: any of the holders may make room. A cycle through such a resource is therefore
// checked further: all sessions that could continue are removed, repeatedly. If the session is not
// among those that are removed, it is stuck.
//
// A request for any one of several locks is another exception: it waits forever only if each of its
// alternatives does. It is checked in the same way: a session can continue if, for each of its
// requests, one alternative waits for no stuck session. Two rules keep the result independent of
// the order of later grants, so that no deadlock can arise without a request that is refused:
//   - An entry of such a request in a queue is an edge to its session, although the request may
//     leave the queue when it is granted elsewhere. If it is granted here, the later waiter waits
//     for all that its session waits for.
//   - An alternative that the session itself holds waits for the other holders and the earlier
//     waiters, as if the session had released it. Another thread of the session may release it, so
//     it does not count as blocked by the session.
//
// The edges are computed from the queues for each search. No graph is stored, so none can become
// inconsistent.
#include <algorithm>
#include <utility>

#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "base/assert.hpp"
#include "base/mutant.hpp"
#include "lock/table/core.hpp"

namespace rocklock {

namespace {

constexpr std::size_t deadlocks_kept = 16;

// Returns the number of permits of the resource in the imagined grant of `session`, if it has one:
// see cycle_when_granted().
std::uint64_t imagined_permits(const lock_model::Session* session, const lock_model::Resource& at) {
    std::uint64_t permits = 0;
    if (session == nullptr || session->waits.empty()) return permits;
    const lock_model::Wait& last = *session->waits.back();
    if (!last.imagined_grant) return permits;
    for (const lock_model::RequestedLock& lock : last.requested_locks) {
        if (lock.resource == &at) permits += lock.permits;
    }
    return permits;
}

}  // namespace

// ---- Edges ----

// The queues and holder lists that one search for a cycle has already walked. Two requests that
// wait for the same resource in the same mode have the same edges to holders, and the same edges to
// waiters that precede both. Each queue is therefore walked only once, even if many requests wait
// in it.
//
// The walk for a request skips holds and waits of its own session. No edge is lost by that, because
// the search has already reached that session. The start session is the exception: the search has
// to find edges back to it. Walks for the start session are therefore recorded separately.
class LockTable::Core::Swept {
public:
    struct Progress {
        bool holds = false;
        bool queue = false;
        // The entry at which the walk along the queue continues.
        const WaitLock* next = nullptr;
    };
    Progress& at(const Resource& resource, Mode mode, bool only_subtree) {
        return progress_[{&resource, mode, only_subtree}];
    }

private:
    struct Key {
        const Resource* resource = nullptr;
        Mode mode = Mode::read;
        bool only_subtree = false;
        friend bool operator==(const Key&, const Key&) = default;
        friend std::size_t hash_value(const Key& key) {
            std::size_t seed = boost::hash<const Resource*>()(key.resource);
            boost::hash_combine(seed, static_cast<int>(key.mode) * 2 + (key.only_subtree ? 1 : 0));
            return seed;
        }
    };
    boost::unordered_flat_map<Key, Progress, boost::hash<Key>> progress_;
};

class LockTable::Core::BlockerSearch {
public:
    BlockerSearch(const Core& core, const Wait& wait, const Grant* moved, const Session* owner,
                  Swept* swept = nullptr)
        : core_(core), wait_(wait), moved_(moved), owner_(owner), swept_(swept) {}

    std::vector<Edge> run() {
        if (!wait_.any()) follow(wait_.requested_locks, false);
        for (const Alternative& one : wait_.alternatives) follow(one);
        return std::move(edges_);
    }
    std::vector<Edge> run(const Alternative& one) {
        follow(one);
        return std::move(edges_);
    }

private:
    void follow(const Alternative& one) {
        const auto locks = wait_.locks_of(one);
        follow(locks, is_held_by_waiter(*locks.front().resource));
    }

    // If `released`, the session's own holds do not cover the locks.
    void follow(std::span<const RequestedLock> locks, bool released) {
        for (const RequestedLock& requested : locks) {
            const bool counting = requested.permits > 0 && !permits_run_out(requested);
            const bool covered = !released && (core_.covered(*wait_.session, requested) ||
                                               covered_by_moved(requested));
            const bool queues = !covered && !mutated(Mutant::soft_edge_missing);
            core_.for_each_meeting(requested, [&](const Resource& at, bool only_subtree) {
                Swept::Progress own;
                Swept::Progress& progress = swept_ != nullptr && requested.permits == 0
                                                ? swept_->at(at, requested.mode, only_subtree)
                                                : own;
                if (!counting || &at != requested.resource) {
                    if (!std::exchange(progress.holds, true))
                        follow_holds(requested, at, only_subtree);
                }
                if (queues) follow_queue(requested, at, only_subtree, progress);
            });
        }
    }

    bool is_held_by_waiter(const Resource& at) const {
        for (const Hold* hold = at.newest_hold(); hold != nullptr; hold = hold->next()) {
            const Session* holder = hold->grant() == moved_ ? owner_ : hold->grant()->session;
            if (holder == wait_.session && hold->root() && live(*hold)) return true;
        }
        return false;
    }

    bool live(const Hold& hold) const { return lock_model::live(hold, core_.now.boot); }

    bool permits_run_out(const RequestedLock& requested) const {
        std::uint64_t taken = 0;
        for (const Hold* hold = requested.resource->newest_hold(); hold != nullptr;
             hold = hold->next()) {
            if (live(*hold)) taken += hold->permits();
        }
        taken += imagined_permits(owner_, *requested.resource);
        return taken + requested.permits > core_.classes.of(requested.resource->name()).permits;
    }

    void follow_holds(const RequestedLock& requested, const Resource& at, bool only_subtree) {
        for (const Hold* hold = at.newest_hold(); hold != nullptr; hold = hold->next()) {
            if (only_subtree && !hold->subtree) continue;
            const Session* holder = hold->grant() == moved_ ? owner_ : hold->grant()->session;
            if (holder == wait_.session || !live(*hold)) continue;
            const bool counted = hold->permits() > 0 && requested.permits > 0;
            if (!counted && !conflicting(hold->mode, requested.mode)) continue;
            edges_.push_back({holder, hold->resource(), true, counted});
        }
    }

    void follow_queue(const RequestedLock& requested, const Resource& at, bool only_subtree,
                      Swept::Progress& progress) {
        if (!std::exchange(progress.queue, true)) progress.next = at.queue();
        for (; progress.next != nullptr && progress.next->wait->before(wait_);
             progress.next = progress.next->next) {
            const WaitLock* lock = progress.next;
            if (only_subtree && !lock->requested->subtree) continue;
            if (!stands_before(*lock->wait) ||
                !lock_model::in_conflict(*lock->requested, requested)) {
                continue;
            }
            // An imagined grant has taken its permits: it does not have to be served first.
            const bool counted =
                lock->wait->imagined_grant && lock->requested->permits > 0 && requested.permits > 0;
            if (counted && !permits_run_out(requested)) continue;
            edges_.push_back({lock->wait->session, &at, false, counted});
        }
    }

    bool stands_before(const Wait& other) const {
        if (other.session == wait_.session || !other.session->live(core_.now.boot)) return false;
        // A waiting conversion of the moved grant ends with the grant.
        return moved_ == nullptr || other.converts != moved_;
    }

    // The new owner of the moved grant need not wait for earlier waiters for locks that the grant
    // covers.
    bool covered_by_moved(const RequestedLock& requested) const {
        if (moved_ == nullptr || wait_.session != owner_ || requested.permits > 0) return false;
        const auto reaches = [&](const Hold& hold) {
            if (hold.resource() == requested.resource) return hold.subtree || !requested.subtree;
            const Resource* above = requested.resource->parent();
            while (above != nullptr && hold.resource() != above) above = above->parent();
            return hold.subtree && above != nullptr;
        };
        const auto holds = moved_->holds();
        return std::any_of(holds.begin(), holds.end(), [&](const Hold& hold) {
            return hold.permits() == 0 && covers(hold.mode, requested.mode) && reaches(hold);
        });
    }

    const Core& core_;
    const Wait& wait_;
    const Grant* const moved_;
    const Session* const owner_;
    Swept* const swept_;
    std::vector<Edge> edges_;
};

std::vector<LockTable::Core::Edge> LockTable::Core::blockers(const Wait& wait, const Grant* moved,
                                                             const Session* owner) const {
    return BlockerSearch(*this, wait, moved, owner).run();
}

std::vector<LockTable::Core::Edge> LockTable::Core::blockers(const Wait& wait,
                                                             const Alternative& one,
                                                             const Grant* moved,
                                                             const Session* owner) const {
    return BlockerSearch(*this, wait, moved, owner).run(one);
}

// ---- Permits and alternatives ----

// Determines whether the start session remains stuck even if every session that does not wait
// releases all of its locks.
class LockTable::Core::StuckSearch {
public:
    StuckSearch(const Core& core, std::vector<const Session*> reached, const Session& start,
                const Grant* moved)
        : core_(core), stuck_(std::move(reached)), start_(start), moved_(moved) {
        std::erase_if(stuck_, [](const Session* session) { return session->waits.empty(); });
    }

    bool run() {
        for (;;) {
            const auto goes =
                std::find_if(stuck_.begin(), stuck_.end(),
                             [this](const Session* session) { return can_proceed(*session); });
            if (goes == stuck_.end()) return is_stuck(&start_);
            stuck_.erase(goes);
        }
    }

private:
    bool is_stuck(const Session* session) const {
        return std::find(stuck_.begin(), stuck_.end(), session) != stuck_.end();
    }

    bool can_proceed(const Session& session) const {
        return std::all_of(session.waits.begin(), session.waits.end(), [this](const Wait* wait) {
            return wait->imagined_grant || can_be_granted(*wait);
        });
    }

    bool can_be_granted(const Wait& wait) const {
        if (!wait.any()) {
            return has_no_stuck(core_.blockers(wait, moved_, &start_)) &&
                   permits_left(wait, wait.requested_locks);
        }
        return std::any_of(wait.alternatives.begin(), wait.alternatives.end(),
                           [&](const Alternative& one) {
                               return has_no_stuck(core_.blockers(wait, one, moved_, &start_)) &&
                                      permits_left(wait, wait.locks_of(one));
                           });
    }

    bool has_no_stuck(const std::vector<Edge>& edges) const {
        return std::none_of(edges.begin(), edges.end(), [this](const Edge& edge) {
            return !edge.counted && is_stuck(edge.to);
        });
    }

    // The permits that the session itself holds are left: a session that holds the resource does
    // not wait for it, except with another alternative.
    bool permits_left(const Wait& wait, std::span<const RequestedLock> locks) const {
        return std::all_of(locks.begin(), locks.end(), [&](const RequestedLock& requested) {
            if (requested.permits == 0) return true;
            const std::uint32_t limit = core_.classes.of(requested.resource->name()).permits;
            return kept_permits(*requested.resource, *wait.session) + requested.permits <= limit;
        });
    }

    // Returns the number of permits at `at` that are held by stuck sessions other than `by`.
    std::uint64_t kept_permits(const Resource& at, const Session& by) const {
        std::uint64_t kept = 0;
        for (const Hold* hold = at.newest_hold(); hold != nullptr; hold = hold->next()) {
            const Session* holder = hold->grant() == moved_ ? &start_ : hold->grant()->session;
            const bool stays = holder != &by && is_stuck(holder);
            if (stays && lock_model::live(*hold, core_.now.boot)) kept += hold->permits();
        }
        if (&start_ != &by && is_stuck(&start_)) kept += imagined_permits(&start_, at);
        return kept;
    }

    const Core& core_;
    std::vector<const Session*> stuck_;
    const Session& start_;
    const Grant* const moved_;
};

// ---- Cycles ----

class LockTable::Core::CycleSearch {
public:
    CycleSearch(const Core& core, const Session& start, const Grant* moved)
        : core_(core), start_(start), moved_(moved) {}

    // If `new_wait` is not null, only cycles through that wait of the start session are searched.
    std::vector<CycleStep> run(const Wait* new_wait) {
        open_.push_back(&start_);
        while (!open_.empty() && (last_.from == nullptr || counted_)) {
            const Session* session = open_.back();
            open_.pop_back();
            reached_.push_back(session);
            if (session == &start_ && new_wait != nullptr) {
                follow(start_, *new_wait);
                continue;
            }
            for (const Wait* wait : session->waits) follow(*session, *wait);
        }
        if (last_.from == nullptr) return {};
        // Which sessions are stuck then also depends on the other waits of the start session, so
        // the search is repeated with all of them.
        if (counted_ && new_wait != nullptr) return core_.find_cycle(start_, moved_);
        if (counted_ && !StuckSearch(core_, std::move(reached_), start_, moved_).run()) return {};
        return path();
    }

private:
    // The session and the resource over which another session was first reached.
    struct Step {
        const Session* from = nullptr;
        const Resource* at = nullptr;
    };

    void follow(const Session& session, const Wait& wait) {
        if (moved_ != nullptr && wait.converts == moved_) return;
        if (wait.imagined_grant) return;
        counted_ = counted_ || wait.any();
        Swept& swept = &session == &start_ ? swept_by_start_ : swept_;
        for (const Edge& edge : BlockerSearch(core_, wait, moved_, &start_, &swept).run()) {
            counted_ = counted_ || edge.counted;
            if (edge.to == &start_) {
                if (last_.from == nullptr) last_ = {&session, edge.at};
            } else if (seen_.emplace(edge.to, Step{&session, edge.at}).second) {
                open_.push_back(edge.to);
            }
        }
    }

    std::vector<CycleStep> path() const {
        std::vector<CycleStep> cycle;
        for (Step step = last_; step.from != nullptr;
             step = step.from == &start_ ? Step{} : seen_.at(step.from)) {
            cycle.push_back({step.from->principal, step.from->id, std::string(step.at->name())});
        }
        std::reverse(cycle.begin(), cycle.end());
        return cycle;
    }

    const Core& core_;
    const Session& start_;
    const Grant* const moved_;
    boost::unordered_flat_map<const Session*, Step> seen_;
    std::vector<const Session*> open_;
    std::vector<const Session*> reached_;
    Swept swept_;
    Swept swept_by_start_;
    // Whether an edge over permits or a request with alternatives was found; see the top of this
    // file.
    bool counted_ = false;
    // The step that closes the cycle; `from` is null until a cycle is found.
    Step last_;
};

std::vector<CycleStep> LockTable::Core::find_cycle(const Session& start, const Grant* moved,
                                                   const Wait* new_wait) const {
    // If the start session holds no locks, no session can wait for it in two cases: its only wait
    // has just been appended to the queues; or no wait of another session directly follows one of
    // its waits in a queue, and there are no subtree locks.
    const bool appended =
        start.waits.empty() || (start.waits.size() == 1 && start.waits.front()->priority == 0);
    const bool last = start.followed == 0 && hold_marks.subtrees == 0;
    if (start.first == nullptr && moved == nullptr && (appended || last)) return {};
    return CycleSearch(*this, start, moved).run(new_wait);
}

// If the request is granted, the waiters that it overtakes wait for its session. That session may
// already wait for one of them, with another request. To find such a cycle, the function
// temporarily enqueues an imagined wait at the place of the request: exactly the overtaken waiters
// have an edge to this wait.
std::vector<CycleStep> LockTable::Core::cycle_when_granted(
    Session& session, std::span<const RequestedLock> requested_locks, std::uint32_t priority) {
    if (priority == 0 || session.waits.empty()) return {};
    Wait imagined;
    imagined.imagined_grant = true;
    imagined.session = &session;
    imagined.priority = priority;
    imagined.place = arriving(priority);
    imagined.requested_locks.assign(requested_locks.begin(), requested_locks.end());
    session.waits.push_back(&imagined);
    enqueue(imagined);
    auto cycle = find_cycle(session);
    dequeue(imagined);
    session.waits.pop_back();
    return cycle;
}

Error LockTable::Core::deadlock(std::vector<CycleStep> cycle) {
    ROCKLOCK_ASSERT(!cycle.empty());
    ++counts.deadlocks;
    auto& last = contention.deadlocks;
    if (last.size() == deadlocks_kept) last.erase(last.begin());
    last.push_back({now.wall, cycle});
    Error error(ErrorCode::deadlock, "waiting would be a deadlock: ");
    for (const CycleStep& step : cycle) {
        error.message += step.principal + " waits for \"" + step.resource + "\", ";
    }
    error.message += "and " + cycle.front().principal +
                     " already holds it; release a lock, or acquire all locks in one request";
    error.cycle = std::move(cycle);
    return error;
}

}  // namespace rocklock
