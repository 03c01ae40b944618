#include "storage/etcd/grpc/requests.hpp"

#include <algorithm>
#include <utility>

namespace rocklock::etcd {

namespace {

bool is_read(RequestKind kind) {
    return kind == RequestKind::read || kind == RequestKind::local_read;
}

// A request that has the same effect if it is sent twice gets half of the remaining time at each
// member but the last.
Deadline deadline_of_attempt(Deadline deadline, bool last) {
    const auto now = std::chrono::steady_clock::now();
    return last ? deadline : std::min(deadline, now + (deadline - now) / 2);
}

}  // namespace

Result<void> Requests::send(RequestKind kind, Client::Timeout timeout, const Send& send) {
    const Deadline deadline = deadline_after(timeout);
    auto failure =
        for_each_member(kind, deadline, [&](std::size_t index, Deadline attempt_deadline) {
            return attempt(kind, members_.at(index), send, attempt_deadline, deadline);
        });
    if (!failure) return {};
    if (failure->outcome == Outcome::unknown) {
        if (is_read(kind)) {
            // A read has no effect.
            failure->error.code = ErrorCode::unreachable;
        } else {
            failure->error.message += "; it is unknown whether the request has an effect";
        }
    }
    return std::move(failure->error);
}

Result<void> Requests::send_to(std::size_t index, Client::Timeout timeout, const Send& send) {
    const Deadline deadline = deadline_after(timeout);
    auto failure = attempt(RequestKind::local_read, members_.at(index), send, deadline, deadline);
    if (failure) return std::move(failure->error);
    return {};
}

Result<OpenedMember> Requests::open(Client::Timeout timeout) {
    OpenedMember opened;
    auto failure =
        for_each_member(RequestKind::read, deadline_after(timeout),
                        [&](std::size_t index, Deadline deadline) -> std::optional<Failure> {
                            const Member& member = members_.at(index);
                            auto connected = member.connect(deadline);
                            if (!connected)
                                return Failure{Outcome::refused, std::move(connected.error())};
                            Failure failed;
                            auto token = authentication_.token(member, deadline, failed);
                            if (!token) return failed;
                            opened = {.index = index, .token = std::move(*token)};
                            return std::nullopt;
                        });
    if (failure) return std::move(failure->error);
    return opened;
}

std::optional<Failure> Requests::for_each_member(
    RequestKind kind, Deadline deadline,
    const std::function<std::optional<Failure>(std::size_t index, Deadline)>& attempt) {
    const std::size_t first = members_.current();
    const std::size_t end = first + members_.size();
    std::optional<Failure> result;
    for (std::size_t index = first; index < end; ++index) {
        auto failure = attempt(index, deadline_of_attempt(deadline, index + 1 == end));
        if (!failure) return std::nullopt;
        if (failure->outcome == Outcome::answered || failure->outcome == Outcome::token_rejected) {
            return failure;
        }
        members_.failed(index);
        if (failure->outcome == Outcome::unknown && kind == RequestKind::write) return failure;
        // If the outcome at any member is unknown, so is that of the request.
        if (!result || result->outcome == Outcome::refused) result = std::move(failure);
    }
    return result;
}

std::optional<Failure> Requests::attempt(RequestKind kind, const Member& member, const Send& send,
                                         Deadline attempt_deadline, Deadline deadline) {
    // A request is sent only on an established connection. A failure to connect therefore proves
    // that the request was not sent.
    auto connected = member.connect(attempt_deadline);
    if (!connected) return Failure{Outcome::refused, std::move(connected.error())};
    for (bool retried = false;; retried = true) {
        Failure failure;
        const auto token = authentication_.token(member, attempt_deadline, failure);
        if (!token) return failure;
        grpc::ClientContext context;
        context.set_deadline(for_grpc(kind == RequestKind::write ? deadline : attempt_deadline));
        add_metadata(context, *token, kind != RequestKind::local_read);
        const grpc::Status status = send(member, context);
        if (status.ok()) return std::nullopt;
        failure = classify(status, member.address);
        if (failure.outcome != Outcome::answered) {
            failure.error.message = member.explain(std::move(failure.error.message));
        }
        if (failure.outcome == Outcome::token_rejected) {
            authentication_.reject(token->text);
            // A token ends when its time has passed or when the member is restarted.
            if (!token->fresh && !retried) continue;
        }
        return failure;
    }
}

}  // namespace rocklock::etcd
