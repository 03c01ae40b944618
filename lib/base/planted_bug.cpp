#include "base/planted_bug.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace rocklock {
namespace {

struct Known {
    Bug bug{};
    std::string_view name;
};

constexpr std::array bugs{
    Known{Bug::release_without_grant_test, "release_without_grant_test"},
    Known{Bug::expiry_on_wall_clock, "expiry_on_wall_clock"},
    Known{Bug::lease_from_request, "lease_from_request"},
    Known{Bug::token_from_memory, "token_from_memory"},
    Known{Bug::token_block_not_synced, "token_block_not_synced"},
    Known{Bug::renewal_revives, "renewal_revives"},
    Known{Bug::wakes_one_reader, "wakes_one_reader"},
    Known{Bug::reader_overtakes_writer, "reader_overtakes_writer"},
    Known{Bug::cancel_leaves_entry, "cancel_leaves_entry"},
    Known{Bug::set_one_by_one, "set_one_by_one"},
    Known{Bug::upgrade_lets_go, "upgrade_lets_go"},
    Known{Bug::request_forgotten_at_restart, "request_forgotten_at_restart"},
    Known{Bug::lazy_steal, "lazy_steal"},
    Known{Bug::lease_anew_on_same_boot, "lease_anew_on_same_boot"},
    Known{Bug::shared_lease, "shared_lease"},
    Known{Bug::keys_run_together, "keys_run_together"},
    Known{Bug::sync_error_ignored, "sync_error_ignored"},
    Known{Bug::reader_frees_readers, "reader_frees_readers"},
    Known{Bug::force_by_name, "force_by_name"},
    Known{Bug::soft_edge_missing, "soft_edge_missing"},
    Known{Bug::late_renewals_refused, "late_renewals_refused"},
    Known{Bug::told_before_durable, "told_before_durable"},
    Known{Bug::child_goes_on, "child_goes_on"},
    Known{Bug::unwoken_release, "unwoken_release"},
    Known{Bug::unwoken_expiry, "unwoken_expiry"},
    Known{Bug::unwoken_downgrade, "unwoken_downgrade"},
    Known{Bug::unwoken_cancel, "unwoken_cancel"},
    Known{Bug::unwoken_steal, "unwoken_steal"},
    Known{Bug::unwoken_session_end, "unwoken_session_end"},
    Known{Bug::unwoken_set_withdrawal, "unwoken_set_withdrawal"},
    Known{Bug::unwoken_restart, "unwoken_restart"},
    Known{Bug::stall_unseen, "stall_unseen"},
    Known{Bug::event_before_durable, "event_before_durable"},
    Known{Bug::event_missing, "event_missing"},
    Known{Bug::write_unguarded, "write_unguarded"},
    Known{Bug::last_action_unguarded, "last_action_unguarded"},
    Known{Bug::check_unguarded, "check_unguarded"},
    Known{Bug::transaction_torn, "transaction_torn"},
    Known{Bug::token_behind, "token_behind"},
    Known{Bug::reads_of_many_moments, "reads_of_many_moments"},
    Known{Bug::guard_judged_early, "guard_judged_early"},
    Known{Bug::lease_end_ignored, "lease_end_ignored"},
    Known{Bug::hang_up_revokes, "hang_up_revokes"},
    Known{Bug::synced_damage_recovered, "synced_damage_recovered"},
};

constexpr Bug none{0};

// A name that is not known ends the program: a test that plants nothing proves nothing.
Bug chosen_bug() {
    const char* const chosen = std::getenv("ROCKLOCK_PLANTED_BUG");
    if (chosen == nullptr || *chosen == '\0') return none;
    for (const Known& known : bugs) {
        const auto number = std::to_string(static_cast<int>(known.bug));
        if (known.name == chosen || number == chosen) return known.bug;
    }
    std::fprintf(stderr, "ROCKLOCK_PLANTED_BUG: there is no bug %s\n", chosen);
    std::abort();
}

}  // namespace

bool planted(Bug bug) noexcept {
    static const Bug chosen = chosen_bug();
    return bug == chosen;
}

}  // namespace rocklock
