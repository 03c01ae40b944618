// The signatures of requests for tables (AWS Signature Version 4).
//
// Whoever can call may do anything with the tables, so no signature is computed here: it only has
// to be one, as SDKs make them with any keys.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "service/service_request.hpp"

namespace rocklock {

struct SignatureProblem {
    // Of the exception.
    std::string_view name;
    std::string message;
};

// What is missing in it; nothing where it is whole.
std::optional<SignatureProblem> check_signature(const ServiceRequest& request);

}  // namespace rocklock
