#include "daemon/table_client.hpp"

#include <cstdlib>
#include <utility>

namespace rocklock::bench {

std::string table_request(std::string_view operation, std::string_view body) {
    std::string request =
        "POST / HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: identity\r\n"
        "Content-Type: application/x-amz-json-1.0\r\nUser-Agent: bench\r\n"
        "X-Amz-Target: DynamoDB_20120810.";
    request.append(operation);
    request +=
        "\r\nX-Amz-Date: 20260101T000000Z\r\n"
        "Authorization: AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/dynamodb/aws4_request,"
        " SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature="
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\r\nContent-Length: ";
    request += std::to_string(body.size()) + "\r\n\r\n";
    return request.append(body);
}

void TableClient::ask(const std::string& request, std::string_view answer_begin) {
    answer_begin_ = answer_begin;
    send(request);
}

std::string TableClient::call(std::string_view operation, std::string_view body) {
    may_be_refused_ = true;
    ask(table_request(operation, body), {});
    await();
    may_be_refused_ = false;
    return std::exchange(answer_, {});
}

bool TableClient::take_answer() {
    static constexpr std::string_view length = "\r\nContent-Length: ";
    const auto end = received_.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    const auto at = received_.find(length);
    if (at > end) give_up("an answer has no length: " + received_);
    const auto begin = end + 4;
    const auto size = std::strtoul(received_.c_str() + at + length.size(), nullptr, 10);
    if (received_.size() < begin + size) return false;
    const auto body = std::string_view(received_).substr(begin, size);
    const bool accepted = received_.starts_with("HTTP/1.1 200") && body.starts_with(answer_begin_);
    if (!accepted && !may_be_refused_) give_up("unexpected: " + received_);
    if (may_be_refused_) answer_ = body;
    received_.erase(0, begin + size);
    return true;
}

}  // namespace rocklock::bench
