#include <rocklock/retention.hpp>

#include <string>

namespace rocklock {
namespace {

constexpr std::chrono::minutes history_age_min{10};

Error invalid(const std::string& what) { return {ErrorCode::invalid_argument, what}; }

}  // namespace

Result<void> check_retention(const Retention& retention) {
    if (retention.history_age < history_age_min) {
        return invalid(
            "the history must be kept for 10m or longer: repeated requests are answered from it");
    }
    if (retention.draft_age.count() <= 0) return invalid("drafts must be kept for 1ms or longer");
    if (retention.max_principal_drafts == 0 ||
        retention.max_principal_drafts > limits::drafts_per_principal) {
        return invalid("the number of drafts of a principal must be from 1 to " +
                       std::to_string(limits::drafts_per_principal));
    }
    if (retention.audit_age.count() < 0) {
        return invalid("the age of audit rows must not be negative: 0 keeps them permanently");
    }
    return {};
}

}  // namespace rocklock
