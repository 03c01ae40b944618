// Mutants: known bugs that a test build can activate. A test harness proves that it detects a bug
// by failing while the mutant is active.
//
// Only a build with -Dmutants=true contains mutants. The environment variable ROCKLOCK_MUTANT
// selects a mutant by its name or number. In every other build, mutated() is the constant false,
// and the code that depends on mutated() is not compiled.
//
// scripts/mutants contains a table with the test harnesses that must detect each mutant; see
// docs/testing.md.
#pragma once

#include <cstdint>

namespace rocklock {

enum class Mutant : std::uint8_t {
    // A session can release the grant of another session.
    release_without_grant_test = 1,
    // Elapsed time is computed from the wall clock instead of the boot clock.
    expiry_on_wall_clock = 2,
    // The lease is not renewed when a waiter is granted, so that the lease is counted from the
    // request.
    lease_from_request = 3,
    // After a restart, the last fencing token is not restored from the store.
    token_from_memory = 4,
    // Tokens of a reserved block are used before the reservation is synced.
    token_block_not_synced = 5,
    // A renewal after the end of the lease makes the session valid again.
    renewal_revives = 6,
    // If several waiters can be granted together, only the first one is granted.
    wakes_one_reader = 7,
    // A new read request ignores the waiters that are ahead of it in the queue.
    reader_overtakes_writer = 8,
    // The entry of a cancelled wait stays in the queue.
    cancel_leaves_entry = 9,
    // A waiting request for several resources is granted one of them immediately if it is free, and
    // waits for the others.
    set_one_by_one = 10,
    // A grant that waits for its upgrade does not conflict with other requests.
    upgrade_lets_go = 12,
    // After a restart, the request ids and their results are not restored.
    request_forgotten_at_restart = 13,
    // A steal is answered before it is synced.
    lazy_steal = 14,
    // After a restart, all leases start again, even if the machine has not been rebooted.
    lease_restarts_on_same_boot = 15,
    // If several sessions hold a resource, all of their leases end when the last one ends.
    shared_lease = 16,
    // The parts of a composite key are concatenated without a separator.
    keys_run_together = 17,
    // A failed sync is treated as successful.
    sync_error_ignored = 18,
    // The expiry of one reader ends the grants of the other readers.
    reader_frees_readers = 19,
    // A break of a grant that has already ended breaks the next grant of the same resource.
    force_by_name = 20,
    // The wait-for graph contains edges to holders, but no edges to earlier waiters of the queue.
    soft_edge_missing = 21,
    // After a stall, a renewal that arrived in time is refused, because the current time is used
    // instead of the time of arrival.
    late_renewals_refused = 22,
    // A lost grant is reported when it is decided, not after the decision is durable.
    notified_before_durable = 23,
    // A forked child uses an object of its parent as its own.
    child_continues = 24,

    // In mutants 25 to 31, one of the events that must wake waiters does not wake them.
    unwoken_release = 25,
    unwoken_expiry = 26,
    unwoken_downgrade = 27,
    unwoken_cancel = 28,
    // This mutant has a second effect: a new grant does not wake the waiting requests of the same
    // session for the same resources.
    unwoken_steal = 29,
    unwoken_session_end = 30,
    unwoken_set_withdrawal = 31,
    // The timers of the sessions are not set again after a restart.
    unwoken_restart = 32,

    // After a stall, a server treats leases as expired before it has read the requests in its
    // sockets.
    stall_unseen = 33,

    // An event is reported when it is decided, not after the decision is durable.
    event_before_durable = 34,
    // Watches receive no event for the expiry of a grant.
    event_missing = 35,

    // A write of one item is committed even if the item has changed since it was read.
    write_unguarded = 36,
    // As write_unguarded, but only for the last action of a transaction.
    last_action_unguarded = 37,
    // An item that a transaction only checks may change before the commit.
    check_unguarded = 38,
    // A transaction is executed in two commits.
    transaction_torn = 39,
    // The token of a transaction is stored in a separate, later commit.
    token_behind = 40,
    // TransactGetItems reads each item from a different snapshot.
    reads_of_many_moments = 41,

    // A guarded write is checked when it is decided, but not when it is committed. Mutant 42
    // ignores changes of the grant between these times, and mutant 43 ignores the end of its lease.
    guard_judged_early = 42,
    lease_end_ignored = 43,

    // When a client disconnects, all of its responses are treated as unread.
    hang_up_revokes = 44,
    // Damage in a synced part of a log is treated as a write that was torn by a power failure.
    synced_damage_recovered = 45,

    // A commit to etcd does not check that this node is still the manager.
    epoch_not_compared = 46,
    // A commit to etcd does not check that it follows the last one.
    commit_number_not_compared = 47,
    // An answer from memory of a store on etcd is not confirmed.
    read_not_confirmed = 48,
    // A large batch whose parts are not all stored in etcd is applied by the next manager.
    part_counts_as_batch = 49,
    // A large batch that is committed, but of which not all writes were applied, is not completed
    // by
    // the next manager.
    batch_not_resumed = 50,
    // Several writes of one key in a transaction are combined to the first one.
    first_write_kept = 51,
    // A restored snapshot of etcd is not recognized.
    snapshot_not_recognized = 52,
    // A manager applies a transaction of which it does not know the outcome to its copy.
    unknown_commit_applied = 53,
    // A new manager loads its copy without the last commits of the old one.
    copy_lacks_last_commits = 54,
    // The deadlines in a store are used as they are, even if they are times of another machine.
    deadlines_of_another_boot = 55,
    // An answer is confirmed by a commit that was enqueued before the request arrived.
    confirmed_too_early = 56,
};

#ifdef ROCKLOCK_MUTANTS
// Returns whether the environment variable selects `mutant`. The variable is read once.
bool mutated(Mutant mutant) noexcept;
#else
constexpr bool mutated(Mutant /*mutant*/) noexcept { return false; }
#endif

}  // namespace rocklock
