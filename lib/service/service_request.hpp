// A request to a service as its transport delivers it: an operation, headers and a body. It does
// not depend on the transport; over HTTP it is a part of an HttpRequest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rocklock {

// The longest body, unpacked.
inline constexpr std::size_t max_request_body = 16u << 20;

struct ServiceRequest {
    // Path and query. The query may contain a signature.
    std::string target;
    // The header X-Amz-Target: the service and the operation.
    std::string operation;
    // Headers of the same names. One that occurs twice has both values, with a comma between.
    std::string host;
    std::string content_type;
    std::string content_encoding;
    std::string authorization;
    // Date, and X-Amz-Date.
    std::string date;
    std::string amz_date;
    // Headers whose names begin with X-Rocklock-, each with its value, as they were received.
    std::vector<std::pair<std::string, std::string>> lock_headers;
    std::string body;
    // The uid of the client; the transport sets it.
    std::uint32_t uid = 0;
};

// Returns true for the types of a call's body: application/json and application/x-amz-json-1.0.
bool is_json(std::string_view content_type);
// Returns true for the latter, which SDKs send.
bool is_sdk_json(std::string_view content_type);

}  // namespace rocklock
