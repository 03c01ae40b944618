// The wait-for graph: no wait begins that would close a cycle.
//
// A session waits for the sessions that hold what is in the way of one of its requests, and for
// those whose earlier requests are. It goes on only when every one of its waiting requests is
// granted, and a set needs all of its resources, so a cycle is a deadlock. Only on counting
// resources that is not enough: there any of the holders may make room, so a cycle over one of them
// is checked by taking away, again and again, every session that could go on; the ones that are
// left are stuck.
//
// Edges are worked out from the queues as they stand, each time: there is no graph that could be
// wrong.
#include <algorithm>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

#include "lock/table_core.hpp"

namespace rocklock {

using table::Hold;
using table::Resource;
using table::Session;
using table::Wait;
using table::WaitLock;
using table::Wish;

namespace {

constexpr std::size_t deadlocks_kept = 16;

}  // namespace

std::vector<LockTable::Core::Edge> LockTable::Core::blockers(const Wait& wait, const Grant* moved,
                                                             const Session* owner) const {
    std::vector<Edge> edges;
    const auto meet_hold = [&](const Wish& wish, const Hold& hold) {
        const Session* holder = hold.grant == moved ? owner : hold.grant->session;
        if (holder == wait.session || !table::live(hold, now.boot)) return;
        const bool counted = hold.permits > 0 && wish.permits > 0;
        if (!counted && !conflicting(hold.mode, wish.mode)) return;
        edges.push_back({holder, hold.resource, true, counted});
    };
    const auto meet_queue = [&](const Wish& wish, const Resource& at, bool only_subtree) {
        for (const WaitLock* lock = at.queue(); lock != nullptr; lock = lock->next) {
            if (!lock->wait->before(wait)) return;
            if (lock->wait->session == wait.session || (only_subtree && !lock->wish->subtree))
                continue;
            if (!lock->wait->session->live(now.boot)) continue;
            // A conversion of it ends with it.
            if (moved != nullptr && lock->wait->converts == moved) continue;
            const bool both_count = lock->wish->permits > 0 && wish.permits > 0;
            if (!both_count && !conflicting(lock->wish->mode, wish.mode)) continue;
            edges.push_back({lock->wait->session, &at, false, false});
        }
    };
    // Whoever gets the grant queues behind nobody for what it covers.
    const auto moved_covers = [&](const Wish& wish) {
        if (moved == nullptr || wait.session != owner || wish.permits > 0) return false;
        for (const Hold& hold : moved->holds()) {
            if (hold.permits > 0 || !covers(hold.mode, wish.mode)) continue;
            if (hold.resource == wish.resource && (hold.subtree || !wish.subtree)) return true;
            const Resource* above = wish.resource->parent;
            while (above != nullptr && hold.resource != above) above = above->parent;
            if (hold.subtree && above != nullptr) return true;
        }
        return false;
    };
    for (const Wish& wish : wait.wishes) {
        const Resource& at = *wish.resource;
        bool counting_is_full = true;
        if (wish.permits > 0) {
            std::uint64_t taken = 0;
            for (const Hold* hold = at.first; hold != nullptr; hold = hold->next) {
                if (table::live(*hold, now.boot)) taken += hold->permits;
            }
            counting_is_full = taken + wish.permits > classes.of(at.name()).permits;
        }
        for (const Hold* hold = at.first; hold != nullptr && counting_is_full; hold = hold->next) {
            meet_hold(wish, *hold);
        }
        const bool queues = !covered(*wait.session, wish) && !moved_covers(wish);
        if (queues) meet_queue(wish, at, false);
        if (subtree_marks > 0) {
            for (const Resource* above = at.parent; above != nullptr; above = above->parent) {
                for (const Hold* hold = above->first; hold != nullptr; hold = hold->next) {
                    if (hold->subtree) meet_hold(wish, *hold);
                }
                if (queues) meet_queue(wish, *above, true);
            }
        }
        if (wish.subtree) {
            for_each_inside(at, [&](const Resource& inside) {
                for (const Hold* hold = inside.first; hold != nullptr; hold = hold->next) {
                    meet_hold(wish, *hold);
                }
                if (queues) meet_queue(wish, inside, false);
            });
        }
    }
    return edges;
}

std::vector<CycleStep> LockTable::Core::find_cycle(const Session& start, const Grant* moved) const {
    // Nobody can wait for one that holds nothing and has just come to the end of its first queue.
    if (start.first == nullptr && start.waits.size() <= 1 && moved == nullptr) return {};
    struct Step {
        const Session* from = nullptr;
        const Resource* at = nullptr;
    };
    boost::unordered_flat_map<const Session*, Step> seen;
    std::vector<const Session*> open{&start};
    std::vector<const Session*> reached;
    bool counted = false;
    bool closed = false;
    Step last;
    while (!open.empty()) {
        const Session* session = open.back();
        open.pop_back();
        reached.push_back(session);
        for (const Wait* wait : session->waits) {
            if (moved != nullptr && wait->converts == moved) continue;
            for (const Edge& edge : blockers(*wait, moved, &start)) {
                counted = counted || edge.counted;
                if (edge.to == &start) {
                    if (!closed) last = {session, edge.at};
                    closed = true;
                } else if (seen.emplace(edge.to, Step{session, edge.at}).second) {
                    open.push_back(edge.to);
                }
            }
        }
        if (closed && !counted) break;
    }
    if (!closed) return {};
    if (counted && !truly_stuck(start, std::move(reached), moved)) return {};
    std::vector<CycleStep> cycle;
    for (Step step = last; step.from != nullptr;
         step = step.from == &start ? Step{} : seen[step.from]) {
        cycle.push_back({step.from->principal, step.from->id, std::string(step.at->name())});
    }
    std::reverse(cycle.begin(), cycle.end());
    return cycle;
}

bool LockTable::Core::truly_stuck(const Session& start, std::vector<const Session*> reached,
                                  const Grant* moved) const {
    // Those that wait for nobody go on by themselves.
    std::vector<const Session*> stuck = std::move(reached);
    std::erase_if(stuck, [](const Session* session) { return session->waits.empty(); });
    const auto is_stuck = [&](const Session* session) {
        return std::find(stuck.begin(), stuck.end(), session) != stuck.end();
    };
    // Permits of `at` held by those that are stuck, other than `by`.
    const auto kept_permits = [&](const Resource& at, const Session* by) {
        std::uint64_t kept = 0;
        for (const Hold* hold = at.first; hold != nullptr; hold = hold->next) {
            const Session* holder = hold->grant == moved ? &start : hold->grant->session;
            const bool stays = holder == by || is_stuck(holder);
            if (stays && table::live(*hold, now.boot)) kept += hold->permits;
        }
        return kept;
    };
    const auto can_go_on = [&](const Session* session) {
        for (const Wait* wait : session->waits) {
            for (const Edge& edge : blockers(*wait, moved, &start)) {
                if (!edge.counted && is_stuck(edge.to)) return false;
            }
            for (const Wish& wish : wait->wishes) {
                if (wish.permits == 0) continue;
                const std::uint32_t limit = classes.of(wish.resource->name()).permits;
                if (kept_permits(*wish.resource, session) + wish.permits > limit) return false;
            }
        }
        return true;
    };
    for (bool shrinks = true; shrinks;) {
        const auto goes = std::find_if(stuck.begin(), stuck.end(), can_go_on);
        shrinks = goes != stuck.end();
        if (shrinks) stuck.erase(goes);
    }
    return is_stuck(&start);
}

Error LockTable::Core::deadlock(std::vector<CycleStep> cycle) {
    ++counts.deadlocks;
    if (deadlocks.size() == deadlocks_kept) deadlocks.erase(deadlocks.begin());
    deadlocks.push_back({now.wall, cycle});
    Error error(ErrorCode::deadlock, "waiting would be a deadlock: ");
    for (const CycleStep& step : cycle) {
        error.message += step.principal + " waits for \"" + step.resource + "\", ";
    }
    error.message += "which " + cycle.front().principal +
                     " has; release something, or take all locks in one request";
    error.cycle = std::move(cycle);
    return error;
}

}  // namespace rocklock
