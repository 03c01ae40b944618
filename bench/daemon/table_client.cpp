#include "daemon/table_client.hpp"

#include <utility>

#include "daemon/http_answer.hpp"

namespace rocklock::bench {

std::string table_request(std::string_view operation, std::string_view body) {
    return http_request(
        "DynamoDB_20120810." + std::string(operation),
        "X-Amz-Date: 20260101T000000Z\r\n"
        "Authorization: AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/dynamodb/aws4_request,"
        " SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature="
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\r\n",
        body);
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
    const auto answer = take_http_answer(received_);
    if (!answer) return false;
    const bool expected = answer->accepted && answer->body.starts_with(answer_begin_);
    if (!expected && !may_be_refused_) give_up("unexpected: " + received_);
    if (may_be_refused_) answer_ = answer->body;
    received_.erase(0, answer->bytes);
    return true;
}

}  // namespace rocklock::bench
