// The lock API over a Unix socket, for programs that can wait in a call.
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

// How long a call may take.
struct CallLimits {
    std::optional<std::chrono::steady_clock::time_point> deadline;
    // Gives up at once when asked to; the daemon then withdraws what waits.
    std::stop_token stop;
};

// One HTTP/1.1 connection. One thread at a time.
class HttpConnection {
public:
    // Errors: unreachable       nobody listens, or takes the connection in time
    //         access_denied     not for us
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
    // Errors: indeterminate  the connection ended, or the time was over, before the answer: nobody
    //                        can say whether it happened
    //         cancelled      by the stop token
    Result<Answer> post(std::string_view operation, std::string_view body,
                        const CallLimits& limits);

    // Whether the next request can go over it.
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

// Calls the daemon that listens on one path, over as many connections as there are calls at once.
//
// Threads: thread-safe.
class LockClient {
public:
    explicit LockClient(std::string path) : path_(std::move(path)) {}

    const std::string& path() const { return path_; }

    // One attempt. Besides the daemon's refusals: unreachable, when nothing was sent, or the
    // daemon has too many connections (with `retry_after`);
    // indeterminate, when nobody can say whether it happened: ask again with the same request id;
    // cancelled.
    Result<Reply> call(const Call& call, const CallLimits& limits = {}) ROCKLOCK_EXCLUDES(mutex_);

private:
    Result<std::unique_ptr<HttpConnection>> take_connection(const CallLimits& limits)
        ROCKLOCK_EXCLUDES(mutex_);

    const std::string path_;
    Mutex mutex_;
    std::vector<std::unique_ptr<HttpConnection>> idle_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock
