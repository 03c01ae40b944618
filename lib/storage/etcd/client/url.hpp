// The URL of a store on etcd: etcd://HOST:PORT[,HOST:PORT...][/PREFIX][?tls].
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <rocklock/result.hpp>
#include <rocklock/storage/etcd.hpp>

#include "storage/etcd/client/client.hpp"

namespace rocklock::etcd {

inline constexpr std::string_view url_scheme = "etcd://";

struct Url {
    // The addresses of the members, as "host:port".
    std::vector<std::string> endpoints;
    // Begins and ends with a slash.
    std::string prefix = "/rocklock/";
    bool tls = false;

    friend bool operator==(const Url&, const Url&) = default;
};

// Errors: invalid_argument.
Result<Url> parse_url(std::string_view text);

// Returns the settings of a connection to the members of the URL.
ClientOptions client_options(const Url& url, const EtcdOptions& options);

}  // namespace rocklock::etcd
