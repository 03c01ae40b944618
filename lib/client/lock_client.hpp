// A client of the lock API that uses HTTP over a Unix socket and waits in the calling thread.
#pragma once

#include <string>
#include <utility>

#include <rocklock/result.hpp>

#include "client/http_connection.hpp"
#include "wire/call.hpp"

namespace rocklock {

// Calls the daemon that listens on one path. Uses one connection for each concurrent call.
//
// Threads: thread-safe.
class LockClient {
public:
    explicit LockClient(std::string path) : connections_(std::move(path)) {}

    const std::string& path() const { return connections_.path(); }

    // Sends the call once and waits for the reply.
    //
    // Errors: the errors of the daemon
    //         unreachable    the call was not sent, or the daemon refused the connection because
    //                        its connection limit is reached (the error then has `retry_after`)
    //         indeterminate  it is unknown whether the call was executed; retry it with the same
    //                        request id
    //         cancelled
    Result<Reply> call(const Call& call, const CallLimits& limits = {});

private:
    HttpConnections connections_;
};

}  // namespace rocklock
