#include "daemon/api/http_gate.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <string_view>

#include <openssl/crypto.h>

#include "base/all_digits.hpp"
#include "base/equal_ignoring_case.hpp"
#include "daemon/support/http_listener.hpp"
#include "service/item_endpoint.hpp"
#include "service/table_frames.hpp"

namespace rocklock {
namespace {

constexpr int forbidden = 403;

// Returns the host without the port.
std::string_view name_in(std::string_view host) {
    const auto end = host.starts_with('[') ? host.find(']') : host.find(':');
    if (end == std::string_view::npos) return host;
    const auto name_end = host[end] == ']' ? end + 1 : end;
    const auto port = host.substr(name_end);
    const bool is_port = port.empty() || (port.front() == ':' && all_digits(port.substr(1)));
    return is_port ? host.substr(0, name_end) : host;
}

std::string lower(std::string_view text) {
    std::string result(text);
    for (auto& letter : result) {
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    }
    return result;
}

// Returns true if a browser reports that another site has caused the request. Exception: a link to
// a page of this server is harmless, because the other site cannot read the result.
bool asked_by_another_site(const HttpRequest& request) {
    const auto& site = request.fetch_site;
    if (site.empty() || site == "same-origin" || site == "none") return false;
    return !(request.method == "GET" && request.fetch_mode == "navigate" &&
             request.fetch_dest == "document");
}

bool is_ip_address(std::string_view name) {
    in6_addr bytes{};
    if (name.starts_with('[') && name.ends_with(']')) {
        return ::inet_pton(AF_INET6, std::string(name.substr(1, name.size() - 2)).c_str(),
                           &bytes) == 1;
    }
    return ::inet_pton(AF_INET, std::string(name).c_str(), &bytes) == 1;
}

bool accepts_host(const HttpAccess& access, std::string_view name) {
    if (is_loopback_name(name)) return true;
    if (access.from_other_hosts && is_ip_address(name)) return true;
    return std::any_of(access.hosts.begin(), access.hosts.end(), [&](const std::string& accepted) {
        return equal_ignoring_case(accepted, name);
    });
}

HttpProblem wrong_host(const HttpRequest& request, const HttpAccess& access) {
    std::string names = "localhost, 127.x.x.x or [::1]";
    if (access.from_other_hosts) names = "localhost or an IP address";
    for (const auto& name : access.hosts) names += ", or " + name;
    return {forbidden, "the header Host is '" + request.host + "'; here it must be " + names +
                           "; start the daemon with --accept-host to accept another name"};
}

// Returns whether the tables answer the request. They answer no other path and no other method,
// whatever the other headers say.
bool is_call_of_tables(const HttpRequest& request) {
    const auto path = std::string_view(request.target).substr(0, request.target.find('?'));
    return request.method == "POST" && path == "/" && is_table_request(request);
}

// Returns whether the request is a check of the health of the daemon, which reveals nothing else.
bool only_asks_for_health(const HttpRequest& request) {
    return (request.method == "GET" || request.method == "HEAD") &&
           (request.target == "/healthz" || request.target == "/readyz");
}

// Returns whether the header Authorization contains the secret. The name of the scheme may be in
// upper or lower case (RFC 9110, 11.1).
bool proves_secret(std::string_view authorization, const std::string& secret) {
    constexpr std::string_view scheme = "Bearer ";
    if (!equal_ignoring_case(authorization.substr(0, scheme.size()), scheme)) return false;
    const auto given = authorization.substr(scheme.size());
    // The comparison takes the same time for each wrong secret of the right length, so that its
    // time reveals only the length.
    return given.size() == secret.size() &&
           CRYPTO_memcmp(given.data(), secret.data(), secret.size()) == 0;
}

// Returns the reason why the request is refused because of the secret, or nullopt.
std::optional<HttpProblem> refuse_without_secret(const HttpRequest& request,
                                                 const HttpAccess& access) {
    if (access.secret.empty() && !access.from_other_hosts) return std::nullopt;
    if (is_call_of_tables(request)) return std::nullopt;
    if (only_asks_for_health(request)) return std::nullopt;
    if (access.secret.empty()) {
        return HttpProblem{forbidden,
                           "this daemon offers only the DynamoDB API over TCP: to offer the lock "
                           "API as well, start it with --http-secret-file"};
    }
    if (proves_secret(request.authorization, access.secret)) return std::nullopt;
    return HttpProblem{forbidden,
                       "over TCP this request must have the header 'Authorization: Bearer "
                       "SECRET', with the secret in the file of --http-secret-file"};
}

}  // namespace

std::optional<HttpProblem> refuse_foreign(const HttpRequest& request, const HttpAccess& access) {
    const auto host = lower(request.host);
    if (!accepts_host(access, name_in(host))) return wrong_host(request, access);
    if (!request.origin.empty() && lower(request.origin) != "http://" + host) {
        return HttpProblem{forbidden,
                           "a page of " + request.origin +
                               " may not call this daemon: only pages that the daemon serves may"};
    }
    if (asked_by_another_site(request)) {
        return HttpProblem{forbidden, "a page of another site may not send this request"};
    }
    if (is_table_frame_request(request)) {
        return HttpProblem{forbidden,
                           "requests of the C++ client are accepted on the Unix socket only"};
    }
    if (auto refused = refuse_without_secret(request, access)) return refused;
    // Requests for tables are checked later; the error is then the one of DynamoDB.
    if (request.method == "POST" && !is_json(request.content_type) && !is_table_request(request)) {
        return HttpProblem{400,
                           "over TCP the header Content-Type must be application/json or "
                           "application/x-amz-json-1.0; it is '" +
                               request.content_type + "'"};
    }
    return std::nullopt;
}

}  // namespace rocklock
