#include "daemon/status/role_status.hpp"

#include <utility>

namespace rocklock {

std::string_view to_string(ProcessRole role) {
    switch (role) {
        case ProcessRole::manager:
            return "manager";
        case ProcessRole::standby:
            return "standby";
        case ProcessRole::relay:
            return "relay";
        case ProcessRole::waiting:
            break;
    }
    return "waiting";
}

void RoleStatus::set_role(ProcessRole role, std::string reason) {
    const MutexLock lock(mutex_);
    state_ = {role, std::move(reason), 0, 0};
}

void RoleStatus::set_links(int links, int clients, const std::string& failure) {
    const MutexLock lock(mutex_);
    if (state_.role != ProcessRole::standby && state_.role != ProcessRole::relay) return;
    state_.links = links;
    state_.clients = clients;
    if (!failure.empty()) state_.reason = failure;
}

RoleStatus::State RoleStatus::state() const {
    const MutexLock lock(mutex_);
    State state = state_;
    const bool serves = state.role == ProcessRole::manager || state.links > 0;
    if (!serves) state.role = ProcessRole::waiting;
    if (serves) state.reason.clear();
    return state;
}

}  // namespace rocklock
