#include "daemon/node/node_metrics.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string_view>

#include "service/metrics.hpp"

namespace rocklock {
namespace {

void append_seconds(std::string& text, const std::string& name, std::string_view help,
                    std::chrono::nanoseconds duration) {
    std::array<char, 32> value{};
    std::snprintf(value.data(), value.size(), "%.9g", static_cast<double>(duration.count()) / 1e9);
    text.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name);
    text.append(" gauge\n").append(name).append(" ").append(value.data()).append("\n");
}

void append_etcd(std::string& text, const NodeMetrics& metrics) {
    const auto gauge = [&](const char* name, const char* help, std::uint64_t value) {
        append_metric(text, name, "gauge", help, value);
    };
    gauge("rocklock_etcd_up", "1 if etcd has answered the last measurement, else 0.",
          metrics.etcd.answers ? 1 : 0);
    gauge("rocklock_etcd_quota_bytes", "The setting etcd-quota; 0: no limit.", metrics.quota_bytes);
    if (!metrics.etcd.age) return;
    append_seconds(text, "rocklock_etcd_measurement_age_seconds",
                   "Age of the last measurement that etcd has answered.", *metrics.etcd.age);
    gauge("rocklock_etcd_database_bytes", "Size of the database of etcd.", metrics.etcd.bytes);
    gauge("rocklock_etcd_database_used_bytes", "Used part of the database of etcd.",
          metrics.etcd.used_bytes);
    gauge("rocklock_copy_missing_commits",
          "Commits that etcd had at the last measurement and that the copy does not contain.",
          metrics.etcd.missing_commits);
    append_seconds(text, "rocklock_copy_delay_seconds",
                   "Time after a measurement until the copy contained the last commit of etcd.",
                   metrics.etcd.delay);
}

}  // namespace

NodeMetrics node_metrics(const etcd::Measurements& measurements, const EtcdMonitor& monitor,
                         const etcd::Copy& copy, std::uint64_t quota_bytes) {
    NodeMetrics metrics;
    metrics.counts = measurements.counts();
    metrics.etcd = monitor.state(std::chrono::steady_clock::now());
    metrics.commit = copy.commit_number();
    metrics.epoch = std::max<std::int64_t>(copy.commit_epoch(), metrics.counts.epoch);
    metrics.quota_bytes = quota_bytes;
    return metrics;
}

void append_node_metrics(std::string& text, const NodeMetrics& metrics) {
    const auto counter = [&](const char* name, const char* help, std::uint64_t value) {
        append_metric(text, name, "counter", help, value);
    };
    append_metric(text, "rocklock_epoch", "gauge",
                  "Epoch of the last manager that this node knows.",
                  static_cast<std::uint64_t>(metrics.epoch));
    append_metric(text, "rocklock_commit", "gauge",
                  "Number of the last commit that the copy of this node contains.", metrics.commit);
    counter("rocklock_terms_total", "Times that this process became the manager.",
            metrics.counts.terms);
    append_histogram(text, "rocklock_etcd_transaction_duration_seconds",
                     "Time of a transaction of etcd, including its retries.",
                     metrics.counts.durations);
    counter("rocklock_etcd_writes_total", "Writes and deletions in transactions.",
            metrics.counts.writes);
    counter("rocklock_etcd_retries_total",
            "Transactions that were sent again because etcd did not answer.",
            metrics.counts.retries);
    counter("rocklock_etcd_unknown_outcomes_total",
            "Transactions of which it is unknown whether etcd has executed them.",
            metrics.counts.unknown_outcomes);
    append_etcd(text, metrics);
}

}  // namespace rocklock
