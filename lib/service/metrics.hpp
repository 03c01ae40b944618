// The metrics of calls, and the output of all metrics in the format of Prometheus.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocklock/histogram.hpp>
#include <rocklock/identity.hpp>
#include <rocklock/items/table.hpp>
#include <rocklock/lock.hpp>
#include <rocklock/storage/storage.hpp>

#include "service/remote_users.hpp"

namespace rocklock {

// A histogram of the durations of calls. Threads: thread-safe. During an add(), a reader may see
// the new count and the old sum.
class LatencyHistogram {
public:
    // The upper limits of all buckets except the last, which has none.
    static constexpr std::array<std::chrono::microseconds, 16> ends = {
        std::chrono::microseconds{50},        std::chrono::microseconds{100},
        std::chrono::microseconds{250},       std::chrono::microseconds{500},
        std::chrono::microseconds{1'000},     std::chrono::microseconds{2'500},
        std::chrono::microseconds{5'000},     std::chrono::microseconds{10'000},
        std::chrono::microseconds{25'000},    std::chrono::microseconds{50'000},
        std::chrono::microseconds{100'000},   std::chrono::microseconds{250'000},
        std::chrono::microseconds{500'000},   std::chrono::microseconds{1'000'000},
        std::chrono::microseconds{2'500'000}, std::chrono::microseconds{10'000'000}};

    void add(std::chrono::nanoseconds took);
    // Appends the lines of the metric `name`. `labels` are written before the label of the bucket:
    // either empty or labels with a final comma, such as `verb="Acquire",`.
    void append(std::string& text, const std::string& name, const std::string& labels) const;

private:
    std::array<std::atomic<std::uint64_t>, ends.size() + 1> counts_{};
    std::atomic<std::int64_t> sum_ns_{0};
};

// Counts the responses to each kind of call by outcome, and the durations of the calls. Threads:
// thread-safe.
class CallCounters {
public:
    // The metrics are named `rocklock_<what>requests_total` and so on. `label` is the label that
    // contains the name of the call.
    CallCounters(std::string_view what, std::string_view label, std::vector<std::string_view> names)
        : what_(what), label_(label), names_(std::move(names)), calls_(names_.size()) {}

    // Counts a response to the call with the index `call` in `names`. `outcome` is nullopt after a
    // success, and otherwise the code of the error.
    void add(std::size_t call, std::optional<ErrorCode> outcome, std::chrono::nanoseconds took);
    // Appends the lines of all calls that were counted at least once.
    void append(std::string& text) const;

private:
    // The number of outcomes: success and the error codes.
    static constexpr std::size_t outcomes = static_cast<std::size_t>(ErrorCode::corrupt) + 2;

    struct Counts {
        std::array<std::atomic<std::uint64_t>, outcomes> answered{};
        LatencyHistogram latency;
    };

    const std::string what_;
    const std::string label_;
    const std::vector<std::string_view> names_;
    std::vector<Counts> calls_;
};

// Appends the lines of one metric. `type` is counter or gauge.
void append_metric(std::string& text, std::string_view name, std::string_view type,
                   std::string_view help, std::uint64_t value);

// Appends the lines of a histogram without labels.
void append_histogram(std::string& text, const std::string& name, std::string_view help,
                      const Histogram& histogram);

// The usage of one user, for everything that has a limit per user.
struct UserUsageLine {
    std::uint64_t connections = 0;
    std::uint64_t buffer_bytes = 0;
    UserLockUsage locks;
    UserTableUsage tables;
};

// The limits per user that the daemon itself checks. 0 means no limit.
struct UserConnectionLimits {
    std::uint64_t connections = 0;
    std::uint64_t buffer_bytes = 0;
};

// Append the lines for the usage of each user, and for the limits. A user of another host has the
// label `uid` with the uid and the node, and the label `user` with its name if this is known.
// `remote_users` may be null if there are no such users.
void append_user_usage(std::string& text, const std::map<UserId, UserUsageLine>& users,
                       const RemoteUsers* remote_users);
void append_user_limits(std::string& text, const UserLimits& limits,
                        const UserConnectionLimits& connections);

// The links of a node to this manager, and the connections of the clients of the node.
struct NodeUsageLine {
    std::uint64_t links = 0;
    std::uint64_t connections = 0;
};

// Appends the lines for each node. If there are no nodes, appends nothing.
void append_node_usage(std::string& text, const std::map<std::string, NodeUsageLine>& nodes);

// Appends the lines for the counters of the lock service.
void append_statistics(std::string& text, const LockStatistics& statistics);
// Appends the lines for the syncs of the store and its space on the disk. A size that is absent has
// no line.
void append_storage(std::string& text, const StorageStatistics& statistics);

}  // namespace rocklock
