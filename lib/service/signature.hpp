// The signatures of requests for tables (AWS Signature Version 4).
//
// Every client that can connect may use all tables. The signature is therefore not verified; it
// only has to be complete. SDKs generate a complete signature with any keys.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "service/service_request.hpp"

namespace rocklock {

struct SignatureProblem {
    // The name of the exception.
    std::string_view name;
    std::string message;
};

// Returns the problem if the signature is absent or incomplete, otherwise nullopt.
std::optional<SignatureProblem> check_signature(const ServiceRequest& request);

}  // namespace rocklock
