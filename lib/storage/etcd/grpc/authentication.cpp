#include "storage/etcd/grpc/authentication.hpp"

#include <utility>

namespace rocklock::etcd {

std::optional<Token> Authentication::token(const Member& member, Deadline deadline,
                                           Failure& failure) {
    if (user_.empty()) return Token{.text = {}, .fresh = true};
    {
        const MutexLock lock(mutex_);
        if (token_) return Token{*token_, false};
    }
    grpc::ClientContext context;
    context.set_deadline(for_grpc(deadline));
    etcdserverpb::AuthenticateRequest request;
    request.set_name(user_);
    request.set_password(password_);
    etcdserverpb::AuthenticateResponse response;
    const grpc::Status status = member.auth->Authenticate(&context, request, &response);
    if (!status.ok() && !status.error_message().starts_with("etcdserver: authentication is not")) {
        failure = classify(status, member.address);
        if (failure.outcome == Outcome::unknown) {
            // The request itself has not been sent.
            failure = {Outcome::refused,
                       Error(ErrorCode::unreachable, "etcd at " + member.address +
                                                         " did not authenticate the user " + user_ +
                                                         ": " + status.error_message())};
        }
        return std::nullopt;
    }
    const MutexLock lock(mutex_);
    token_ = response.token();
    return Token{*token_, true};
}

void Authentication::reject(const std::string& token) {
    const MutexLock lock(mutex_);
    if (token_ == token) token_.reset();
}

void add_metadata(grpc::ClientContext& context, const Token& token, bool needs_leader) {
    if (!token.text.empty()) context.AddMetadata("token", token.text);
    if (needs_leader) context.AddMetadata("hasleader", "true");
}

}  // namespace rocklock::etcd
