// The token with which requests of a user are sent. A member returns it for the user's password.
#pragma once

#include <optional>
#include <string>

#include "base/mutex.hpp"
#include "storage/etcd/grpc/errors.hpp"
#include "storage/etcd/grpc/members.hpp"

namespace rocklock::etcd {

struct Token {
    // Empty if no user is given, or if the cluster does not use authentication.
    std::string text;
    // Whether the token is as new as possible, so that another one would also be rejected.
    bool fresh = false;
};

// Threads: thread-safe. No request is sent while the mutex is held.
class Authentication {
public:
    Authentication(std::string user, std::string password)
        : user_(std::move(user)), password_(std::move(password)) {}

    // Returns the cached token, or gets one from the member. If this fails, sets `failure`.
    std::optional<Token> token(const Member& member, Deadline deadline, Failure& failure);
    // Removes the token from the cache, unless it was already replaced.
    void reject(const std::string& token);

private:
    const std::string user_;
    const std::string password_;
    Mutex mutex_;
    std::optional<std::string> token_ ROCKLOCK_GUARDED_BY(mutex_);
};

// Adds the metadata that a request needs. With `needs_leader`, a member without a leader refuses
// the request, and ends a stream when it loses its leader.
void add_metadata(grpc::ClientContext& context, const Token& token, bool needs_leader);

}  // namespace rocklock::etcd
