// DynamoDB's API over HTTP, as an SDK speaks it: HTTP/1.1 with keep-alive, JSON, and a header with
// a signature, which none of the servers here checks.
#pragma once

#include <string>
#include <string_view>

#include "daemon/client.hpp"

namespace rocklock::bench {

// A whole request of that operation.
std::string table_request(std::string_view operation, std::string_view body);

class TableClient final : public Client {
public:
    using Client::Client;

    // An answer that does not begin like this ends the program.
    void ask(const std::string& request, std::string_view answer_begin);
    // Waits for the answer, which may be a refusal.
    std::string call(std::string_view operation, std::string_view body);

private:
    bool take_answer() override;

    std::string_view answer_begin_;
    bool may_be_refused_ = false;
    std::string answer_;
};

}  // namespace rocklock::bench
