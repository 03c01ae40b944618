#include "support/fake_etcd.hpp"

#include <algorithm>
#include <iterator>

#include "base/assert.hpp"

namespace rocklock::testing {

namespace {

bool has_effect(EtcdFault fault) {
    switch (fault) {
        case EtcdFault::none:
        case EtcdFault::answer_lost:
        case EtcdFault::duplicated:
        case EtcdFault::keep_alive_ignored:
        case EtcdFault::no_space_reported:
            return true;
        case EtcdFault::request_lost:
        case EtcdFault::applied_late:
        case EtcdFault::unreachable:
        case EtcdFault::access_denied:
        case EtcdFault::io_error:
            return false;
    }
    ROCKLOCK_ASSERT(false);
    return false;
}

// Returns the first change of `revision` or of a later one.
auto first_change(const std::vector<EtcdChange>& history, etcd::Revision revision) {
    return std::partition_point(history.begin(), history.end(), [&](const auto& change) {
        return change.kv.mod_revision < revision;
    });
}

}  // namespace

FakeCluster::FakeCluster(Clock& clock, const EtcdLimits& limits, std::uint64_t cluster_id)
    : clock_(clock), state_(cluster_id, limits) {}

FakeNode& FakeCluster::node(const std::string& name) {
    const MutexLock lock(mutex_);
    auto& node = nodes_[name];
    if (!node) node = std::make_unique<FakeNode>(nodes_.size());
    return *node;
}

std::unique_ptr<etcd::Client> FakeCluster::connect(const std::string& name) {
    return std::make_unique<FakeClient>(*this, node(name));
}

void FakeCluster::process(const FakeNode::Course& course, const Effect& effect,
                          const Effect& late_effect) {
    const MutexLock lock(mutex_);
    ++requests_;
    refresh();
    disturb(course);
    if (has_effect(course.fault)) {
        effect(state_, clock_.now().boot);
        publish();
    }
    count_down_late();
    if (course.fault == EtcdFault::applied_late || course.fault == EtcdFault::duplicated) {
        late_.push_back({late_effect, course.after_requests});
    }
}

void FakeCluster::disturb(const FakeNode::Course& course) {
    if (course.end_lease) {
        const auto leases = state_.leases();
        if (!leases.empty()) {
            state_.revoke_lease(leases[*course.end_lease % leases.size()]).value();
            publish();
        }
    }
    if (course.compact && state_.revision() > state_.compacted()) {
        const auto choices = static_cast<std::uint64_t>(state_.revision() - state_.compacted());
        const auto chosen = static_cast<etcd::Revision>(*course.compact % choices);
        state_.compact(state_.compacted() + 1 + chosen).value();
    }
}

void FakeCluster::count_down_late() {
    for (auto late = late_.begin(); late != late_.end();) {
        auto& left = late->after_requests;
        if (!left || (*left > 1 && (--*left, true))) {
            ++late;
            continue;
        }
        late->effect(state_, clock_.now().boot);
        late = late_.erase(late);
        publish();
    }
}

void FakeCluster::refresh() {
    state_.expire_leases(clock_.now().boot);
    publish();
}

void FakeCluster::publish() {
    std::erase_if(streams_, [](const auto& stream) { return stream.expired(); });
    for (const auto& each : streams_) {
        if (const auto stream = each.lock()) fill(*stream);
    }
    changed_.notify_all();
}

void FakeCluster::fill(Stream& stream) {
    const auto visible = stream.node.visible(state_.revision());
    if (!visible || stream.error) return;
    while (stream.next <= *visible) {
        if (stream.next < state_.compacted()) {
            stream.error = Error(ErrorCode::precondition_failed,
                                 "etcdserver: mvcc: required revision has been compacted");
            return;
        }
        stream.next = append_response(stream, *visible) + 1;
    }
}

// Appends the changes of at most `watch_revisions` revisions. Returns the last revision that was
// examined. As in etcd, the header has the newest revision, even if more changes follow.
etcd::Revision FakeCluster::append_response(Stream& stream, etcd::Revision through) {
    etcd::WatchResponse response;
    response.header = state_.header();
    response.header.member_id = stream.node.member_id();
    response.header.revision = through;
    const auto max_revisions = state_.limits().watch_revisions;
    std::size_t revisions = 0;
    etcd::Revision last = 0;
    auto examined = through;
    const auto& history = state_.history();
    for (auto change = first_change(history, stream.next);
         change != history.end() && change->kv.mod_revision <= through; ++change) {
        if (!in_etcd_range(change->kv.key, stream.key, stream.end) || !state_.watchable(*change)) {
            continue;
        }
        const auto revision = change->kv.mod_revision;
        if (revision != last && ++revisions > max_revisions) {
            examined = last;
            break;
        }
        last = revision;
        response.events.push_back({change->deleted, change->kv});
    }
    if (!response.events.empty()) stream.responses.push_back(std::move(response));
    return examined;
}

std::shared_ptr<FakeCluster::Stream> FakeCluster::open_stream(FakeNode& node,
                                                              const std::string& key,
                                                              const std::string& end,
                                                              etcd::Revision first) {
    const MutexLock lock(mutex_);
    refresh();
    auto stream = std::make_shared<Stream>(
        Stream{node, key, end, first > 0 ? first : state_.revision() + 1, node.watch_epoch()});
    streams_.push_back(stream);
    fill(*stream);
    return stream;
}

Result<std::optional<etcd::WatchResponse>> FakeCluster::next(Stream& stream,
                                                             std::chrono::milliseconds timeout) {
    // Nothing reports a change of the clock or of a FakeNode, so a wait examines them repeatedly.
    constexpr std::chrono::milliseconds max_wait(5);
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    const MutexLock lock(mutex_);
    stream.node.next_of_watch(state_.revision());
    while (true) {
        refresh();
        if (auto result = take(stream)) return std::move(*result);
        if (timeout.count() <= 0) return std::optional<etcd::WatchResponse>();
        const auto left = deadline - std::chrono::steady_clock::now();
        if (left.count() <= 0) return std::optional<etcd::WatchResponse>();
        changed_.wait_for(mutex_, std::min<std::chrono::nanoseconds>(left, max_wait));
    }
}

std::optional<Result<std::optional<etcd::WatchResponse>>> FakeCluster::take(Stream& stream) {
    if (stream.cancelled) return Error(ErrorCode::closing, "The watch was cancelled.");
    if (stream.epoch != stream.node.watch_epoch()) {
        return Error(ErrorCode::unreachable, "The stream of changes has ended (fault).");
    }
    if (!stream.responses.empty()) {
        auto response = std::move(stream.responses.front());
        stream.responses.pop_front();
        return std::optional(std::move(response));
    }
    if (stream.error) return *stream.error;
    return std::nullopt;
}

void FakeCluster::cancel(Stream& stream) {
    const MutexLock lock(mutex_);
    stream.cancelled = true;
    changed_.notify_all();
}

}  // namespace rocklock::testing
