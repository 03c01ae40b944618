// Mutants: known mistakes that a test build can make on purpose, so that each test harness proves
// that it finds them.
//
// Only a build with -Dmutants=true contains them. The environment variable ROCKLOCK_MUTANT selects
// one by its name or number. In every other build mutated() is the constant false, and the code
// that it guards is not compiled.
//
// scripts/mutants has the table of the harnesses that must find each mutant; see docs/testing.md.
#pragma once

#include <cstdint>

namespace rocklock {

enum class Mutant : std::uint8_t {
    // A release is not held to the session that has the grant.
    release_without_grant_test = 1,
    // The time that passes is read from the wall clock.
    expiry_on_wall_clock = 2,
    // A lease does not begin when a waiter is granted, but ran on while it waited.
    lease_from_request = 3,
    // Where the tokens had come to is forgotten with the process.
    token_from_memory = 4,
    // A block of tokens is used before its reservation is synced.
    token_block_not_synced = 5,
    // A renewal brings back a session whose lease is over.
    renewal_revives = 6,
    // Of several waiters that could be served together only the first is.
    wakes_one_reader = 7,
    // A reader that has just come does not look at who waits before it.
    reader_overtakes_writer = 8,
    // A cancelled wait stays in its queue.
    cancel_leaves_entry = 9,
    // A set takes what is free at once and waits for the rest.
    set_one_by_one = 10,
    // A holder that waits to be raised is in nobody's way meanwhile.
    upgrade_lets_go = 12,
    // What request ids were used for is forgotten with the process.
    request_forgotten_at_restart = 13,
    // A steal is answered before it is synced.
    lazy_steal = 14,
    // Leases begin anew after a restart, although the boot is the same.
    lease_anew_on_same_boot = 15,
    // Those who hold a resource together share the longest of their leases.
    shared_lease = 16,
    // The parts of a composite key are put one behind the other, with nothing in between.
    keys_run_together = 17,
    // A sync that failed is taken for done.
    sync_error_ignored = 18,
    // A reader that expires takes the other readers with it.
    reader_frees_readers = 19,
    // To break a grant that has ended breaks the one that came after it on the same name.
    force_by_name = 20,
    // The wait-for graph knows holders, and nobody who waits.
    soft_edge_missing = 21,
    // A manager that stood still judges the renewals that came meanwhile as of now.
    late_renewals_refused = 22,
    // A loss is told when it is decided.
    told_before_durable = 23,
    // A child of the process that made something takes it for its own.
    child_goes_on = 24,

    // Each way of being woken, left out.
    unwoken_release = 25,
    unwoken_expiry = 26,
    unwoken_downgrade = 27,
    unwoken_cancel = 28,
    // A steal, or any other grant, is what its session's other requests may have waited for.
    unwoken_steal = 29,
    unwoken_session_end = 30,
    unwoken_set_withdrawal = 31,
    // What was to happen by time is not set up again after a restart.
    unwoken_restart = 32,

    // A server that stood still decides at once what it finds in its sockets.
    stall_unseen = 33,

    // An event is told when it is decided.
    event_before_durable = 34,
    // Of a grant's end nobody who watches is told.
    event_missing = 35,

    // A write of one item is committed whatever the item has become since it was read.
    write_unguarded = 36,
    // So is the last action of a transaction.
    last_action_unguarded = 37,
    // What a transaction only checks may change until it is committed.
    check_unguarded = 38,
    // A transaction is two commits.
    transaction_torn = 39,
    // A transaction's token is stored behind it, in another commit.
    token_behind = 40,
    // Each item of TransactGetItems is read at a moment of its own.
    reads_of_many_moments = 41,

    // A guarded write is judged when it is decided, and not as it is committed: what becomes of the
    // grant meanwhile, and the end of its lease.
    guard_judged_early = 42,
    lease_end_ignored = 43,

    // Every hang-up of a client is taken to mean that it left all answers unread.
    hang_up_revokes = 44,
    // Damage in what was synced to a log is taken for a write that a power cut tore.
    synced_damage_recovered = 45,
};

#ifdef ROCKLOCK_MUTANTS
// Whether it is the bug that the environment names; asked once.
bool mutated(Mutant mutant) noexcept;
#else
constexpr bool mutated(Mutant /*mutant*/) noexcept { return false; }
#endif

}  // namespace rocklock
