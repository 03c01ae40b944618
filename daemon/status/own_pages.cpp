#include "daemon/status/own_pages.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include <rocklock/version.hpp>

#include "daemon/support/process_use.hpp"
#include "service/metrics.hpp"

namespace rocklock {
namespace {

constexpr std::string_view text_type = "text/plain; charset=utf-8";
constexpr std::string_view own_metrics_type = "text/plain; version=0.0.4; charset=utf-8";
// Responses must not be cached.
constexpr std::string_view own_headers =
    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n";
constexpr std::array<ProcessRole, 4> all_roles = {ProcessRole::manager, ProcessRole::standby,
                                                  ProcessRole::relay, ProcessRole::waiting};

ServiceAnswer text_answer(int status, std::string body) {
    return {status, text_type, std::string(own_headers), std::move(body)};
}

// Returns whether a probe can require the role.
bool can_be_required(std::string_view role) {
    return std::any_of(all_roles.begin(), all_roles.end(), [&](ProcessRole each) {
        return each != ProcessRole::waiting && role == to_string(each);
    });
}

}  // namespace

ServiceAnswer OwnPages::get(const HttpRequest& request) const {
    const auto mark = std::min(request.target.find('?'), request.target.size());
    const auto path = std::string_view(request.target).substr(0, mark);
    if (path != "/healthz" && path != "/metrics") {
        return text_answer(404,
                           "there is no such page: this address serves /healthz and /metrics\n");
    }
    if (request.method != "GET" && request.method != "HEAD") {
        auto answer = text_answer(405, std::string(path) + " allows GET and HEAD\n");
        answer.more_headers += "Allow: GET, HEAD\r\n";
        return answer;
    }
    if (path == "/metrics") return metrics();
    return health(request.target.substr(mark));
}

// `query` is empty, or begins with a question mark.
ServiceAnswer OwnPages::health(const std::string& query) const {
    constexpr std::string_view parameter = "?role=";
    const bool has_role = query.starts_with(parameter);
    const std::string required = has_role ? query.substr(parameter.size()) : "";
    if (has_role ? !can_be_required(required) : query.size() > 1) {
        return text_answer(400,
                           "the query of /healthz is invalid: write /healthz, or "
                           "/healthz?role=manager, /healthz?role=standby or /healthz?role=relay\n");
    }
    const auto state = role_.state();
    std::string body(to_string(state.role));
    if (!state.reason.empty()) body += ": " + state.reason;
    body += '\n';
    const bool healthy =
        has_role ? required == to_string(state.role) : state.role != ProcessRole::waiting;
    return text_answer(healthy ? 200 : 503, std::move(body));
}

ServiceAnswer OwnPages::metrics() const {
    std::string text =
        "# HELP rocklock_build_info Version of this daemon.\n# TYPE rocklock_build_info gauge\n";
    text += "rocklock_build_info{version=\"" + std::string(version()) + "\"} 1\n";
    const auto up = std::chrono::steady_clock::now() - start_;
    append_metric(
        text, "rocklock_uptime_seconds", "gauge", "Seconds since the daemon started to listen.",
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(up).count()));
    const auto state = role_.state();
    append_role(text, state);
    append_metric(text, "rocklock_manager_links", "gauge",
                  "Established links of this process to the manager.",
                  static_cast<std::uint64_t>(state.links));
    append_metric(text, "rocklock_relayed_connections", "gauge",
                  "Open connections of clients that this process relays.",
                  static_cast<std::uint64_t>(state.clients));
    append_process_use(text);
    if (more_metrics_) more_metrics_(text);
    return {200, own_metrics_type, std::string(own_headers), std::move(text)};
}

void append_role(std::string& text, const RoleStatus::State& state) {
    text +=
        "# HELP rocklock_role 1 for the current role of this process, 0 for the others.\n"
        "# TYPE rocklock_role gauge\n";
    for (const ProcessRole role : all_roles) {
        text += "rocklock_role{role=\"" + std::string(to_string(role)) + "\"} " +
                (role == state.role ? "1\n" : "0\n");
    }
}

}  // namespace rocklock
