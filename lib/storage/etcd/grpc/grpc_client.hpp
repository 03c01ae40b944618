// The client of a real etcd cluster, with gRPC.
#pragma once

#include <memory>
#include <string>

#include "storage/etcd/client/client.hpp"
#include "storage/etcd/grpc/requests.hpp"

namespace rocklock::etcd {

class GrpcClient final : public Client {
public:
    GrpcClient(std::unique_ptr<Members> members, const ClientOptions& options);

    Result<TxnResponse> txn(const Txn& txn, Timeout timeout) override;
    Result<RangeResponse> range(const Range& range, Timeout timeout) override;
    Result<void> compact(Revision revision, Timeout timeout) override;
    Result<Lease> grant_lease(std::chrono::seconds ttl, Timeout timeout) override;
    Result<std::chrono::seconds> keep_alive(LeaseId lease, Timeout timeout) override;
    Result<void> revoke_lease(LeaseId lease, Timeout timeout) override;
    Result<Status> status(Timeout timeout) override;
    void use_leader(Timeout timeout) override;
    Result<std::unique_ptr<Watch>> watch(const std::string& key, const std::string& end,
                                         Revision first) override;

private:
    std::unique_ptr<Members> members_;
    Authentication authentication_;
    Requests requests_;
};

}  // namespace rocklock::etcd
