#include "storage/etcd/client/client_library.hpp"

#include <string_view>
#include <utility>

#include <rocklock/export.hpp>

#include "storage/etcd/grpc/grpc_client.hpp"

extern "C" {

ROCKLOCK_API rocklock::etcd::MakeClient rocklock_make_etcd_client;

rocklock::etcd::Client* rocklock_make_etcd_client(const char* version,
                                                  const rocklock::etcd::ClientOptions& options,
                                                  rocklock::Error& error) {
    if (std::string_view(version) != ROCKLOCK_VERSION) return nullptr;
    auto members = rocklock::etcd::Members::create(options);
    if (!members) {
        error = std::move(members.error());
        return nullptr;
    }
    return new rocklock::etcd::GrpcClient(std::move(*members), options);
}

}  // extern "C"
