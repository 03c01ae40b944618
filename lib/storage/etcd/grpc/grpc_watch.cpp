#include "storage/etcd/grpc/grpc_watch.hpp"

#include <algorithm>
#include <utility>

#include "storage/etcd/grpc/conversion.hpp"

namespace rocklock::etcd {

namespace {

// The time in which a member must confirm the watch.
constexpr std::chrono::seconds creation_timeout{5};

}  // namespace

GrpcWatch::GrpcWatch(Members& members, Authentication& authentication, OpenedMember member,
                     WatchedRange range)
    : members_(members),
      index_(member.index),
      authentication_(authentication),
      token_(std::move(member.token)),
      range_(std::move(range)) {
    // A member that loses its leader ends the stream. Otherwise, a member that is cut off from the
    // others would stay silent.
    add_metadata(context_, token_, true);
    stream_ = members_.at(index_).watch->AsyncWatch(&context_, &queue_, this);
}

GrpcWatch::~GrpcWatch() {
    context_.TryCancel();
    queue_.Shutdown();
    // Removes the pending step, which completes because of the cancellation.
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
}

void GrpcWatch::cancel() {
    cancelled_ = true;
    context_.TryCancel();
}

Result<std::optional<WatchResponse>> GrpcWatch::next(std::chrono::milliseconds timeout) {
    const Deadline deadline = deadline_after(timeout);
    if (!creation_deadline_) creation_deadline_ = deadline_after(creation_timeout);
    while (true) {
        if (cancelled_) return Error(ErrorCode::closing, "the watch was cancelled");
        if (error_) return *error_;
        const Deadline until = created_ ? deadline : std::min(deadline, *creation_deadline_);
        void* tag = nullptr;
        bool ok = false;
        switch (queue_.AsyncNext(&tag, &ok, for_grpc(until))) {
            case grpc::CompletionQueue::GOT_EVENT:
                if (auto changes = advance(ok)) return changes;
                break;
            case grpc::CompletionQueue::TIMEOUT:
                if (until == deadline) return std::optional<WatchResponse>();
                end({ErrorCode::unreachable, "etcd at " + members_.at(index_).address +
                                                 " did not confirm a watch in time"});
                break;
            case grpc::CompletionQueue::SHUTDOWN:
                end({ErrorCode::unreachable, "the watch has ended"});
                break;
        }
    }
}

std::optional<WatchResponse> GrpcWatch::advance(bool ok) {
    if (step_ == Step::finishing) {
        step_ = Step::ended;
        if (status_.ok()) status_ = {grpc::StatusCode::UNAVAILABLE, "the stream has ended"};
        end(error_of(classify(status_, members_.at(index_).address)));
        return std::nullopt;
    }
    if (!ok) {
        step_ = Step::finishing;
        stream_->Finish(&status_, this);
        return std::nullopt;
    }
    if (step_ == Step::reading) return handle_response();
    if (step_ == Step::creating) {
        read();
        return std::nullopt;
    }
    etcdserverpb::WatchRequest request;
    auto& create = *request.mutable_create_request();
    create.set_key(range_.key);
    create.set_range_end(range_.end);
    create.set_start_revision(range_.first);
    step_ = Step::creating;
    stream_->Write(request, this);
    return std::nullopt;
}

std::optional<WatchResponse> GrpcWatch::handle_response() {
    const std::string& member = members_.at(index_).address;
    if (response_.compact_revision() != 0) {
        end({ErrorCode::precondition_failed,
             "the changes since revision " + std::to_string(range_.first) +
                 " are not available, because etcd has compacted the revisions before " +
                 std::to_string(response_.compact_revision())});
        return std::nullopt;
    }
    if (response_.canceled()) {
        end(error_of(classify_reason(response_.cancel_reason(), member)));
        return std::nullopt;
    }
    created_ = created_ || response_.created();
    std::optional<WatchResponse> changes;
    if (response_.events_size() > 0) changes = from_message(std::move(response_));
    read();
    return changes;
}

void GrpcWatch::read() {
    step_ = Step::reading;
    response_.Clear();
    stream_->Read(&response_, this);
}

void GrpcWatch::end(Error error) {
    error_ = std::move(error);
    if (error_->code == ErrorCode::unreachable) members_.failed(index_);
    context_.TryCancel();
}

Error GrpcWatch::error_of(Failure failure) {
    const ErrorCode code = failure.error.code;
    if (code == ErrorCode::access_denied && !token_.fresh) {
        // etcd 3.4 reports an invalid token of a watch as "permission denied". The next watch
        // gets another token.
        authentication_.reject(token_.text);
        failure.error.code = ErrorCode::unreachable;
    } else if (code != ErrorCode::access_denied && code != ErrorCode::precondition_failed) {
        failure.error.code = ErrorCode::unreachable;
    }
    return std::move(failure.error);
}

}  // namespace rocklock::etcd
