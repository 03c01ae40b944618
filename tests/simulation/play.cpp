// Simulates worlds, one after the other.
#include <chrono>
#include <utility>

#include "simulation/cluster_world.hpp"
#include "simulation/world_state.hpp"

namespace rocklock::simulation {
namespace {

// Every run of a few thousand seeds so far has seen these events.
const char* const required[] = {
    "granted: at once",
    "granted: after a wait",
    "granted: a set",
    "granted: any, at once",
    "granted: any, after a wait",
    "granted: with a priority, after a wait",
    "granted: a subtree",
    "granted: a dependant",
    "granted: permits",
    "granted: counted",
    "granted: with its own session",
    "granted: again, ended since",
    "converted: at once",
    "converted: after a wait",
    "stolen: at once",
    "transferred: at once",
    "reacquired: at once",
    "released: released",
    "released: held",
    "released: already_released",
    "released: expired",
    "released: stolen",
    "released: broken",
    "released: transferred",
    "ended: expired",
    "ended: stolen",
    "ended: broken",
    "event: granted",
    "event: wanted",
    "event: warned",
    "event: converted",
    "event: transferred",
    "event: released",
    "event: expired",
    "event: stolen",
    "event: broken",
    "refused: conflict",
    "refused: patience_expired",
    "refused: cancelled",
    "refused: deadlock",
    "refused: already_held",
    "refused: session_expired",
    "refused: session_not_found",
    "refused: grant_ended",
    "refused: not_owner",
    "refused: steal_refused",
    "refused: steal, never",
    "refused: steal, idle",
    "refused: steal, ask",
    "refused: access_denied",
    "stolen: what was refused before",
    "wanted: asked",
    "answered: held",
    "answered: released",
    "refused: queue_full",
    "refused: kind_mismatch",
    "refused: class_draining",
    "refused: invalid_argument",
    "refused: precondition_failed",
    "session: opened",
    "session: without expiry",
    "session: renewed",
    "session: closed",
    "renew: late, after a stall",
    "network: a message lost",
    "network: a message twice",
    "network: messages reordered",
    "network: an old message again",
    "network: an answer lost",
    "clock: the wall clock jumps",
    "clock: the manager was stalled",
    "storage: a write failed",
    "storage: a sync failed",
    "crash: killed",
    "crash: power cut",
    "crash: killed after a failure",
    "crash: power cut after a failure",
    "crash: torn record",
    "crash: commits were lost",
    "crash: another boot",
    "quiet: everything compared",
    nullptr,
};

const char* const required_of_clusters[] = {
    "granted: at once",
    "granted: after a wait",
    "granted: again, ended since",
    "converted: at once",
    "stolen: at once",
    "transferred: at once",
    "reacquired: at once",
    "released: released",
    "ended: expired",
    "session: renewed",
    "renew: late, after a stall",
    "clock: the manager was stalled",
    "etcd: a request was lost",
    "etcd: an answer was lost",
    "etcd: a request was executed late",
    "etcd: a request was executed twice",
    "etcd: not reachable",
    "etcd: an error",
    "etcd: a renewal of the lease had no effect",
    "cluster: a late request was executed",
    "cluster: a lease ended early",
    "cluster: a renewal of the lease was lost",
    "cluster: compacted",
    "cluster: paused",
    "cluster: killed",
    "cluster: closed",
    "cluster: another boot",
    "cluster: the manager failed",
    "cluster: replaced during a commit",
    "cluster: commits were lost",
    "cluster: a store was not opened: store_in_use",
    "cluster: a store was not opened: io_error",
    "replaced: a request",
    "replaced: a request failed",
    "replaced: a read",
    "replaced: a notice",
    "replaced: answered an earlier request",
    "replaced: answered a release",
    "replaced: learned it",
    "write: guarded",
    "write: committed",
    "write: refused by the manager",
    "write: a large batch",
    "write: a large batch in parts",
    "write: a large batch was interrupted",
    "quiet: everything compared",
    nullptr,
};

}  // namespace

const char* const* required_kinds(WorldKind kind) {
    return kind == WorldKind::cluster ? required_of_clusters : required;
}

Verdict play(WorldKind kind, std::uint64_t seed, bool trace, Counts& counts) {
    if (kind == WorldKind::cluster) return ClusterWorld(seed, trace, counts).run();
    return World(seed, trace, counts).run();
}

Summary play_all(WorldKind kind, std::uint64_t from, std::uint64_t to, double seconds) {
    Summary summary;
    summary.kind = kind;
    const auto start = std::chrono::steady_clock::now();
    const auto passed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    for (std::uint64_t seed = from; seed < to && passed() < seconds; ++seed) {
        auto verdict = play(kind, seed, false, summary.counts);
        ++summary.seeds;
        summary.steps += verdict.steps;
        if (!verdict.wrong) continue;
        // The failed seed is simulated again, with a trace.
        Counts again;
        summary.failed = play(kind, seed, true, again);
        if (!summary.failed->wrong)
            summary.failed->wrong = *verdict.wrong + " (and not when played again!)";
        break;
    }
    summary.seconds = passed();
    return summary;
}

std::string Summary::missing() const {
    std::string text;
    for (const auto* const* each = required_kinds(kind); *each != nullptr; ++each) {
        if (!counts.contains(*each)) text += std::string(*each) + "\n";
    }
    return text;
}

}  // namespace rocklock::simulation
