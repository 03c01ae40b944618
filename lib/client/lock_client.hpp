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

    // Sends the call once and waits for the reply. Errors: those of the daemon; unreachable if the
    // call was not sent, or, with `retry_after`, if the daemon's connection limit is reached;
    // indeterminate if it is unknown whether the call was executed (retry with the same request
    // id); cancelled.
    Result<Reply> call(const Call& call, const CallLimits& limits = {});

private:
    HttpConnections connections_;
};

}  // namespace rocklock
