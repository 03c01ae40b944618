// A blocking client of the lock API over a Unix socket. It uses HTTP.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/result.hpp>

#include "base/mutex.hpp"
#include "wire/call.hpp"

namespace rocklock {

// The limits of the duration of a call.
struct CallLimits {
    std::optional<std::chrono::steady_clock::time_point> deadline;
    // A stop request ends the call immediately. The daemon then cancels the wait.
    std::stop_token stop;
};

// One HTTP/1.1 connection. Threads: one thread at a time.
class HttpConnection {
public:
    // Errors: unreachable       no process listens, or the queue of the listening socket is still
    //                           full at the deadline
    //         access_denied     this user may not connect
    //         invalid_argument  the path
    static Result<std::unique_ptr<HttpConnection>> open(const std::string& path,
                                                        const CallLimits& limits = {});
    explicit HttpConnection(int fd) : fd_(fd) {}
    HttpConnection(const HttpConnection&) = delete;
    HttpConnection& operator=(const HttpConnection&) = delete;
    ~HttpConnection();

    struct Answer {
        int status = 0;
        std::string body;
    };
    // Errors: indeterminate  the connection was lost or the deadline passed before the response; it
    //                        is unknown whether the call was executed
    //         cancelled      by the stop token
    Result<Answer> post(std::string_view operation, std::string_view body,
                        const CallLimits& limits);

    // Returns whether the connection can be used for another request.
    bool reusable() const { return reusable_; }

private:
    Result<void> send_all(std::string_view bytes, const CallLimits& limits);
    Result<void> receive_some(const CallLimits& limits);
    Result<void> wait_for(short events, const CallLimits& limits);
    Result<Answer> receive_answer(const CallLimits& limits);

    int fd_;
    bool reusable_ = true;
    std::string received_;
};

// Calls the daemon that listens on one path. Uses one connection for each concurrent call.
//
// Threads: thread-safe.
class LockClient {
public:
    explicit LockClient(std::string path) : path_(std::move(path)) {}

    const std::string& path() const { return path_; }

    // Makes one attempt. Errors: in addition to the daemon's errors, unreachable if the call was
    // not sent, or if the daemon's connection limit is reached (with `retry_after`); indeterminate
    // if it is unknown whether the call was executed (retry with the same request id); cancelled.
    Result<Reply> call(const Call& call, const CallLimits& limits = {}) ROCKLOCK_EXCLUDES(mutex_);

private:
    Result<std::unique_ptr<HttpConnection>> take_connection(const CallLimits& limits)
        ROCKLOCK_EXCLUDES(mutex_);

    const std::string path_;
    Mutex mutex_;
    std::vector<std::unique_ptr<HttpConnection>> idle_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock
