#include "daemon/http_answer.hpp"

#include <cstdlib>

#include "daemon/client.hpp"

namespace rocklock::bench {

std::optional<HttpAnswer> take_http_answer(const std::string& received) {
    static constexpr std::string_view length = "\r\nContent-Length: ";
    const auto end = received.find("\r\n\r\n");
    if (end == std::string::npos) return std::nullopt;
    const auto at = received.find(length);
    if (at > end) give_up("an answer has no length: " + received);
    const auto begin = end + 4;
    const auto size = std::strtoul(received.c_str() + at + length.size(), nullptr, 10);
    if (received.size() < begin + size) return std::nullopt;
    return HttpAnswer{received.starts_with("HTTP/1.1 200"),
                      std::string_view(received).substr(begin, size), begin + size};
}

std::string http_request(std::string_view target, std::string_view more, std::string_view body) {
    std::string request =
        "POST / HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: identity\r\n"
        "Content-Type: application/x-amz-json-1.0\r\nUser-Agent: bench\r\nX-Amz-Target: ";
    request.append(target).append("\r\n").append(more);
    request += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    return request.append(body);
}

}  // namespace rocklock::bench
