#include "client/remote_tables.hpp"

#include <algorithm>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>

#include "wire/call_json.hpp"

namespace rocklock {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds min_retry_pause{5};
constexpr milliseconds max_retry_pause{100};

// Returns whether a request can be executed twice without harm.
bool may_repeat(const TableRequest& request) {
    if (const auto* write = std::get_if<TransactWrite>(&request)) return write->token.has_value();
    return std::holds_alternative<GetItem>(request) || std::holds_alternative<Query>(request) ||
           std::holds_alternative<Scan>(request) || std::holds_alternative<BatchGet>(request) ||
           std::holds_alternative<TransactGet>(request) ||
           std::holds_alternative<DescribeTable>(request) ||
           std::holds_alternative<DescribeTimeToLive>(request) ||
           std::holds_alternative<ListTables>(request) ||
           std::holds_alternative<ListTagsOfResource>(request);
}

// Returns whether the duration of a request depends on the size of its table.
bool is_long(const TableRequest& request) {
    return std::holds_alternative<UpdateTable>(request) ||
           std::holds_alternative<DeleteTable>(request);
}

AfterSave after_of(const TableRequest& request) {
    if (const auto* write = std::get_if<TypedWrite>(&request)) return write->write.after;
    if (const auto* transaction = std::get_if<TransactWrite>(&request)) return transaction->after;
    return AfterSave::keep;
}

Error error_in(const HttpConnection::Answer& answer) {
    if (is_table_frame(answer.body)) return read_table_refusal(answer.body);
    return read_error(answer.body);
}

// Marks the grants that a save releases, so that they are not reported as lost when they end.
class ExpectedReleases {
public:
    ExpectedReleases(RemoteService& locks, TableRequest& request) : locks_(locks) {
        if (after_of(request) != AfterSave::release) return;
        for (const LockProof* proof : proofs_in(request)) {
            expected_.emplace_back(proof->session, locks_.expect_release(*proof));
        }
    }
    ExpectedReleases(const ExpectedReleases&) = delete;
    ExpectedReleases& operator=(const ExpectedReleases&) = delete;
    ~ExpectedReleases() {
        for (const auto& [session, expected] : expected_) locks_.end_expectation(session, expected);
    }

    // Returns the grants that the save has released if it succeeded.
    std::vector<ReleasedGrant> released() const {
        std::vector<ReleasedGrant> released;
        for (const auto& [session, expected] : expected_) {
            for (const auto& [grant, counted] : expected) {
                if (!counted) released.push_back({session, grant});
            }
        }
        return released;
    }

private:
    RemoteService& locks_;
    std::vector<std::pair<SessionId, std::vector<RemoteService::ExpectedRelease>>> expected_;
};

}  // namespace

RemoteTables::RemoteTables(std::string path, RemoteService& locks, milliseconds patience,
                           ReleasedCallback released)
    : connections_(std::move(path)),
      locks_(locks),
      patience_(patience),
      released_(std::move(released)) {}

template <typename Request>
Result<TableReplyTo<Request>> RemoteTables::call(Request request) {
    if (fork_check_.in_child()) {
        return Error(ErrorCode::store_in_use,
                     "this connection belongs to the parent process: connect again after a fork");
    }
    TableFrame frame{std::move(request), {}};
    if (auto added = add_secrets(frame); !added) return std::move(added).error();
    // The destructor of a guard does not wait for its release, which uses another connection.
    locks_.flush_endings();
    const ExpectedReleases expected(locks_, frame.request);
    const auto answer = send(frame.request, write_table_frame(frame));
    if (!answer) return Error(answer.error());
    if (answer->status != 200) return error_in(*answer);
    auto reply = read_table_reply(frame.request, answer->body);
    if (!reply) return std::move(reply).error();
    // An earlier transmission has executed the transaction, and its answer was lost. That answer
    // contained the released grants, so they are taken from `expected`.
    const auto* saved = std::get_if<TransactWriteAnswer>(&reply->reply);
    if (saved != nullptr && saved->replayed) reply->released = expected.released();
    for (const ReleasedGrant& grant : reply->released) {
        locks_.forget_grant(grant.session, grant.grant);
        released_(grant.session, grant.grant);
    }
    return std::get<TableReplyTo<Request>>(std::move(reply->reply));
}

Result<void> RemoteTables::add_secrets(TableFrame& frame) {
    for (const LockProof* proof : proofs_in(frame.request)) {
        const bool added =
            std::any_of(frame.sessions.begin(), frame.sessions.end(),
                        [&](const auto& known) { return known.session == proof->session; });
        if (added) continue;
        const auto secret = locks_.secret_of(proof->session);
        if (!secret) {
            return Error(ErrorCode::not_owner,
                         "the proof names a session that this database has neither opened nor "
                         "resumed");
        }
        frame.sessions.push_back({proof->session, *secret});
    }
    return {};
}

Result<HttpConnection::Answer> RemoteTables::send(const TableRequest& request,
                                                  const std::string& body) {
    const auto target = std::string(table_frame_target).append(operation_name(request));
    const auto until = Steady::now() + patience_;
    CallLimits limits;
    limits.connect_by = until;
    if (!is_long(request)) limits.deadline = until;
    limits.stop = closing_.get_token();
    auto pause = min_retry_pause;
    while (true) {
        if (closing_.stop_requested()) {
            return Error(ErrorCode::closing, "the connection was closed");
        }
        auto answer = connections_.post({target, table_frame_type, body}, limits);
        auto overload = answer ? overload_error(*answer) : std::nullopt;
        if (answer && !overload) return answer;
        Error error = overload ? *std::move(overload) : std::move(answer).error();
        // The connection was broken because of close().
        if (error.code == ErrorCode::cancelled) {
            return Error(may_repeat(request) ? ErrorCode::closing : ErrorCode::indeterminate,
                         "the connection was closed before the daemon's answer");
        }
        const bool again = error.code == ErrorCode::unreachable ||
                           (error.code == ErrorCode::indeterminate && may_repeat(request));
        if (!again || Steady::now() + pause >= until) return error;
        if (error.code == ErrorCode::unreachable) locks_.need_daemon(until);
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, max_retry_pause);
    }
}

Result<TableDescription> RemoteTables::create_table(const CreateTable& request) {
    return call(request);
}

Result<TableDescription> RemoteTables::describe_table(const std::string& table) {
    return call(DescribeTable{table});
}

Result<TableDescription> RemoteTables::update_table(const UpdateTable& request) {
    return call(request);
}

Result<TableDescription> RemoteTables::delete_table(const std::string& table) {
    return call(DeleteTable{table});
}

Result<TableNames> RemoteTables::list_tables(const ListTables& request) { return call(request); }

Result<UpdateTimeToLive> RemoteTables::update_time_to_live(const UpdateTimeToLive& request) {
    return call(request);
}

Result<TimeToLive> RemoteTables::describe_time_to_live(const std::string& table) {
    return call(DescribeTimeToLive{table});
}

Result<SweepReport> RemoteTables::sweep_expired(const SweepExpired& /*step*/) {
    return Error(ErrorCode::invalid_argument,
                 "the daemon deletes the expired items of its tables; no call is needed");
}

Result<void> RemoteTables::tag_resource(const TagResource& request) {
    const auto done = call(request);
    if (!done) return Error(done.error());
    return {};
}

Result<void> RemoteTables::untag_resource(const UntagResource& request) {
    const auto done = call(request);
    if (!done) return Error(done.error());
    return {};
}

Result<TagPage> RemoteTables::list_tags_of_resource(const ListTagsOfResource& request) {
    return call(request);
}

Result<TableBinding> RemoteTables::bind_table(const TableBinding& request) {
    return locks_.bind_table(request);
}

Result<TableBinding> RemoteTables::unbind_table(const std::string& table) {
    return locks_.unbind_table(table);
}

Result<std::vector<TableBinding>> RemoteTables::list_bindings() { return locks_.bindings(); }

namespace {

// The daemon selects the drafts by the user of the session, so a client cannot set `only_of`.
Error selects_user() {
    return {ErrorCode::invalid_argument,
            "only_of selects drafts in the process that has the store open; a daemon selects them "
            "by the user that opened the session: leave only_of empty"};
}

}  // namespace

Result<DraftPage> RemoteTables::list_drafts(const DraftsRequest& request) {
    if (request.only_of) return selects_user();
    return locks_.list_drafts(request);
}

Result<Draft> RemoteTables::take_draft(const std::string& principal, DraftId draft,
                                       std::optional<UserId> only_of) {
    if (only_of) return selects_user();
    return locks_.take_draft(principal, draft);
}

Result<void> RemoteTables::discard_draft(const std::string& principal, DraftId draft,
                                         std::optional<UserId> only_of) {
    if (only_of) return selects_user();
    return locks_.discard_draft(principal, draft);
}

Result<WriteAnswer> RemoteTables::write_item(const WriteItem& request) {
    return call(TypedWrite{request});
}

Result<GetAnswer> RemoteTables::get_item(const GetItem& request) { return call(request); }

Result<Page> RemoteTables::query(const Query& request) { return call(request); }

Result<Page> RemoteTables::scan(const Scan& request) { return call(request); }

Result<BatchWriteAnswer> RemoteTables::batch_write(const BatchWrite& request) {
    return call(request);
}

Result<BatchGetAnswer> RemoteTables::batch_get(const BatchGet& request) { return call(request); }

Result<TransactWriteAnswer> RemoteTables::transact_write(const TransactWrite& request) {
    return call(request);
}

Result<TransactGetAnswer> RemoteTables::transact_get(const TransactGet& request) {
    return call(request);
}

Result<void> RemoteTables::close() {
    closing_.request_stop();
    connections_.close();
    return {};
}

}  // namespace rocklock
