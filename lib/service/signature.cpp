#include "service/signature.hpp"

#include <array>

namespace rocklock {
namespace {

constexpr std::string_view missing_token = "MissingAuthenticationTokenException";
constexpr std::string_view incomplete_signature = "IncompleteSignatureException";
constexpr std::string_view invalid_signature = "InvalidSignatureException";

// Returns true if the list contains `name=` with a value that is not empty.
bool has_part(std::string_view list, std::string_view name, std::string_view separators) {
    const auto separates = [&](char letter) { return separators.find(letter) != separators.npos; };
    for (auto at = list.find(name); at != list.npos; at = list.find(name, at + 1)) {
        const auto value = at + name.size() + 1;
        if (value >= list.size()) return false;
        const bool begins = at == 0 || separates(list[at - 1]);
        if (begins && list[value - 1] == '=' && !separates(list[value])) return true;
    }
    return false;
}

std::optional<SignatureProblem> check_header(const ServiceRequest& request) {
    const std::string& header = request.authorization;
    if (!header.starts_with("AWS4-")) {
        return SignatureProblem{missing_token, "Request is missing Authentication Token"};
    }
    std::string text;
    const auto parts = std::string_view(header).substr(std::min(header.find(' '), header.size()));
    for (const auto* name : {"Credential", "Signature", "SignedHeaders"}) {
        if (has_part(parts, name, ", ")) continue;
        text += "Authorization header requires '" + std::string(name) + "' parameter. ";
    }
    if (request.date.empty() && request.amz_date.empty()) {
        text +=
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ";
    }
    if (text.empty()) return std::nullopt;
    return SignatureProblem{incomplete_signature, text + "Authorization=" + header};
}

std::optional<SignatureProblem> check_query(std::string_view query) {
    std::string text;
    for (const auto* name : {"X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Signature",
                             "X-Amz-SignedHeaders", "X-Amz-Date"}) {
        if (has_part(query, name, "&")) continue;
        text += "AWS query-string parameters must include '" + std::string(name) + "'. ";
    }
    if (text.empty()) return std::nullopt;
    return SignatureProblem{incomplete_signature, text + "Re-examine the query-string parameters."};
}

}  // namespace

std::optional<SignatureProblem> check_signature(const ServiceRequest& request) {
    const std::string_view target(request.target);
    const auto query = target.substr(std::min(target.find('?'), target.size()));
    const bool in_query = query.find("X-Amz-Algorithm") != std::string_view::npos;
    if (in_query && !request.authorization.empty()) {
        return SignatureProblem{invalid_signature,
                                "Found both 'X-Amz-Algorithm' as a query-string param and "
                                "'Authorization' as HTTP header."};
    }
    if (in_query) return check_query(query.substr(1));
    return check_header(request);
}

}  // namespace rocklock
