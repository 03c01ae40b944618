// Keeps the copy of a standby current.
#pragma once

#include <memory>
#include <stop_token>
#include <utility>

#include <rocklock/result.hpp>

#include "storage/etcd/client/client.hpp"
#include "storage/etcd/client/layout.hpp"
#include "storage/etcd/copy/copy.hpp"

namespace rocklock::etcd {

// Threads:  one at a time. During follow(), no other code may use the copy.
// Lifetime: the client must outlive the object.
class Follower {
public:
    Follower(Client& client, Layout layout, std::shared_ptr<Copy> copy)
        : client_(client), layout_(std::move(layout)), copy_(std::move(copy)) {}

    // Loads the copy if necessary, and applies the changes of the store until a stop is requested.
    // Continues after errors of etcd. Returns the error of a copy that cannot be written.
    Result<void> follow(const std::stop_token& stop);

private:
    Result<void> load(const std::stop_token& stop);
    Result<void> apply(const std::stop_token& stop);

    Client& client_;
    const Layout layout_;
    const std::shared_ptr<Copy> copy_;
};

}  // namespace rocklock::etcd
