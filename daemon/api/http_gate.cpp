#include "daemon/api/http_gate.hpp"

#include <string_view>

#include "base/all_digits.hpp"
#include "daemon/support/loopback.hpp"
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

}  // namespace

std::optional<HttpProblem> refuse_foreign(const HttpRequest& request) {
    const auto host = lower(request.host);
    if (!is_loopback_name(name_in(host))) {
        return HttpProblem{forbidden, "the header Host is '" + request.host +
                                          "'; here it must be localhost, 127.x.x.x or [::1]"};
    }
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
