#include "base/mutant.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace rocklock {
namespace {

struct Known {
    Mutant mutant{};
    std::string_view name;
};

constexpr std::array mutants{
    Known{Mutant::release_without_grant_test, "release_without_grant_test"},
    Known{Mutant::expiry_on_wall_clock, "expiry_on_wall_clock"},
    Known{Mutant::lease_from_request, "lease_from_request"},
    Known{Mutant::token_from_memory, "token_from_memory"},
    Known{Mutant::token_block_not_synced, "token_block_not_synced"},
    Known{Mutant::renewal_revives, "renewal_revives"},
    Known{Mutant::wakes_one_reader, "wakes_one_reader"},
    Known{Mutant::reader_overtakes_writer, "reader_overtakes_writer"},
    Known{Mutant::cancel_leaves_entry, "cancel_leaves_entry"},
    Known{Mutant::set_one_by_one, "set_one_by_one"},
    Known{Mutant::upgrade_lets_go, "upgrade_lets_go"},
    Known{Mutant::request_forgotten_at_restart, "request_forgotten_at_restart"},
    Known{Mutant::lazy_steal, "lazy_steal"},
    Known{Mutant::lease_restarts_on_same_boot, "lease_restarts_on_same_boot"},
    Known{Mutant::shared_lease, "shared_lease"},
    Known{Mutant::keys_run_together, "keys_run_together"},
    Known{Mutant::sync_error_ignored, "sync_error_ignored"},
    Known{Mutant::reader_frees_readers, "reader_frees_readers"},
    Known{Mutant::force_by_name, "force_by_name"},
    Known{Mutant::soft_edge_missing, "soft_edge_missing"},
    Known{Mutant::late_renewals_refused, "late_renewals_refused"},
    Known{Mutant::notified_before_durable, "notified_before_durable"},
    Known{Mutant::child_continues, "child_continues"},
    Known{Mutant::unwoken_release, "unwoken_release"},
    Known{Mutant::unwoken_expiry, "unwoken_expiry"},
    Known{Mutant::unwoken_downgrade, "unwoken_downgrade"},
    Known{Mutant::unwoken_cancel, "unwoken_cancel"},
    Known{Mutant::unwoken_steal, "unwoken_steal"},
    Known{Mutant::unwoken_session_end, "unwoken_session_end"},
    Known{Mutant::unwoken_set_withdrawal, "unwoken_set_withdrawal"},
    Known{Mutant::unwoken_restart, "unwoken_restart"},
    Known{Mutant::stall_unseen, "stall_unseen"},
    Known{Mutant::event_before_durable, "event_before_durable"},
    Known{Mutant::event_missing, "event_missing"},
    Known{Mutant::write_unguarded, "write_unguarded"},
    Known{Mutant::last_action_unguarded, "last_action_unguarded"},
    Known{Mutant::check_unguarded, "check_unguarded"},
    Known{Mutant::transaction_torn, "transaction_torn"},
    Known{Mutant::token_behind, "token_behind"},
    Known{Mutant::reads_of_many_moments, "reads_of_many_moments"},
    Known{Mutant::guard_judged_early, "guard_judged_early"},
    Known{Mutant::lease_end_ignored, "lease_end_ignored"},
    Known{Mutant::hang_up_revokes, "hang_up_revokes"},
    Known{Mutant::synced_damage_recovered, "synced_damage_recovered"},
    Known{Mutant::epoch_not_compared, "epoch_not_compared"},
    Known{Mutant::commit_number_not_compared, "commit_number_not_compared"},
    Known{Mutant::read_not_confirmed, "read_not_confirmed"},
    Known{Mutant::part_counts_as_batch, "part_counts_as_batch"},
    Known{Mutant::batch_not_resumed, "batch_not_resumed"},
    Known{Mutant::first_write_kept, "first_write_kept"},
    Known{Mutant::snapshot_not_recognized, "snapshot_not_recognized"},
    Known{Mutant::unknown_commit_applied, "unknown_commit_applied"},
    Known{Mutant::copy_lacks_last_commits, "copy_lacks_last_commits"},
    Known{Mutant::deadlines_of_another_boot, "deadlines_of_another_boot"},
    Known{Mutant::confirmed_too_early, "confirmed_too_early"},
};

constexpr Mutant none{0};

// Aborts if the name is unknown: a test without its mutant would prove nothing.
Mutant chosen_mutant() {
    const char* const chosen = std::getenv("ROCKLOCK_MUTANT");
    if (chosen == nullptr || *chosen == '\0') return none;
    for (const Known& known : mutants) {
        const auto number = std::to_string(static_cast<int>(known.mutant));
        if (known.name == chosen || number == chosen) return known.mutant;
    }
    std::fprintf(stderr, "ROCKLOCK_MUTANT: %s is not the name or number of a mutant\n", chosen);
    std::abort();
}

}  // namespace

bool mutated(Mutant mutant) noexcept {
    static const Mutant chosen = chosen_mutant();
    return mutant == chosen;
}

}  // namespace rocklock
