// HTTP/1.1 over the Unix socket of a daemon, for clients that wait in the calling thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocklock/result.hpp>

#include "base/mutex.hpp"

namespace rocklock {

// The limits of the duration of a call.
struct CallLimits {
    std::optional<std::chrono::steady_clock::time_point> deadline;
    // If a stop is requested, the call ends immediately and the connection is shut down. The daemon
    // then cancels the request if it is waiting.
    std::stop_token stop;
    // The deadline for opening a new connection. If none, `deadline` applies.
    std::optional<std::chrono::steady_clock::time_point> connect_by{};
};

// One HTTP/1.1 connection. Threads: one thread at a time.
class HttpConnection {
public:
    // Connects to the socket at `path`. Of `limits`, only the deadlines are used.
    //
    // Errors: unreachable       no process listens, the queue of the listening socket is still full
    //                           at the deadline, or the system call fails for another reason
    //         access_denied     this user may not connect
    //         invalid_argument  `path` is empty, too long or contains a NUL byte
    static Result<std::unique_ptr<HttpConnection>> open(const std::string& path,
                                                        const CallLimits& limits = {});
    explicit HttpConnection(int fd) : fd_(fd) {}
    HttpConnection(const HttpConnection&) = delete;
    HttpConnection& operator=(const HttpConnection&) = delete;
    ~HttpConnection();

    struct Request {
        // The value of X-Amz-Target.
        std::string_view target;
        std::string_view content_type;
        std::string_view body;
    };
    struct Answer {
        int status = 0;
        std::string body;
    };
    // Sends a request and waits for the response.
    //
    // Errors: indeterminate  it is unknown whether the request was executed: the connection was
    //                        lost or the deadline passed before the response was complete, or the
    //                        response is not that of a daemon
    //         cancelled      a stop was requested; it is also unknown whether the request was
    //                        executed
    Result<Answer> post(const Request& request, const CallLimits& limits);

    // Returns whether the connection can be used for another request. Returns false if post() has
    // failed, or if the daemon has announced that it will close the connection.
    bool reusable() const { return reusable_; }
    // Returns whether the daemon has closed the connection, or has sent bytes without a request.
    bool was_closed() const;

private:
    Result<void> send_all(std::string_view bytes, const CallLimits& limits);
    Result<void> receive_some(const CallLimits& limits);
    Result<void> wait_for(short events, const CallLimits& limits);
    Result<Answer> receive_answer(const CallLimits& limits);

    int fd_;
    bool reusable_ = true;
    std::string received_;
};

// If the answer says that the daemon was overloaded and has not executed the request, returns the
// error unreachable with the time after which to retry. Otherwise returns none.
std::optional<Error> overload_error(const HttpConnection::Answer& answer);

// The connections to the daemon that listens on one path. Each concurrent request uses a connection
// of its own.
//
// Threads: thread-safe.
class HttpConnections {
public:
    explicit HttpConnections(std::string path) : path_(std::move(path)) {}

    const std::string& path() const { return path_; }

    // Sends a request on an idle connection or, if none is idle, on a new connection. The errors
    // are those of HttpConnection::open(), after which the request was not sent, and those of
    // HttpConnection::post().
    Result<HttpConnection::Answer> post(const HttpConnection::Request& request,
                                        const CallLimits& limits) ROCKLOCK_EXCLUDES(mutex_);

    // Closes the idle connections. A connection that is in use now, or that is opened later, is
    // closed when its request is complete.
    void close() ROCKLOCK_EXCLUDES(mutex_);

private:
    // The maximum number of connections that are kept for later requests.
    static constexpr std::size_t max_idle = 16;

    Result<std::unique_ptr<HttpConnection>> take(const CallLimits& limits)
        ROCKLOCK_EXCLUDES(mutex_);

    const std::string path_;
    Mutex mutex_;
    std::vector<std::unique_ptr<HttpConnection>> idle_ ROCKLOCK_GUARDED_BY(mutex_);
    bool closed_ ROCKLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace rocklock
