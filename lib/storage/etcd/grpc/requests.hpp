// Sends a request to one member after the other until one accepts it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "storage/etcd/grpc/authentication.hpp"
#include "storage/etcd/grpc/members.hpp"

namespace rocklock::etcd {

enum class RequestKind {
    // Reads the state of one member, which needs no leader.
    local_read,
    read,
    // The effect of the request is the same if it is executed several times.
    repeatable,
    // The request must not be sent again if its outcome is unknown.
    write,
};

// Sends the request to the member and waits for its response, with the context's deadline.
using Send = std::function<grpc::Status(const Member& member, grpc::ClientContext& context)>;

// A member to which there is a connection, and the token for requests to it.
struct OpenedMember {
    std::size_t index = 0;
    Token token;
};

// Threads: thread-safe.
class Requests {
public:
    // Borrows both; they must outlive this object.
    Requests(Members& members, Authentication& authentication)
        : members_(members), authentication_(authentication) {}

    // Sends the request, beginning with the current member. The errors are those of Client.
    Result<void> send(RequestKind kind, Client::Timeout timeout, const Send& send);
    // Sends a request of the kind `local_read` to one member.
    Result<void> send_to(std::size_t index, Client::Timeout timeout, const Send& send);
    // Returns the first member, beginning with the current one, that accepts a connection and the
    // user. Fails with unreachable or access_denied.
    Result<OpenedMember> open(Client::Timeout timeout);

private:
    // Calls `attempt` for each member, beginning with the current one, until it returns no failure
    // or the request must not be sent to another member.
    std::optional<Failure> for_each_member(
        RequestKind kind, Deadline deadline,
        const std::function<std::optional<Failure>(std::size_t index, Deadline)>& attempt);
    // Sends the request to one member. A write may use the time until `deadline`; to connect, and
    // for the other kinds, the time until `attempt_deadline`.
    std::optional<Failure> attempt(RequestKind kind, const Member& member, const Send& send,
                                   Deadline attempt_deadline, Deadline deadline);

    Members& members_;
    Authentication& authentication_;
};

}  // namespace rocklock::etcd
