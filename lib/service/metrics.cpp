#include "service/metrics.hpp"

#include <cstdio>
#include <optional>

#include "base/user_limit.hpp"
#include "lock/model/names.hpp"

namespace rocklock {
namespace {

std::string seconds(std::chrono::nanoseconds duration) {
    std::array<char, 32> text{};
    const int size = std::snprintf(text.data(), text.size(), "%.9g",
                                   static_cast<double>(duration.count()) / 1e9);
    return {text.data(), static_cast<std::size_t>(size)};
}

void append_head(std::string& text, std::string_view name, std::string_view type,
                 std::string_view help) {
    text += "# HELP ";
    text += name;
    text += ' ';
    text += help;
    text += "\n# TYPE ";
    text += name;
    text += ' ';
    text += type;
    text += '\n';
}

std::string escaped(std::string_view value) {
    std::string text;
    for (const char letter : value) {
        if (letter == '\\' || letter == '"') text += '\\';
        text += letter == '\n' ? std::string("\\n") : std::string(1, letter);
    }
    return text;
}

// The label `uid` is different for each user. The name that a relay reports may not be.
std::string labels_of(UserId user, const RemoteUsers* remote_users) {
    const auto uid = uid_of(user);
    std::string labels = "uid=\"" + (uid == tcp_user ? "tcp" : std::to_string(uid));
    if (node_number_of(user) == 0) return labels + "\"";
    const auto node = remote_users != nullptr ? remote_users->node_of(user) : std::nullopt;
    // The name of a node does not contain `?`.
    labels += "@" + node.value_or("?" + std::to_string(node_number_of(user))) + "\"";
    if (remote_users == nullptr || !remote_users->knows_name_of(user)) return labels;
    const auto name = remote_users->name_of(user);
    return is_utf8(name) ? labels + ",user=\"" + escaped(name) + "\"" : labels;
}

void append_locks(std::string& text, const LockStatistics& now) {
    append_head(text, "rocklock_locks_granted_total", "counter",
                "Locks granted; a grant counts once for each of its resources.");
    constexpr std::array<std::string_view, 3> modes = {"read", "write", "exclusive"};
    const auto line = [&](std::string_view mode, std::uint64_t count) {
        text += "rocklock_locks_granted_total{mode=\"" + std::string(mode) + "\"} " +
                std::to_string(count) + "\n";
    };
    for (std::size_t i = 0; i < modes.size(); ++i) line(modes.at(i), now.locks_granted.at(i));
    line("permits", now.permits_granted);
}

void append_bucket(std::string& text, const std::string& name, const std::string& labels,
                   const std::string& end, std::uint64_t total) {
    text.append(name).append("_bucket{").append(labels).append("le=\"").append(end);
    text.append("\"} ").append(std::to_string(total)).append("\n");
}

}  // namespace

void LatencyHistogram::add(std::chrono::nanoseconds took) {
    std::size_t bucket = 0;
    while (bucket < ends.size() && took > ends.at(bucket)) ++bucket;
    counts_.at(bucket).fetch_add(1, std::memory_order_relaxed);
    sum_ns_.fetch_add(took.count(), std::memory_order_relaxed);
}

void LatencyHistogram::append(std::string& text, const std::string& name,
                              const std::string& labels) const {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i <= ends.size(); ++i) {
        total += counts_.at(i).load(std::memory_order_relaxed);
        const auto end = i < ends.size() ? seconds(ends.at(i)) : "+Inf";
        append_bucket(text, name, labels, end, total);
    }
    const auto all = labels.empty() ? " " : "{" + labels.substr(0, labels.size() - 1) + "} ";
    text += name + "_sum" + all + seconds(std::chrono::nanoseconds{sum_ns_.load()}) + "\n";
    text += name + "_count" + all + std::to_string(total) + "\n";
}

void CallCounters::add(std::size_t call, std::optional<ErrorCode> outcome,
                       std::chrono::nanoseconds took) {
    const std::size_t index = outcome ? static_cast<std::size_t>(*outcome) + 1 : 0;
    calls_.at(call).answered.at(index).fetch_add(1, std::memory_order_relaxed);
    calls_.at(call).latency.add(took);
}

void CallCounters::append(std::string& text) const {
    const std::string requests = "rocklock_" + what_ + "requests_total";
    const std::string duration = "rocklock_" + what_ + "request_duration_seconds";
    std::string latencies;
    append_head(text, requests, "counter", "Calls that were answered.");
    for (std::size_t call = 0; call < names_.size(); ++call) {
        const std::string label = label_ + "=\"" + std::string(names_.at(call)) + "\",";
        bool called = false;
        for (std::size_t outcome = 0; outcome < outcomes; ++outcome) {
            const auto& answered = calls_.at(call).answered.at(outcome);
            const auto count = answered.load(std::memory_order_relaxed);
            if (count == 0) continue;
            called = true;
            const auto code = static_cast<ErrorCode>(outcome == 0 ? 0 : outcome - 1);
            text.append(requests).append("{").append(label).append("outcome=\"");
            text.append(outcome == 0 ? "ok" : to_string(code)).append("\"} ");
            text.append(std::to_string(count)).append("\n");
        }
        if (called) calls_.at(call).latency.append(latencies, duration, label);
    }
    append_head(text, duration, "histogram",
                "Time from a call to its answer, including the wait for a lock.");
    text += latencies;
}

void append_metric(std::string& text, std::string_view name, std::string_view type,
                   std::string_view help, std::uint64_t value) {
    append_head(text, name, type, help);
    text += name;
    text += ' ' + std::to_string(value) + '\n';
}

void append_histogram(std::string& text, const std::string& name, std::string_view help,
                      const Histogram& histogram) {
    append_head(text, name, "histogram", help);
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
        total += histogram.counts().at(i);
        const auto end = i < histogram.bounds().size() ? seconds(histogram.bounds().at(i)) : "+Inf";
        append_bucket(text, name, "", end, total);
    }
    text += name + "_sum " + seconds(histogram.sum()) + "\n";
    text += name + "_count " + std::to_string(total) + "\n";
}

void append_user_usage(std::string& text, const std::map<UserId, UserUsageLine>& users,
                       const RemoteUsers* remote_users) {
    const auto family = [&](const std::string& name, const char* help, const auto& value_of) {
        text += "# HELP " + name + " " + help + "\n# TYPE " + name + " gauge\n";
        for (const auto& [uid, user] : users) {
            text += name + "{" + labels_of(uid, remote_users) + "} " +
                    std::to_string(value_of(user)) + "\n";
        }
    };
    family("rocklock_user_connections", "Open connections of a user.",
           [](const auto& user) { return user.connections; });
    family("rocklock_user_buffer_bytes",
           "Bytes of incomplete requests and unread responses of a user.",
           [](const auto& user) { return user.buffer_bytes; });
    family("rocklock_user_sessions", "Sessions of a user.",
           [](const auto& user) { return user.locks.sessions; });
    family("rocklock_user_grants", "Grants that a user's sessions hold.",
           [](const auto& user) { return user.locks.grants; });
    family("rocklock_user_waiters", "Waiting requests of a user.",
           [](const auto& user) { return user.locks.waiters; });
    family("rocklock_user_lock_bytes", "Estimated memory of a user's sessions, grants and waiters.",
           [](const auto& user) { return user.locks.lock_bytes; });
    family("rocklock_user_drafts", "Drafts of a user.",
           [](const auto& user) { return user.tables.drafts; });
    family("rocklock_user_table_bytes", "Bytes of the tables that a user created, and of drafts.",
           [](const auto& user) { return user.tables.table_bytes; });
}

void append_node_usage(std::string& text, const std::map<std::string, NodeUsageLine>& nodes) {
    if (nodes.empty()) return;
    // The name of a node has no characters that must be escaped.
    append_head(text, "rocklock_node_links", "gauge", "Links of the relay of a node.");
    for (const auto& [node, usage] : nodes) {
        text += "rocklock_node_links{node=\"" + node + "\"} " + std::to_string(usage.links) + "\n";
    }
    append_head(text, "rocklock_node_connections", "gauge",
                "Open connections of the clients of a node.");
    for (const auto& [node, usage] : nodes) {
        text += "rocklock_node_connections{node=\"" + node + "\"} " +
                std::to_string(usage.connections) + "\n";
    }
}

void append_user_limits(std::string& text, const UserLimits& limits,
                        const UserConnectionLimits& connections) {
    text +=
        "# HELP rocklock_user_limit Limit for each user; 0: no limit.\n"
        "# TYPE rocklock_user_limit gauge\n";
    const auto line = [&](const char* what, std::uint64_t limit) {
        text +=
            std::string("rocklock_user_limit{of=\"") + what + "\"} " + std::to_string(limit) + "\n";
    };
    line("connections", connections.connections);
    line("buffer_bytes", connections.buffer_bytes);
    line("sessions", limits.sessions);
    line("grants", limits.grants);
    line("waiters", limits.waiters);
    line("lock_bytes", limits.lock_bytes);
    line("drafts", limits.drafts);
    line("table_bytes", limits.table_bytes);
}

void append_statistics(std::string& text, const LockStatistics& now) {
    const auto gauge = [&](const char* name, const char* help, std::uint64_t value) {
        append_metric(text, name, "gauge", help, value);
    };
    const auto counter = [&](const char* name, const char* help, std::uint64_t value) {
        append_metric(text, name, "counter", help, value);
    };
    gauge("rocklock_sessions", "Live sessions.", now.sessions);
    gauge("rocklock_grants_held", "Grants that are held now.", now.held);
    gauge("rocklock_waiters", "Requests that wait now.", now.waiting);
    counter("rocklock_grants_recovered_total", "Grants recovered when the store was opened.",
            now.recovered);
    counter("rocklock_grants_total", "Grants made.", now.granted);
    counter("rocklock_releases_total", "Grants released.", now.released);
    counter("rocklock_expiries_total", "Grants that expired.", now.expired);
    counter("rocklock_steals_total", "Grants stolen.", now.stolen);
    counter("rocklock_breaks_total", "Grants broken.", now.broken);
    counter("rocklock_transfers_total", "Grants transferred to another session.", now.transferred);
    counter("rocklock_waits_total", "Requests that had to wait.", now.waits);
    counter("rocklock_refusals_total", "Requests refused because of a conflict.", now.refused);
    counter("rocklock_timeouts_total", "Requests whose wait timeout expired.",
            now.patience_expired);
    counter("rocklock_cancellations_total", "Waits that were cancelled.", now.cancelled);
    counter("rocklock_deadlocks_total", "Requests refused because of a deadlock.", now.deadlocks);
    counter("rocklock_replays_total", "Requests answered from their request id.", now.replays);
    counter("rocklock_sweep_finds_total",
            "Waiters that the periodic search found grantable; must stay 0.", now.sweep_finds);
    counter("rocklock_queue_full_total", "Requests refused because a queue was full.",
            now.queue_full);
    counter("rocklock_steals_refused_total", "Steals refused by the policy of the class.",
            now.steals_refused);
    counter("rocklock_conversions_total", "Grants converted to another mode.", now.conversions);
    counter("rocklock_sessions_opened_total", "Sessions opened.", now.sessions_opened);
    counter("rocklock_sessions_expired_total", "Sessions that expired.", now.sessions_expired);
    counter("rocklock_renewals_total", "Renewals.", now.renewals);
    counter("rocklock_events_dropped_total", "Events dropped to make room for newer ones.",
            now.events_dropped);
    gauge("rocklock_events", "Events that are kept.", now.events);
    gauge("rocklock_classes_draining", "Classes that are drained.", now.classes_draining);
    gauge("rocklock_audit_rows", "Rows of the audit log.", now.audit_rows);
    append_head(text, "rocklock_oldest_hold_seconds", "gauge",
                "Age of the oldest grant that is held; 0 if none is held.");
    text += "rocklock_oldest_hold_seconds " + seconds(now.oldest_hold) + "\n";
    append_locks(text, now);
    append_histogram(text, "rocklock_acquire_duration_seconds",
                     "Time of an acquire that did not wait.", now.acquire);
    append_histogram(text, "rocklock_wait_duration_seconds",
                     "Time that an acquire waited for its grant.", now.wait);
    append_histogram(text, "rocklock_hold_duration_seconds", "Time from a grant to its end.",
                     now.hold);
    append_histogram(text, "rocklock_renewal_margin_seconds",
                     "Time left of a lease when it was renewed.", now.renew_margin);
}

void append_storage(std::string& text, const StorageStatistics& statistics) {
    const auto gauge = [&](const char* name, const char* help,
                           const std::optional<std::uint64_t>& value) {
        if (value) append_metric(text, name, "gauge", help, *value);
    };
    gauge("rocklock_store_bytes", "Space that the files of the store occupy.", statistics.bytes);
    gauge("rocklock_store_file_system_bytes", "Size of the file system that contains the store.",
          statistics.file_system_bytes);
    gauge("rocklock_store_free_bytes", "Space on that file system that is available to the daemon.",
          statistics.free_bytes);
    if (const auto& reserve = statistics.reserve) {
        append_metric(text, "rocklock_store_reserve_bytes", "gauge",
                      "Size of the file that reserves disk space for releases and renewals.",
                      reserve->allocated_bytes);
        append_metric(text, "rocklock_store_low_space", "gauge",
                      "1 if new sessions, locks and data are refused because the disk is almost "
                      "full, else 0.",
                      reserve->low ? 1 : 0);
    }
    append_histogram(text, "rocklock_sync_duration_seconds",
                     "Time of a sync of the store's log to the disk.", statistics.syncs);
}

}  // namespace rocklock
