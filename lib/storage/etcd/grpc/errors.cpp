#include "storage/etcd/grpc/errors.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace rocklock::etcd {

namespace {

struct KnownMessage {
    std::string_view beginning;
    Outcome outcome;
    ErrorCode code;
};

// The errors of etcd are distinguished by their messages. Errors that a member returns before it
// proposes the request to the cluster are `refused`.
//
// "no leader": the member checks for a leader first, because requests have the metadata
// `hasleader`. "leader changed" and "request timed out" are missing here, because etcd returns them
// also for requests that the cluster executes later.
constexpr std::array known_messages{
    KnownMessage{"etcdserver: no leader", Outcome::refused, ErrorCode::unreachable},
    KnownMessage{"etcdserver: too many requests", Outcome::refused, ErrorCode::unreachable},
    KnownMessage{"etcdserver: mvcc: database space exceeded", Outcome::answered,
                 ErrorCode::no_space},
    KnownMessage{"etcdserver: mvcc: required revision has been compacted", Outcome::answered,
                 ErrorCode::precondition_failed},
    KnownMessage{"etcdserver: requested lease not found", Outcome::answered,
                 ErrorCode::resource_not_found},
    KnownMessage{"etcdserver: too large lease TTL", Outcome::answered, ErrorCode::invalid_argument},
    KnownMessage{"etcdserver: too many operations in txn request", Outcome::answered,
                 ErrorCode::invalid_argument},
    KnownMessage{"etcdserver: request is too large", Outcome::answered,
                 ErrorCode::invalid_argument},
    KnownMessage{"etcdserver: duplicate key given in txn request", Outcome::answered,
                 ErrorCode::invalid_argument},
    // The server's gRPC library refuses larger requests than etcd itself.
    KnownMessage{"grpc: received message larger than max", Outcome::answered,
                 ErrorCode::invalid_argument},
    KnownMessage{"etcdserver: invalid auth token", Outcome::token_rejected,
                 ErrorCode::access_denied},
    KnownMessage{"etcdserver: revision of auth store is old", Outcome::token_rejected,
                 ErrorCode::access_denied},
    KnownMessage{"etcdserver: user name is empty", Outcome::token_rejected,
                 ErrorCode::access_denied},
    KnownMessage{"etcdserver: permission denied", Outcome::answered, ErrorCode::access_denied},
    KnownMessage{"etcdserver: authentication failed", Outcome::answered, ErrorCode::access_denied},
};

const KnownMessage* known(std::string_view message) {
    const auto* const found =
        std::find_if(known_messages.begin(), known_messages.end(),
                     [&](const KnownMessage& each) { return message.starts_with(each.beginning); });
    return found == known_messages.end() ? nullptr : found;
}

// For statuses whose message is not known.
std::pair<Outcome, ErrorCode> meaning_of(grpc::StatusCode code) {
    switch (code) {
        case grpc::StatusCode::INVALID_ARGUMENT:
            return {Outcome::answered, ErrorCode::invalid_argument};
        case grpc::StatusCode::PERMISSION_DENIED:
        case grpc::StatusCode::UNAUTHENTICATED:
            return {Outcome::answered, ErrorCode::access_denied};
        case grpc::StatusCode::FAILED_PRECONDITION:
        case grpc::StatusCode::NOT_FOUND:
        case grpc::StatusCode::ALREADY_EXISTS:
        case grpc::StatusCode::OUT_OF_RANGE:
        case grpc::StatusCode::UNIMPLEMENTED:
            return {Outcome::answered, ErrorCode::io_error};
        default:
            // UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED, UNKNOWN and INTERNAL do not prove that the
            // request was not sent. RESOURCE_EXHAUSTED is also the status of a response that is too
            // large.
            return {Outcome::unknown, ErrorCode::indeterminate};
    }
}

std::string text_of(const grpc::Status& status) {
    if (!status.error_message().empty()) return status.error_message();
    return "gRPC status " + std::to_string(status.error_code());
}

Error error_of(ErrorCode code, const std::string& text, const std::string& member) {
    return {code, "etcd at " + member + ": " + text};
}

}  // namespace

Failure classify(const grpc::Status& status, const std::string& member) {
    const std::string text = text_of(status);
    if (const KnownMessage* message = known(text)) {
        return {message->outcome, error_of(message->code, text, member)};
    }
    const auto [outcome, code] = meaning_of(status.error_code());
    return {outcome, error_of(code, text, member)};
}

Failure classify_reason(const std::string& reason, const std::string& member) {
    // The reason can be a status as text: "rpc error: code = ... desc = ...".
    constexpr std::string_view before_text = "desc = ";
    const auto at = reason.find(before_text);
    const std::string text =
        at == std::string::npos ? reason : reason.substr(at + before_text.size());
    if (const KnownMessage* message = known(text)) {
        return {message->outcome, error_of(message->code, text, member)};
    }
    return {Outcome::refused, error_of(ErrorCode::unreachable, "ended the watch: " + text, member)};
}

}  // namespace rocklock::etcd
