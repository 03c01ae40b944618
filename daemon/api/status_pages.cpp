#include "daemon/api/status_pages.hpp"

#include <string_view>
#include <utility>

#include <rocklock/version.hpp>

#include "daemon/api/page_files.hpp"
#include "daemon/support/process_use.hpp"

namespace rocklock {
namespace {

constexpr std::string_view plain_type = "text/plain; charset=utf-8";
constexpr std::string_view metrics_type = "text/plain; version=0.0.4; charset=utf-8";
// Responses must not be cached.
constexpr std::string_view not_kept = "Cache-Control: no-store\r\n";

// The page may run only its own script, connect only to this server, and not be shown in a frame.
constexpr std::string_view page_rules =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cache-Control: no-store\r\n";

// Escapes text for the value of an attribute.
std::string html_escaped(std::string_view text) {
    std::string result;
    for (const char letter : text) {
        const auto byte = static_cast<unsigned char>(letter);
        const bool plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                           (byte >= 'a' && byte <= 'z') || byte >= 0x80 || letter == '/' ||
                           letter == '.' || letter == '-' || letter == '_';
        result += plain ? std::string(1, letter) : "&#" + std::to_string(byte) + ";";
    }
    return result;
}

std::string page_for(const std::string& socket) {
    constexpr std::string_view mark = "@SOCKET@";
    std::string text(page::html);
    const auto at = text.find(mark);
    if (at != std::string::npos) text.replace(at, mark.size(), html_escaped(socket));
    return text;
}

ServiceAnswer plain(int status, std::string body) {
    return {status, plain_type, std::string(not_kept), std::move(body)};
}

bool is_page_path(std::string_view path) {
    return path == "/" || path == "/healthz" || path == "/readyz" || path == "/metrics" ||
           path == "/events" || path == "/page.css" || path == "/page.js";
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): each parameter becomes a member
StatusPages::StatusPages(LockService& service, const CallRecorder& recorder, const Traffic& traffic,
                         const std::atomic<bool>& stopping, Facts facts, const ItemEndpoint* tables,
                         const EditEndpoint* edits)
    : service_(service),
      recorder_(recorder),
      traffic_(traffic),
      stopping_(stopping),
      facts_(std::move(facts)),
      tables_(tables),
      edits_(edits),
      page_(page_for(facts_.socket)) {}

void StatusPages::set_user_limits(const UserLimits& limits,
                                  const UserConnectionLimits& connections) {
    const MutexLock lock(mutex_);
    user_limits_ = limits;
    connection_limits_ = connections;
}

ServiceAnswer StatusPages::get(const HttpRequest& request) const {
    const auto path = std::string_view(request.target).substr(0, request.target.find('?'));
    if (!is_page_path(path)) {
        return refusal(404, "UnknownOperationException",
                       "there is no page at " + request.target +
                           ": send calls with POST to /; GET serves /, /healthz, /readyz, /metrics "
                           "and /events");
    }
    if (request.method != "GET" && request.method != "HEAD") {
        auto answer = refusal(405, "UnknownOperationException",
                              path == "/" ? "/ allows POST, GET and HEAD"
                                          : std::string(path) + " allows GET and HEAD");
        answer.more_headers = path == "/" ? "Allow: POST, GET, HEAD\r\n" : "Allow: GET, HEAD\r\n";
        return answer;
    }
    if (path == "/readyz") return ready();
    if (path == "/metrics") return metrics();
    // GET starts a stream elsewhere; this is the response to HEAD.
    if (path == "/events") return {200, "text/event-stream", std::string(not_kept), {}};
    if (path == "/") return front(request);
    if (path == "/page.css") {
        return {200, "text/css; charset=utf-8", std::string(page_rules), std::string(page::css)};
    }
    if (path == "/page.js") {
        return {200, "text/javascript; charset=utf-8", std::string(page_rules),
                std::string(page::js)};
    }
    // /healthz: a response shows that the process is alive.
    return plain(200, "ok\n");
}

// Returns the page for browsers, and one line for other clients.
ServiceAnswer StatusPages::front(const HttpRequest& request) const {
    if (request.accept.find("text/html") == std::string::npos) {
        return plain(200, "healthy: rocklock\n");
    }
    return {200, "text/html; charset=utf-8", std::string(page_rules), page_};
}

ServiceAnswer StatusPages::ready() const {
    if (recorder_.failed()) return plain(503, "the storage has failed\n");
    if (stopping_) return plain(503, "shutting down\n");
    return plain(200, "ok\n");
}

ServiceAnswer StatusPages::metrics() const {
    std::string text;
    text +=
        "# HELP rocklock_build_info Version and durability of this daemon.\n# TYPE "
        "rocklock_build_info gauge\n";
    text += "rocklock_build_info{version=\"" + std::string(version()) + "\",durability=\"" +
            facts_.durability + "\"} 1\n";
    const auto up = std::chrono::steady_clock::now() - start_;
    append_metric(
        text, "rocklock_uptime_seconds", "gauge", "Seconds since the daemon started to listen.",
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(up).count()));
    append_metric(text, "rocklock_ready", "gauge", "1 if the daemon grants locks, else 0.",
                  recorder_.failed() || stopping_ ? 0 : 1);
    append_metric(text, "rocklock_connections", "gauge", "Open connections.",
                  static_cast<std::uint64_t>(traffic_.connections.load()));
    append_metric(text, "rocklock_shared_memory_connections", "gauge",
                  "Open connections that have shared memory.",
                  static_cast<std::uint64_t>(traffic_.shared.count()));
    append_metric(text, "rocklock_connections_total", "counter", "Connections accepted.",
                  traffic_.accepted);
    append_metric(text, "rocklock_connections_refused_total", "counter",
                  "Connections refused because of a limit.", traffic_.refused);
    append_metric(text, "rocklock_connections_dropped_total", "counter",
                  "Idle connections closed to make room for others.", traffic_.dropped);
    append_process_use(text);
    const auto statistics = service_.statistics();
    append_statistics(text, statistics);
    if (facts_.storage) append_storage(text, facts_.storage());
    if (tables_ != nullptr) {
        append_metric(text, "rocklock_drafts", "gauge", "Drafts of refused writes that are kept.",
                      tables_->draft_count());
    }
    append_user_usage(text, usage_of(statistics), facts_.remote_users);
    append_node_usage(text, traffic_.nodes.all());
    {
        const MutexLock lock(mutex_);
        append_user_limits(text, user_limits_, connection_limits_);
    }
    recorder_.counters().append(text);
    if (tables_ != nullptr) tables_->counters().append(text);
    if (edits_ != nullptr) edits_->counters().append(text);
    if (facts_.more_metrics) facts_.more_metrics(text);
    return {200, metrics_type, std::string(not_kept), std::move(text)};
}

// Returns the usage of each user, by uid, for everything that has a limit.
std::map<UserId, UserUsageLine> StatusPages::usage_of(const LockStatistics& statistics) const {
    std::map<UserId, UserUsageLine> users;
    for (const auto& [uid, connections] : traffic_.users.all())
        users[uid].connections = connections;
    for (const auto& [uid, bytes] : traffic_.buffers.all()) users[uid].buffer_bytes = bytes;
    for (const UserLockUsage& user : statistics.users) users[user.uid].locks = user;
    if (tables_ == nullptr) return users;
    for (const UserTableUsage& user : tables_->user_usage()) users[user.uid].tables = user;
    return users;
}

}  // namespace rocklock
