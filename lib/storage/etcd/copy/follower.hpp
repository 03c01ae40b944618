// Keeps the copy of a standby current.
#pragma once

#include <cstdint>
#include <functional>
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
    // `on_current` is called with true when the copy contains all commits that etcd had when the
    // watch of its changes began, and with false after an error. It is called by the thread that
    // calls follow(), for each change.
    Follower(Client& client, Layout layout, std::shared_ptr<Copy> copy,
             std::function<void(bool current)> on_current = {})
        : client_(client),
          layout_(std::move(layout)),
          copy_(std::move(copy)),
          on_current_(std::move(on_current)) {}

    // Loads the copy if necessary, and applies the changes of the store until a stop is requested.
    // Continues after errors of etcd. Returns the error of a copy that cannot be written, or
    // corrupt if etcd does not contain the store any more, or a value of it cannot be decoded.
    Result<void> follow(const std::stop_token& stop);

private:
    Result<std::uint64_t> last_commit();
    Result<bool> may_load_again();
    void report(bool current);
    Result<void> load(const std::stop_token& stop);
    Result<void> apply(const std::stop_token& stop);

    Client& client_;
    const Layout layout_;
    const std::shared_ptr<Copy> copy_;
    const std::function<void(bool)> on_current_;
    bool current_ = false;
};

}  // namespace rocklock::etcd
