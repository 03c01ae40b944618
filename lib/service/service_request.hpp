// A request to a service, as a transport delivers it: an operation, headers and a body. The type is
// the same for every transport. The HTTP parser fills in HttpRequest, which derives from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocklock/identity.hpp>

namespace rocklock {

// The maximum size of a body after decompression.
inline constexpr std::size_t max_request_body = 16u << 20;

struct ServiceRequest {
    // Path and query. The query may contain a signature.
    std::string target;
    // The value of the header X-Amz-Target: the service and the operation.
    std::string operation;
    // The values of the headers Host, Content-Type, Content-Encoding and Authorization. If a header
    // is repeated, its values are separated by commas.
    std::string host;
    std::string content_type;
    std::string content_encoding;
    std::string authorization;
    // The values of the headers Date and X-Amz-Date.
    std::string date;
    std::string amz_date;
    // The names and values of the received headers X-Rocklock-*.
    std::vector<std::pair<std::string, std::string>> lock_headers;
    std::string body;
    // The uid of the client; the transport sets it.
    UserId uid = 0;
};

// Returns true for the two types that the body of a call can have: application/json and
// application/x-amz-json-1.0.
bool is_json(std::string_view content_type);
// Returns true for application/x-amz-json-1.0, which SDKs send.
bool is_sdk_json(std::string_view content_type);

}  // namespace rocklock
