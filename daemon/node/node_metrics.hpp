// The metrics of a node of a cluster: its role, its transactions, its copy, and the database of
// etcd.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/node/etcd_monitor.hpp"
#include "storage/etcd/copy/copy.hpp"
#include "storage/etcd/measurements.hpp"

namespace rocklock {

// The values that the metrics contain.
struct NodeMetrics {
    etcd::Measurements::Counts counts;
    EtcdMonitor::State etcd;
    // The last commit that the copy contains.
    std::uint64_t commit = 0;
    // The epoch of the manager that has made this commit, or the epoch of this node if that is
    // greater.
    std::int64_t epoch = 0;
    // EtcdOptions::quota_bytes.
    std::uint64_t quota_bytes = 0;
};

// Returns the current values. Threads: as the arguments.
NodeMetrics node_metrics(const etcd::Measurements& measurements, const EtcdMonitor& monitor,
                         const etcd::Copy& copy, std::uint64_t quota_bytes);

// Appends the lines of all metrics. Before etcd has answered for the first time, those that
// describe etcd and the delay of the copy are absent.
void append_node_metrics(std::string& text, const NodeMetrics& metrics);

}  // namespace rocklock
