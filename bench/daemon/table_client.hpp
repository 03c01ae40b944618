// A client of DynamoDB's API. Like an SDK, it sends JSON over HTTP/1.1 with keep-alive, and a
// header with a signature. None of the measured servers verifies the signature.
#pragma once

#include <string>
#include <string_view>

#include "daemon/client.hpp"

namespace rocklock::bench {

// Returns a complete HTTP request for this operation.
std::string table_request(std::string_view operation, std::string_view body);

class TableClient final : public Client {
public:
    using Client::Client;

    // Sends the request. Ends the program if the response does not begin with `answer_begin`.
    void ask(const std::string& request, std::string_view answer_begin);
    // Sends the request, waits for the response, and returns its body, which may be an error of the
    // API.
    std::string call(std::string_view operation, std::string_view body);

private:
    bool take_answer() override;

    std::string_view answer_begin_;
    bool may_be_refused_ = false;
    std::string answer_;
};

}  // namespace rocklock::bench
