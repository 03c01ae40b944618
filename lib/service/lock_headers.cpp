#include "service/lock_headers.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/equal_ignoring_case.hpp"
#include "lock/manager/server_service.hpp"
#include "service/dispatcher.hpp"

namespace rocklock {
namespace {

constexpr std::uint64_t max_number = (std::uint64_t{1} << 53) - 1;

constexpr std::array<std::string_view, 5> header_names = {"X-Rocklock-Session", "X-Rocklock-Token",
                                                          "X-Rocklock-Version", "X-Rocklock-After",
                                                          "X-Rocklock-Draft"};
constexpr std::size_t session_at = 0;
constexpr std::size_t token_at = 1;
constexpr std::size_t version_at = 2;
constexpr std::size_t after_at = 3;
constexpr std::size_t draft_at = 4;

using HeaderValues = std::array<std::optional<std::string_view>, header_names.size()>;

Error bad_header(std::string text) { return {ErrorCode::invalid_argument, std::move(text)}; }

Error bad_value(std::size_t at, std::string_view what) {
    return bad_header(std::string(header_names.at(at)).append(" must be ").append(what));
}

Result<HeaderValues> find_values(const ServiceRequest& request) {
    HeaderValues values;
    for (const auto& [name, value] : request.lock_headers) {
        std::size_t at = 0;
        while (at < values.size() && !equal_ignoring_case(header_names.at(at), name)) ++at;
        if (at == values.size()) {
            return bad_header(
                name +
                " is not a known header; the known headers are X-Rocklock-Session, "
                "X-Rocklock-Token, X-Rocklock-Version, X-Rocklock-After and X-Rocklock-Draft");
        }
        if (values.at(at)) return bad_header(name + " is given twice: give it once");
        values.at(at) = value;
    }
    return values;
}

// Returns the number if the text consists of digits only.
std::optional<std::uint64_t> header_number(std::string_view text) {
    std::uint64_t number = 0;
    const auto* const end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, number);
    if (problem != std::errc() || rest != end || number > max_number) return std::nullopt;
    return number;
}

// Returns a proof without a token, after the secret of the session was checked.
Result<LockProof> read_session(std::string_view text, LockService* locks) {
    const auto colon = std::min(text.find(':'), text.size());
    const auto session = parse_session_id(text.substr(0, colon));
    const auto secret = parse_secret(text.substr(std::min(colon + 1, text.size())));
    if (!session || !secret) {
        return bad_value(session_at,
                         "<session>:<secret>, as OpenSession and Acquire return them: 22 and 43 "
                         "characters, separated by a colon");
    }
    const auto owner = check_sender(locks, *session, *secret);
    if (!owner) return Error(owner.error());
    return LockProof{*session, {}, {}, *owner};
}

Result<AfterSave> read_after(std::string_view text, std::string_view operation) {
    if (!is_write_of_one_item(operation) && operation != "TransactWriteItems") {
        return bad_header(
            "X-Rocklock-After is for PutItem, UpdateItem, DeleteItem and TransactWriteItems: it "
            "says whether the lock is released or downgraded after the write");
    }
    if (text == "release") return AfterSave::release;
    if (text == "downgrade") return AfterSave::downgrade;
    return bad_value(after_at, "release or downgrade");
}

// Reads one draft, or several separated by commas in a transaction.
Result<std::vector<DraftId>> read_drafts(std::string_view text, std::string_view operation) {
    const bool is_one = is_write_of_one_item(operation);
    if (!is_one && operation != "TransactWriteItems") {
        return bad_header(
            "X-Rocklock-Draft is for PutItem, UpdateItem, DeleteItem and TransactWriteItems: it "
            "says which draft the write saves");
    }
    std::vector<DraftId> drafts;
    while (true) {
        const auto comma = std::min(text.find(','), text.size());
        auto one = text.substr(0, comma);
        while (one.starts_with(' ')) one.remove_prefix(1);
        while (one.ends_with(' ')) one.remove_suffix(1);
        const auto value = header_number(one);
        if (!value || *value == 0 || (is_one && !drafts.empty())) {
            return bad_value(draft_at,
                             "the number of a draft, as ListDrafts returns it; a transaction "
                             "may name several, separated by commas");
        }
        drafts.push_back(DraftId{*value});
        if (comma == text.size()) return drafts;
        text.remove_prefix(comma + 1);
    }
}

}  // namespace

Result<std::optional<UserId>> check_sender(LockService* locks, const SessionId& session,
                                           const Secret& secret) {
    using Owner = std::optional<UserId>;
    if (locks == nullptr)
        return Error(ErrorCode::not_owner, "there is no lock manager, and so no session");
    const auto known = locks->authenticate(session, secret);
    if (known) {
        const bool administrator = known->uid == 0 || known->uid == ::geteuid();
        return administrator ? Owner() : Owner(known->uid);
    }
    const ErrorCode code = known.error().code;
    if (code == ErrorCode::session_expired || code == ErrorCode::session_not_found) {
        // The session has ended or does not exist, so a write with this proof will be refused.
        return Owner(nobody_known);
    }
    return Error(known.error());
}

void note_token(LockService* locks, const SessionId& session, const std::optional<Token>& token) {
    if (locks == nullptr || !token) return;
    if (auto* const server = server_service(*locks)) server->note_token(session, *token);
}

Result<TableGuards> read_lock_headers(const ServiceRequest& request, std::string_view operation,
                                      LockService* locks) {
    TableGuards guards;
    guards.user = request.uid;
    if (request.lock_headers.empty()) return guards;
    const auto found = find_values(request);
    if (!found) return Error(found.error());
    const auto& [session, token, version, after, draft] = *found;
    if (version) {
        guards.expected_version = header_number(*version);
        if (!guards.expected_version) {
            return bad_value(version_at,
                             "the version of an item, as a response returned it: a whole "
                             "number; 0 if there is no item");
        }
        if (!is_write_of_one_item(operation)) {
            return bad_header(
                "X-Rocklock-Version is for PutItem, UpdateItem and DeleteItem: it gives the "
                "version of the item that the write changes");
        }
    }
    std::optional<Token> believed;
    if (token) {
        const auto value = header_number(*token);
        if (!value || *value == 0) {
            return bad_value(token_at, "the token of a grant: a whole number, 1 or more");
        }
        believed = Token{*value};
        if (!session) {
            return bad_header(
                "X-Rocklock-Token has no effect without X-Rocklock-Session: give both");
        }
    }
    if (after) {
        const auto read = read_after(*after, operation);
        if (!read) return Error(read.error());
        if (!session) {
            return bad_header(
                "X-Rocklock-After has no effect without X-Rocklock-Session: give both");
        }
        guards.after = *read;
    }
    if (draft) {
        auto read = read_drafts(*draft, operation);
        if (!read) return std::move(read).error();
        if (!session) {
            return bad_header(
                "X-Rocklock-Draft has no effect without X-Rocklock-Session: give both");
        }
        guards.drafts = *std::move(read);
    }
    if (!session) return guards;
    auto own = read_session(*session, locks);
    if (!own) return std::move(own).error();
    note_token(locks, own->session, believed);
    own->token = believed;
    own->user = request.uid;
    guards.proof = *own;
    return guards;
}

}  // namespace rocklock
