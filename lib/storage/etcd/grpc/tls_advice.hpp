// Explains failures of connections with TLS: gRPC and etcd report them with few words.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace rocklock::etcd {

// Returns the time at which the first certificate in a PEM text expires, or nullopt if the text
// contains no certificate.
std::optional<std::chrono::system_clock::time_point> expiry_of_certificate(const std::string& pem);

// The certificate that a client sends to the members.
struct OwnCertificate {
    std::string file;
    // Nullopt if the client sends no certificate.
    std::optional<std::chrono::system_clock::time_point> expires;
};

// Returns what the user should check, as a continuation of the message `problem` of a connection
// with TLS that has failed. The text is empty if the message indicates no problem with TLS.
std::string tls_advice(const OwnCertificate& certificate, const std::string& problem,
                       std::chrono::system_clock::time_point now);

}  // namespace rocklock::etcd
