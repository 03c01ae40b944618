#include "client/http_connection.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "client/unix_socket.hpp"
#include "wire/call_json.hpp"

namespace rocklock {
namespace {

constexpr std::string_view header_end = "\r\n\r\n";

Error lost(const std::string& why) {
    return {ErrorCode::indeterminate,
            "the connection to the daemon ended before its answer: " + why};
}

bool same_name(std::string_view left, std::string_view right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](char a, char b) {
        const auto lower = [](char c) {
            return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        };
        return lower(a) == lower(b);
    });
}

struct Head {
    int status = 0;
    std::size_t body_bytes = 0;
    bool closes = false;
};

// Parses the lines before the body. Supports only responses of the daemon, which have a length and
// are not chunked.
std::optional<Head> read_head(std::string_view text) {
    Head head;
    if (!text.starts_with("HTTP/1.1 ") || text.size() < 12) return std::nullopt;
    if (std::from_chars(text.data() + 9, text.data() + 12, head.status).ec != std::errc()) {
        return std::nullopt;
    }
    bool has_length = false;
    for (std::size_t at = text.find("\r\n"); at != std::string_view::npos;) {
        const auto next = text.find("\r\n", at + 2);
        const auto line =
            text.substr(at + 2, next == std::string_view::npos ? next : next - at - 2);
        at = next;
        const auto colon = line.find(':');
        if (colon == std::string_view::npos) continue;
        auto value = line.substr(colon + 1);
        value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
        if (same_name(line.substr(0, colon), "content-length")) {
            const auto parsed =
                std::from_chars(value.data(), value.data() + value.size(), head.body_bytes);
            has_length = parsed.ec == std::errc();
        } else if (same_name(line.substr(0, colon), "connection")) {
            head.closes = same_name(value, "close");
        }
    }
    if (!has_length) return std::nullopt;
    return head;
}

}  // namespace

Result<std::unique_ptr<HttpConnection>> HttpConnection::open(const std::string& path,
                                                             const CallLimits& limits) {
    if (const auto address = unix_address(path); !address) return address.error();
    const int fd = connect_unix(path, limits.connect_by ? limits.connect_by : limits.deadline);
    if (fd < 0 && errno == EAGAIN) {
        return Error(
            ErrorCode::unreachable,
            "the daemon on " + path + " does not accept connections: it hangs, or is stopped");
    }
    if (fd < 0 && (errno == EACCES || errno == EPERM)) {
        return Error(ErrorCode::access_denied,
                     "this user may not connect to the daemon on " + path +
                         ": its owner can admit a group (`rocklock serve --admin-group GROUP`); or "
                         "give another daemon with --socket PATH");
    }
    if (fd < 0) {
        return Error(ErrorCode::unreachable,
                     "no daemon answers on " + path + ": " + std::strerror(errno));
    }
    return std::make_unique<HttpConnection>(fd);
}

HttpConnection::~HttpConnection() { ::close(fd_); }

bool HttpConnection::was_closed() const {
    char byte = 0;
    return ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

Result<HttpConnection::Answer> HttpConnection::post(const Request& request,
                                                    const CallLimits& limits) {
    reusable_ = false;
    // Wakes this thread if it waits for the socket.
    const std::stop_callback wake(limits.stop, [this] { ::shutdown(fd_, SHUT_RDWR); });
    std::string bytes = "POST / HTTP/1.1\r\nHost: rocklock\r\nContent-Type: ";
    bytes += request.content_type;
    bytes += "\r\nX-Amz-Target: ";
    bytes += request.target;
    bytes += "\r\nContent-Length: ";
    bytes += std::to_string(request.body.size());
    bytes += header_end;
    bytes += request.body;
    auto sent = send_all(bytes, limits);
    Result<Answer> answer = sent ? receive_answer(limits) : Result<Answer>(std::move(sent).error());
    if (!answer && limits.stop.stop_requested()) {
        return Error(ErrorCode::cancelled, "the call was cancelled");
    }
    return answer;
}

Result<void> HttpConnection::send_all(std::string_view bytes, const CallLimits& limits) {
    while (!bytes.empty()) {
        const auto size = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (size >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(size));
        } else if (errno == EAGAIN) {
            if (auto ready = wait_for(POLLOUT, limits); !ready) return ready;
        } else if (errno != EINTR) {
            return lost(std::strerror(errno));
        }
    }
    return {};
}

Result<HttpConnection::Answer> HttpConnection::receive_answer(const CallLimits& limits) {
    std::size_t head_bytes = 0;
    while ((head_bytes = received_.find(header_end)) == std::string::npos) {
        if (auto more = receive_some(limits); !more) return std::move(more).error();
    }
    const auto head = read_head(std::string_view(received_).substr(0, head_bytes));
    if (!head) return lost("what was received is not an answer of a Rocklock daemon");
    const auto start = head_bytes + header_end.size();
    while (received_.size() < start + head->body_bytes) {
        if (auto more = receive_some(limits); !more) return std::move(more).error();
    }
    Answer answer{head->status, received_.substr(start, head->body_bytes)};
    received_.erase(0, start + head->body_bytes);
    reusable_ = !head->closes;
    return answer;
}

Result<void> HttpConnection::receive_some(const CallLimits& limits) {
    std::array<char, 16'384> buffer;
    while (true) {
        const auto size = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (size > 0) {
            received_.append(buffer.data(), static_cast<std::size_t>(size));
            return {};
        }
        if (size == 0) return lost("the daemon closed the connection");
        if (errno == EAGAIN) {
            if (auto ready = wait_for(POLLIN, limits); !ready) return ready;
        } else if (errno != EINTR) {
            return lost(std::strerror(errno));
        }
    }
}

Result<void> HttpConnection::wait_for(short events, const CallLimits& limits) {
    using std::chrono::milliseconds;
    pollfd socket{fd_, events, 0};
    int timeout = -1;
    if (limits.deadline) {
        const auto left =
            std::chrono::ceil<milliseconds>(*limits.deadline - std::chrono::steady_clock::now());
        if (left.count() <= 0) return lost("the time limit of the call has expired");
        timeout = static_cast<int>(std::min<std::int64_t>(left.count(), 3'600'000));
    }
    if (::poll(&socket, 1, timeout) < 0 && errno != EINTR) return lost(std::strerror(errno));
    return {};
}

std::optional<Error> overload_error(const HttpConnection::Answer& answer) {
    // A daemon also sends the status 503 for other reasons. Such an answer is not JSON, or contains
    // another error code.
    if (answer.status != 503 || !answer.body.starts_with('{')) return std::nullopt;
    auto error = read_error(answer.body);
    if (error.code != ErrorCode::limit_exceeded) return std::nullopt;
    error.code = ErrorCode::unreachable;
    error.retry_after = overload_pause;
    return error;
}

Result<HttpConnection::Answer> HttpConnections::post(const HttpConnection::Request& request,
                                                     const CallLimits& limits) {
    auto connection = take(limits);
    if (!connection) return std::move(connection).error();
    auto answer = (*connection)->post(request, limits);
    if (answer && (*connection)->reusable()) {
        MutexLock lock(mutex_);
        if (!closed_ && idle_.size() < max_idle) idle_.push_back(*std::move(connection));
    }
    return answer;
}

void HttpConnections::close() {
    MutexLock lock(mutex_);
    closed_ = true;
    idle_.clear();
}

Result<std::unique_ptr<HttpConnection>> HttpConnections::take(const CallLimits& limits) {
    {
        MutexLock lock(mutex_);
        while (!idle_.empty()) {
            auto connection = std::move(idle_.back());
            idle_.pop_back();
            // After a restart of the daemon, the old connections are closed.
            if (!connection->was_closed()) return connection;
        }
    }
    return HttpConnection::open(path_, limits);
}

}  // namespace rocklock
