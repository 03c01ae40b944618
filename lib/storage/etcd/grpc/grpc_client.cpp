#include "storage/etcd/grpc/grpc_client.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "storage/etcd/grpc/conversion.hpp"
#include "storage/etcd/grpc/grpc_watch.hpp"

namespace rocklock::etcd {

namespace {

// The time to connect to a member and to authenticate before a watch is started.
constexpr std::chrono::seconds watch_start_timeout{5};

// Renews the lease on a stream that is used only once: a renewal is rare, and its deadline is that
// of the stream.
grpc::Status keep_alive_once(const Member& member, grpc::ClientContext& context, LeaseId lease,
                             etcdserverpb::LeaseKeepAliveResponse& response) {
    const auto stream = member.lease->LeaseKeepAlive(&context);
    etcdserverpb::LeaseKeepAliveRequest request;
    request.set_id(lease);
    const bool answered = stream->Write(request) && stream->Read(&response);
    if (answered) context.TryCancel();
    grpc::Status status = stream->Finish();
    if (answered) return grpc::Status::OK;
    if (!status.ok()) return status;
    return {grpc::StatusCode::UNAVAILABLE, "the stream has ended without a response"};
}

}  // namespace

GrpcClient::GrpcClient(std::unique_ptr<Members> members, const ClientOptions& options)
    : members_(std::move(members)),
      authentication_(options.user, options.password),
      requests_(*members_, authentication_) {}

Result<TxnResponse> GrpcClient::txn(const Txn& txn, Timeout timeout) {
    const auto request = to_message(txn);
    etcdserverpb::TxnResponse response;
    auto sent = requests_.send(RequestKind::write, timeout,
                               [&](const Member& member, grpc::ClientContext& context) {
                                   return member.kv->Txn(&context, request, &response);
                               });
    if (!sent) return std::move(sent.error());
    return from_message(std::move(response));
}

Result<RangeResponse> GrpcClient::range(const Range& range, Timeout timeout) {
    const auto request = to_message(range);
    etcdserverpb::RangeResponse response;
    auto sent = requests_.send(range.serializable ? RequestKind::local_read : RequestKind::read,
                               timeout, [&](const Member& member, grpc::ClientContext& context) {
                                   return member.kv->Range(&context, request, &response);
                               });
    if (!sent) return std::move(sent.error());
    return from_message(std::move(response));
}

Result<void> GrpcClient::compact(Revision revision, Timeout timeout) {
    etcdserverpb::CompactionRequest request;
    request.set_revision(revision);
    etcdserverpb::CompactionResponse response;
    return requests_.send(RequestKind::write, timeout,
                          [&](const Member& member, grpc::ClientContext& context) {
                              return member.kv->Compact(&context, request, &response);
                          });
}

Result<Lease> GrpcClient::grant_lease(std::chrono::seconds ttl, Timeout timeout) {
    etcdserverpb::LeaseGrantRequest request;
    request.set_ttl(ttl.count());
    etcdserverpb::LeaseGrantResponse response;
    auto sent = requests_.send(RequestKind::write, timeout,
                               [&](const Member& member, grpc::ClientContext& context) {
                                   return member.lease->LeaseGrant(&context, request, &response);
                               });
    if (!sent) return std::move(sent.error());
    return Lease{.id = response.id(), .ttl = std::chrono::seconds(response.ttl())};
}

Result<std::chrono::seconds> GrpcClient::keep_alive(LeaseId lease, Timeout timeout) {
    etcdserverpb::LeaseKeepAliveResponse response;
    auto sent = requests_.send(RequestKind::repeatable, timeout,
                               [&](const Member& member, grpc::ClientContext& context) {
                                   return keep_alive_once(member, context, lease, response);
                               });
    if (!sent) return std::move(sent.error());
    if (response.ttl() <= 0) {
        return Error(ErrorCode::resource_not_found,
                     "the lease " + std::to_string(lease) + " of etcd has ended");
    }
    return std::chrono::seconds(response.ttl());
}

Result<void> GrpcClient::revoke_lease(LeaseId lease, Timeout timeout) {
    etcdserverpb::LeaseRevokeRequest request;
    request.set_id(lease);
    etcdserverpb::LeaseRevokeResponse response;
    return requests_.send(RequestKind::write, timeout,
                          [&](const Member& member, grpc::ClientContext& context) {
                              return member.lease->LeaseRevoke(&context, request, &response);
                          });
}

Result<Status> GrpcClient::status(Timeout timeout) {
    etcdserverpb::StatusResponse response;
    auto sent = requests_.send(RequestKind::local_read, timeout,
                               [&](const Member& member, grpc::ClientContext& context) {
                                   return member.maintenance->Status(&context, {}, &response);
                               });
    if (!sent) return std::move(sent.error());
    return from_message(response);
}

// A member that has lost the connections to the others can still consider itself the leader, in an
// earlier term of office. If it is the current member, its requests fail, and another member
// becomes the current one.
void GrpcClient::use_leader(Timeout timeout) {
    const std::size_t current = members_->current();
    std::optional<std::size_t> leader;
    std::uint64_t term = 0;
    for (std::size_t index = current; index < current + members_->size(); ++index) {
        etcdserverpb::StatusResponse response;
        const auto answered = requests_.send_to(
            index, timeout, [&](const Member& member, grpc::ClientContext& context) {
                return member.maintenance->Status(&context, {}, &response);
            });
        const bool leads = answered && response.leader() == response.header().member_id();
        if (!leads || (leader && response.raftterm() <= term)) continue;
        leader = index;
        term = response.raftterm();
        if (index == current) break;
    }
    if (leader) members_->use(*leader);
}

Result<std::unique_ptr<Watch>> GrpcClient::watch(const std::string& key, const std::string& end,
                                                 Revision first) {
    auto opened = requests_.open(watch_start_timeout);
    if (!opened) return std::move(opened.error());
    return std::unique_ptr<Watch>(std::make_unique<GrpcWatch>(
        *members_, authentication_, std::move(*opened), WatchedRange{key, end, first}));
}

}  // namespace rocklock::etcd
