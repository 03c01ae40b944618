// The members of a cluster and the connections to them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <etcd.grpc.pb.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <rocklock/result.hpp>

#include "storage/etcd/client/client.hpp"
#include "storage/etcd/grpc/tls_advice.hpp"

namespace rocklock::etcd {

using Deadline = std::chrono::steady_clock::time_point;

// Returns the time after `timeout`, which is limited to one day, so that any value is allowed.
Deadline deadline_after(std::chrono::milliseconds timeout);

// Returns the deadline for gRPC, which expects the time of the system clock and computes the
// remaining time at once.
std::chrono::system_clock::time_point for_grpc(Deadline deadline);

// One member: its address, and its services on one HTTP/2 connection.
struct Member {
    std::string address;
    // Set if connections use TLS.
    std::optional<OwnCertificate> tls;
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<etcdserverpb::KV::Stub> kv;
    std::unique_ptr<etcdserverpb::Lease::Stub> lease;
    std::unique_ptr<etcdserverpb::Watch::Stub> watch;
    std::unique_ptr<etcdserverpb::Maintenance::Stub> maintenance;
    std::unique_ptr<etcdserverpb::Auth::Stub> auth;

    // Waits for a connection, for which it tries to connect at least once. If this fails, no
    // request was sent. Fails with unreachable.
    Result<void> connect(Deadline deadline) const;
    // Returns the message of a failure, with advice if TLS is the cause.
    std::string explain(std::string problem) const;
};

// The members in the order of the options, and the one to which requests are currently sent.
//
// Threads: thread-safe.
class Members {
public:
    // Fails with invalid_argument if an option is invalid or a file cannot be read.
    static Result<std::unique_ptr<Members>> create(const ClientOptions& options);

    std::size_t size() const { return members_.size(); }
    const Member& at(std::size_t index) const { return members_[index % members_.size()]; }
    // Returns the index of the current member.
    std::size_t current() const { return current_; }
    // If the member is the current one, makes the next member the current one.
    void failed(std::size_t index);
    // Makes the member the current one.
    void use(std::size_t index) { current_ = index % members_.size(); }

private:
    std::vector<Member> members_;
    std::atomic<std::size_t> current_ = 0;
};

}  // namespace rocklock::etcd
