// The resources of the status server: the health and the metrics of this process itself.
//
// In contrast to them, the same resources on the other sockets of a standby or a relay
// (StatusPages) describe the manager.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "daemon/http/http_reader.hpp"
#include "daemon/status/role_status.hpp"
#include "service/service_answer.hpp"

namespace rocklock {

// Threads:  thread-safe, if `more_metrics` is.
// Lifetime: borrows the role.
class OwnPages {
public:
    // `more_metrics` appends further lines to the metrics. May be empty.
    OwnPages(const RoleStatus& role, std::function<void(std::string& text)> more_metrics)
        : role_(role), more_metrics_(std::move(more_metrics)) {}

    // Returns 404 if the path is unknown, 405 if the method is neither GET nor HEAD, and 400 if the
    // query of /healthz is invalid.
    ServiceAnswer get(const HttpRequest& request) const;

private:
    ServiceAnswer health(const std::string& query) const;
    ServiceAnswer metrics() const;

    const RoleStatus& role_;
    const std::function<void(std::string&)> more_metrics_;
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Appends the lines for the role.
void append_role(std::string& text, const RoleStatus::State& state);

}  // namespace rocklock
