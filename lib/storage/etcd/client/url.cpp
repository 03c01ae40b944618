#include "storage/etcd/client/url.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace rocklock::etcd {
namespace {

Error invalid(std::string_view text, const std::string& why) {
    return {ErrorCode::invalid_argument,
            "the store '" + std::string(text) + "' " + why +
                ": write etcd://HOST:PORT,HOST:PORT/PREFIX, for example "
                "etcd://10.0.0.1:2379,10.0.0.2:2379/rocklock"};
}

// Returns whether the text is HOST:PORT. An IPv6 address must be in brackets.
bool is_endpoint(std::string_view text) {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) return false;
    const auto host = text.substr(0, colon);
    const auto port = text.substr(colon + 1);
    const bool in_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (!in_brackets && host.find_first_of(":[]@ ") != std::string_view::npos) return false;
    std::uint16_t number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    return error == std::errc() && end == port.data() + port.size() && number != 0;
}

// A prefix consists of segments of printable characters between slashes.
bool is_prefix(std::string_view text) {
    return text.find("//") == std::string_view::npos &&
           std::all_of(text.begin(), text.end(),
                       [](char byte) { return byte > ' ' && byte <= '~' && byte != '?'; });
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
    if (!text.starts_with(url_scheme)) return invalid(text, "is not the URL of a store on etcd");
    Url url;
    auto rest = text.substr(url_scheme.size());
    if (const auto question = rest.find('?'); question != std::string_view::npos) {
        const auto query = rest.substr(question + 1);
        if (query != "tls") return invalid(text, "has the option '" + std::string(query) + "'");
        url.tls = true;
        rest = rest.substr(0, question);
    }
    if (const auto slash = rest.find('/'); slash != std::string_view::npos) {
        auto prefix = std::string(rest.substr(slash));
        if (prefix.size() > 1) {
            if (prefix.back() != '/') prefix.push_back('/');
            if (!is_prefix(prefix)) return invalid(text, "has an invalid prefix");
            url.prefix = std::move(prefix);
        }
        rest = rest.substr(0, slash);
    }
    while (true) {
        const auto comma = rest.find(',');
        const auto endpoint = rest.substr(0, comma);
        if (!is_endpoint(endpoint)) {
            return invalid(text, "has the member '" + std::string(endpoint) + "'");
        }
        url.endpoints.emplace_back(endpoint);
        if (comma == std::string_view::npos) return url;
        rest = rest.substr(comma + 1);
    }
}

ClientOptions client_options(const Url& url, const EtcdOptions& options) {
    ClientOptions client;
    client.endpoints = url.endpoints;
    client.tls = url.tls;
    client.ca_file = options.ca_file;
    client.cert_file = options.cert_file;
    client.key_file = options.key_file;
    client.user = options.user;
    client.password = options.password;
    return client;
}

}  // namespace rocklock::etcd
