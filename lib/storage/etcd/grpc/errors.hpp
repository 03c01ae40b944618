// Classifies the failures of a request to etcd by what they prove about its effect.
#pragma once

#include <string>

#include <grpcpp/support/status.h>

#include <rocklock/error.hpp>

namespace rocklock::etcd {

enum class Outcome {
    // The member has not processed the request; another member may accept it.
    refused,
    // The response did not arrive: the request may have had an effect, or will still have one.
    unknown,
    // The token is not valid (any more), so the request had no effect.
    token_rejected,
    // The error is the cluster's response to the request.
    answered,
};

struct Failure {
    Outcome outcome = Outcome::unknown;
    Error error;
};

// Returns the meaning of a status that is not OK. The error of `unknown` has the code
// `indeterminate`; the error of `refused` has the code `unreachable`.
Failure classify(const grpc::Status& status, const std::string& member);

// Returns the same for the reason that etcd gives when it ends a watch.
Failure classify_reason(const std::string& reason, const std::string& member);

}  // namespace rocklock::etcd
