// Checks the invariants of the lock table: recomputes all counters and links from scratch, and
// compares.
#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include "lock/table/core.hpp"

namespace rocklock {

class LockTable::Core::Audit {
public:
    explicit Audit(const Core& core) : core_(core) {}

    // Returns a description of the first violation, or nullopt.
    std::optional<std::string> run() {
        const char* bad = nullptr;
        std::string_view where;
        core_.resources.all_of([&](const Resource& resource) {
            bad = check_holds(resource);
            if (bad == nullptr) bad = check_place(resource);
            if (bad == nullptr) bad = check_queue(resource);
            where = resource.name();
            return bad == nullptr;
        });
        if (bad != nullptr) return std::string(bad) + " at \"" + std::string(where) + "\"";
        if (idle_ != core_.idle.size()) return "a resource is missing in the queue of idle ones";
        if (children_ != paths_) return "a resource is missing among the children of its parent";
        if (marks_ != core_.hold_marks.subtrees) return "the number of subtree locks is wrong";
        if (exclusive_ != core_.hold_marks.exclusive.state().holds)
            return "the number of exclusive holds is wrong";
        if (auto wrong = check_waits()) return wrong;
        if (auto wrong = check_sessions()) return wrong;
        return check_requests();
    }

private:
    bool live(const Hold& hold) const { return lock_model::live(hold, core_.now.boot); }

    // `newer` is the hold before this one in the list of the resource, or null.
    const char* check_hold(const Resource& at, const Hold& hold, const Hold* newer) const {
        if (hold.plain ? &hold != at.plain_hold() : linked(hold).newer.get() != newer)
            return "the holds are linked incorrectly";
        if (hold.grant()->id() > at.last().grant()) return "a hold is newer than the last grant";
        if (hold.resource() != &at) return "a hold belongs to another resource";
        if (core_.grants.find(hold.grant()->id()) != hold.grant())
            return "a hold belongs to no grant";
        if (conflict_of(at, hold)) return "two sessions hold conflicting locks";
        if (hold.plain && at.has_request && at.extra() && at.extra()->of_plain_grant &&
            at.extra()->of_plain_grant->request.key)
            return "a request id is stored twice";
        return nullptr;
    }

    const char* check_holds(const Resource& at) {
        std::uint32_t holds = 0;
        std::uint32_t strong = 0;
        std::uint64_t permits = 0;
        const Hold* newer = nullptr;
        for (const Hold* hold = at.newest_hold(); hold != nullptr; hold = hold->next()) {
            ++holds;
            if (const char* const wrong = check_hold(at, *hold, newer)) return wrong;
            newer = hold;
            strong += hold->mode != Mode::read ? 1 : 0;
            marks_ += hold->subtree ? 1 : 0;
            exclusive_ += hold->mode == Mode::exclusive ? 1 : 0;
            permits += live(*hold) ? hold->permits() : 0;
        }
        if (holds != at.holds() || strong != at.strong()) return "the number of holds is wrong";
        if (permits > 0 && permits > core_.classes.of(at.name()).permits)
            return "more permits are held than the class has";
        idle_ += at.idle ? 1 : 0;
        if (!at.needed(core_.now.boot) && !at.extra() && !at.idle)
            return "an unused resource was not removed";
        holds_ += holds;
        return nullptr;
    }

    static const lock_model::LinkedHold& linked(const Hold& hold) {
        return static_cast<const lock_model::LinkedHold&>(hold);
    }

    // Returns an error unless the resource is found by its name, and is a child of the path above
    // it.
    const char* check_place(const Resource& at) {
        if (core_.find(at.name()) != &at) return "the resource is not found by its name";
        const auto above = parent_path(at.name());
        const Resource* const parent = above ? core_.find(*above) : nullptr;
        if (above.has_value() != (parent != nullptr) || at.parent() != parent)
            return "the parent is wrong";
        paths_ += parent != nullptr ? 1 : 0;
        for (const Resource* child = at.children(); child != nullptr;
             child = child->next_sibling()) {
            ++children_;
            if (child->parent() != &at) return "a child has another parent";
        }
        return nullptr;
    }

    // Returns whether another session has a conflicting live hold on the same name, or above it
    // with a subtree lock.
    bool conflict_of(const Resource& at, const Hold& hold) const {
        if (!live(hold)) return false;
        const auto is_conflicting = [&](const Hold& other) {
            return other.grant()->session != hold.grant()->session && live(other) &&
                   !(other.permits() > 0 && hold.permits() > 0) &&
                   conflicting(other.mode, hold.mode);
        };
        for (const Hold* other = hold.next(); other != nullptr; other = other->next()) {
            if (is_conflicting(*other)) return true;
        }
        for (const Resource* above = at.parent(); above != nullptr; above = above->parent()) {
            for (const Hold* other = above->newest_hold(); other != nullptr;
                 other = other->next()) {
                if (other->subtree && is_conflicting(*other)) return true;
            }
        }
        return false;
    }

    const char* check_queue(const Resource& at) {
        const WaitLock* before = nullptr;
        for (const WaitLock* lock = at.queue(); lock != nullptr; lock = lock->next) {
            if (lock->previous != before) return "a queue is linked incorrectly";
            if (before != nullptr && before->wait != lock->wait &&
                !before->wait->before(*lock->wait))
                return "a queue is not in order";
            marks_ += lock->requested->subtree ? 1 : 0;
            ++queued_;
            if (before != nullptr && before->wait->session != lock->wait->session) {
                ++followed_[before->wait->session];
            }
            before = lock;
        }
        if (at.extra() && at.extra()->last != before) return "the end of a queue is wrong";
        return nullptr;
    }

    std::optional<std::string> check_waits() {
        std::size_t requested_locks = 0;
        std::size_t listed = 0;
        for (const Wait* wait = core_.waits.oldest(); wait != nullptr; wait = wait->younger) {
            ++listed;
            waits_.insert(wait);
            requested_locks += wait->locks.size();
            if (core_.waits.find(wait->ticket) != wait) return "a wait is not found by its ticket";
            const Conflicts conflicts = core_.find_conflicts(*wait);
            // No waiter may be grantable, unless time has made it so: then its timer is due.
            const bool due = wait->timer.armed() && wait->timer.at <= core_.now.boot;
            if (!conflicts.blocked && !due && !core_.sessions.has_ending()) {
                return "a waiter of " + wait->session->principal + " could be granted";
            }
            if (!core_.find_cycle(*wait->session).empty()) return "there is a deadlock";
        }
        if (listed != core_.waits.size()) return "a wait is missing in the list of waits";
        if (requested_locks != queued_) return "the queues do not match the waits";
        return std::nullopt;
    }

    std::optional<std::string> check_sessions() const {
        std::size_t held = 0;
        for (const auto& [id, session] : core_.sessions) {
            std::uint64_t of_session = 0;
            for (const Grant* grant = session->first; grant != nullptr; grant = grant->next)
                ++of_session;
            if (of_session != session->grants) return "the number of grants of a session is wrong";
            const auto followed = followed_.find(session.get());
            if (session->followed != (followed == followed_.end() ? 0 : followed->second)) {
                return "the number of waits that follow the waits of a session is wrong";
            }
            held += of_session;
        }
        if (held != core_.grants.size())
            return "the grants of the sessions do not match the index of grants";
        if (auto wrong = check_index()) return wrong;
        return check_usage();
    }

    // Returns an error unless the index of grants is in the order of the numbers, finds each of its
    // grants, and the holds of the grants are those of the resources.
    std::optional<std::string> check_index() const {
        std::size_t held = 0;
        std::size_t holds = 0;
        GrantId before{};
        const bool good = core_.grants.all_of([&](const Grant& grant) {
            if (grant.id() <= before || core_.grants.find(grant.id()) != &grant) return false;
            before = grant.id();
            ++held;
            holds += grant.hold_count;
            const auto own = grant.holds();
            return std::all_of(own.begin(), own.end(),
                               [&](const Hold& hold) { return hold.grant() == &grant; });
        });
        if (!good) return "the index of grants is not in order";
        if (holds != holds_) return "a hold is missing in the list of its resource";
        if (held != core_.grants.size()) return "the number of grants is wrong";
        return std::nullopt;
    }

    // Returns an error unless the table of request ids finds each of its ids, and each id belongs
    // to its grant, session or wait. An id of a grant or a wait may be missing: a conversion with
    // the same id replaces it.
    std::optional<std::string> check_requests() const {
        boost::unordered_flat_set<const Session*> opened;
        for (const auto& [id, session] : core_.sessions) {
            if (!session->ended) opened.insert(session.get());
        }
        const auto belongs = [&](const RequestKey& key, const RequestOutcome& outcome) {
            if (const Wait* const wait = outcome.wait())
                return waits_.contains(wait) && wait->request == key;
            if (const Session* const session = outcome.session())
                return opened.contains(session) && session->opening.request == key;
            const Grant* const grant = core_.grants.find(outcome.grant());
            return grant == nullptr || grant->request().key == key;
        };
        std::size_t ids = 0;
        const bool good =
            core_.requests.all_of([&](const RequestKey& key, const RequestOutcome& outcome) {
                ++ids;
                return core_.requests.find(key) == outcome && belongs(key, outcome);
            });
        if (!good) return "a request id belongs to another request";
        if (ids != core_.requests.size()) return "the number of request ids is wrong";
        return std::nullopt;
    }

    // The recorded usage of each user must equal the sum over the user's sessions.
    std::optional<std::string> check_usage() const {
        if (!core_.usage.counts()) return std::nullopt;
        std::map<UserId, lock_model::Usage> found;
        for (const auto& [id, session] : core_.sessions) {
            lock_model::Usage& usage = found[session->uid];
            ++usage.sessions;
            usage.bytes += session->counted;
            for (const Grant* grant = session->first; grant != nullptr; grant = grant->next) {
                ++usage.grants;
                usage.bytes += lock_model::bytes_of_grant(*grant);
            }
            for (const Wait* wait : session->waits) {
                ++usage.waiters;
                usage.bytes += lock_model::bytes_of_wait(*wait);
            }
        }
        for (const auto& [uid, usage] : found) {
            if (!(core_.usage.of(uid) == usage)) return "the recorded usage of a user is wrong";
        }
        if (core_.usage.all().size() != found.size())
            return "usage is recorded for a user without sessions";
        return std::nullopt;
    }

    const Core& core_;
    std::uint64_t marks_ = 0;
    std::uint64_t exclusive_ = 0;
    std::size_t queued_ = 0;
    std::size_t holds_ = 0;
    std::size_t paths_ = 0;
    std::size_t children_ = 0;
    std::size_t idle_ = 0;
    boost::unordered_flat_map<const Session*, std::size_t> followed_;
    boost::unordered_flat_set<const Wait*> waits_;
};

std::optional<std::string> LockTable::audit_invariants(Instant now) const {
    const Instant before = core_->now;
    core_->now = now;
    auto wrong = Core::Audit(*core_).run();
    core_->now = before;
    return wrong;
}

// Each wait is compared with its queues, and a search for a cycle may visit all other waits.
std::uint64_t LockTable::audit_cost() const {
    const std::uint64_t waiting = core_->waits.size();
    return core_->resources.size() + core_->grants.size() + core_->sessions.size() +
           core_->requests.size() + waiting * waiting;
}

}  // namespace rocklock
