#include <optional>
#include <type_traits>
#include <utility>

#include "support/fake_etcd.hpp"

namespace rocklock::testing {

namespace {

bool is_read(EtcdRequest request) {
    return request == EtcdRequest::range || request == EtcdRequest::status ||
           request == EtcdRequest::watch;
}

// Returns the error that the client receives instead of the response.
std::optional<Error> error_of(const FakeNode::Course& course) {
    switch (course.fault) {
        case EtcdFault::none:
        case EtcdFault::duplicated:
        case EtcdFault::keep_alive_ignored:
            return std::nullopt;
        case EtcdFault::request_lost:
        case EtcdFault::answer_lost:
        case EtcdFault::applied_late:
            // A read has no effect that could be unknown.
            return Error(
                is_read(course.request) ? ErrorCode::unreachable : ErrorCode::indeterminate,
                "etcd did not answer in time (fault).");
        case EtcdFault::unreachable:
            return Error(ErrorCode::unreachable, "No member of etcd can be reached (fault).");
        case EtcdFault::no_space_reported:
            return Error(ErrorCode::no_space, "etcdserver: mvcc: database space exceeded");
        case EtcdFault::access_denied:
            return Error(ErrorCode::access_denied, "etcdserver: permission denied");
        case EtcdFault::io_error:
            return Error(ErrorCode::io_error, "etcdserver: corrupt cluster (fault)");
    }
    return std::nullopt;
}

}  // namespace

template <typename Execute>
auto FakeClient::send(const FakeNode::Course& course, Execute execute) {
    using Answer = std::invoke_result_t<Execute, EtcdState&, BootTime>;
    std::optional<Answer> answer;
    cluster_.process(
        course, [&](EtcdState& state, BootTime now) { answer.emplace(execute(state, now)); },
        [execute](EtcdState& state, BootTime now) { static_cast<void>(execute(state, now)); });
    if (auto error = error_of(course)) return Answer(std::move(*error));
    return std::move(answer.value());
}

Result<etcd::TxnResponse> FakeClient::txn(const etcd::Txn& txn, Timeout /*timeout*/) {
    return send(node_.next_course(EtcdRequest::txn),
                [txn, member = node_.member_id()](EtcdState& state, BootTime /*now*/) {
                    auto response = state.txn(txn);
                    if (response) response->header.member_id = member;
                    return response;
                });
}

Result<etcd::RangeResponse> FakeClient::range(const etcd::Range& range, Timeout /*timeout*/) {
    const auto read = [range, &node = node_](EtcdState& state,
                                             BootTime /*now*/) -> Result<etcd::RangeResponse> {
        const auto newest = state.revision();
        const auto visible = range.serializable ? node.visible(newest).value_or(newest) : newest;
        auto response = state.range(range, visible);
        if (response) response->header.member_id = node.member_id();
        return response;
    };
    return send(node_.next_course(EtcdRequest::range), read);
}

Result<void> FakeClient::compact(etcd::Revision revision, Timeout /*timeout*/) {
    return send(node_.next_course(EtcdRequest::compact),
                [revision](EtcdState& state, BootTime /*now*/) { return state.compact(revision); });
}

Result<etcd::Lease> FakeClient::grant_lease(std::chrono::seconds ttl, Timeout /*timeout*/) {
    return send(node_.next_course(EtcdRequest::grant_lease),
                [ttl](EtcdState& state, BootTime now) { return state.grant_lease(ttl, now); });
}

Result<std::chrono::seconds> FakeClient::keep_alive(etcd::LeaseId lease, Timeout /*timeout*/) {
    const auto course = node_.next_course(EtcdRequest::keep_alive);
    const bool ignored = course.fault == EtcdFault::keep_alive_ignored;
    return send(course, [lease, ignored](EtcdState& state, BootTime now) {
        return ignored ? state.granted_ttl(lease, now) : state.keep_alive(lease, now);
    });
}

Result<void> FakeClient::revoke_lease(etcd::LeaseId lease, Timeout /*timeout*/) {
    return send(node_.next_course(EtcdRequest::revoke_lease),
                [lease](EtcdState& state, BootTime /*now*/) { return state.revoke_lease(lease); });
}

Result<etcd::Status> FakeClient::status(Timeout /*timeout*/) {
    return send(
        node_.next_course(EtcdRequest::status),
        [member = node_.member_id()](EtcdState& state, BootTime /*now*/) -> Result<etcd::Status> {
            auto status = state.status();
            status.header.member_id = member;
            return status;
        });
}

class FakeWatch final : public etcd::Watch {
public:
    FakeWatch(FakeCluster& cluster, std::shared_ptr<FakeCluster::Stream> stream)
        : cluster_(cluster), stream_(std::move(stream)) {}

    Result<std::optional<etcd::WatchResponse>> next(std::chrono::milliseconds timeout) override {
        return cluster_.next(*stream_, timeout);
    }
    void cancel() override { cluster_.cancel(*stream_); }

private:
    FakeCluster& cluster_;
    const std::shared_ptr<FakeCluster::Stream> stream_;
};

Result<std::unique_ptr<etcd::Watch>> FakeClient::watch(const std::string& key,
                                                       const std::string& end,
                                                       etcd::Revision first) {
    // A watch changes nothing, so each fault means that no stream was opened.
    const auto course = node_.next_course(EtcdRequest::watch);
    const auto nothing = [](EtcdState& /*state*/, BootTime /*now*/) {};
    cluster_.process(course, nothing, nothing);
    if (auto error = error_of(course)) return std::move(*error);
    return std::unique_ptr<etcd::Watch>(
        std::make_unique<FakeWatch>(cluster_, cluster_.open_stream(node_, key, end, first)));
}

}  // namespace rocklock::testing
