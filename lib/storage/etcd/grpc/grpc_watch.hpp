// A watch as a stream of gRPC. It has no thread of its own: the thread that calls next() also
// executes the steps of the stream.
//
//     starting --stream opened--> creating --request sent--> reading <--> next() returns a response
//         |                          |                          |
//         +--------------------------+--------------------------+--> finishing --> ended
//
// Each step completes as an event of the completion queue. At most one step is pending.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include <grpcpp/completion_queue.h>

#include "storage/etcd/grpc/requests.hpp"

namespace rocklock::etcd {

struct WatchedRange {
    std::string key;
    std::string end;
    Revision first = 0;
};

class GrpcWatch final : public Watch {
public:
    // Starts the stream. Borrows `members` and `authentication`; both must outlive this object.
    GrpcWatch(Members& members, Authentication& authentication, OpenedMember member,
              WatchedRange range);
    ~GrpcWatch() override;

    Result<std::optional<WatchResponse>> next(std::chrono::milliseconds timeout) override;
    void cancel() override;

private:
    enum class Step { starting, creating, reading, finishing, ended };

    // Handles the completion of the pending step and starts the next one. Returns a response with
    // changes, if the step was the reading of one.
    std::optional<WatchResponse> advance(bool ok);
    std::optional<WatchResponse> handle_response();
    void read();
    // Ends the watch with this error.
    void end(Error error);
    Error error_of(Failure failure);

    Members& members_;
    const std::size_t index_;
    Authentication& authentication_;
    const Token token_;
    const WatchedRange range_;
    // The time until which the member must confirm the watch. Set by the first call of next().
    std::optional<Deadline> creation_deadline_;
    bool created_ = false;
    std::atomic<bool> cancelled_ = false;

    Step step_ = Step::starting;
    std::optional<Error> error_;
    etcdserverpb::WatchResponse response_;
    grpc::Status status_;
    grpc::ClientContext context_;
    grpc::CompletionQueue queue_;
    std::unique_ptr<
        grpc::ClientAsyncReaderWriter<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse>>
        stream_;
};

}  // namespace rocklock::etcd
