// The tables of a daemon, as seen by a connected program. Requests are sent over HTTP, in the
// format of wire/table_frame.hpp. Each concurrent request uses a connection of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <rocklock/identity.hpp>
#include <rocklock/items/table.hpp>

#include "base/fork.hpp"
#include "client/http_connection.hpp"
#include "client/remote_service.hpp"
#include "wire/table_frame.hpp"

namespace rocklock {

// Threads:  thread-safe.
// Lifetime: borrows the lock service, which has the secrets of the sessions in the proofs.
// Errors:   in addition to those of TableService: not_owner if the lock service does not have the
//           secret of the session in a proof; unreachable if a request was not sent; indeterminate
//           if it is unknown whether a write was executed; store_in_use in a child of the process.
//           If the connection is lost, reads and transactions with an idempotency token are
//           repeated until `patience` has passed.
class RemoteTables final : public TableService {
public:
    using ReleasedCallback = std::function<void(const SessionId& session, GrantId grant)>;

    // `released` is called for each grant that a save has released.
    RemoteTables(std::string path, RemoteService& locks, std::chrono::milliseconds patience,
                 ReleasedCallback released);

    Result<TableDescription> create_table(const CreateTable& request) override;
    Result<TableDescription> describe_table(const std::string& table) override;
    Result<TableDescription> update_table(const UpdateTable& request) override;
    Result<TableDescription> delete_table(const std::string& table) override;
    Result<TableNames> list_tables(const ListTables& request) override;

    Result<UpdateTimeToLive> update_time_to_live(const UpdateTimeToLive& request) override;
    Result<TimeToLive> describe_time_to_live(const std::string& table) override;
    // Fails with invalid_argument: the daemon sweeps its tables.
    Result<SweepReport> sweep_expired(const SweepExpired& step) override;
    Result<void> tag_resource(const TagResource& request) override;
    Result<void> untag_resource(const UntagResource& request) override;
    Result<TagPage> list_tags_of_resource(const ListTagsOfResource& request) override;
    ServiceLimits describe_limits() const override { return {}; }

    Result<TableBinding> bind_table(const TableBinding& request) override;
    Result<TableBinding> unbind_table(const std::string& table) override;
    Result<std::vector<TableBinding>> list_bindings() override;
    Result<DraftPage> list_drafts(const DraftsRequest& request) override;
    // The daemon determines which drafts the client may see. If `only_of` is set, these two
    // functions fail with invalid_argument.
    Result<Draft> take_draft(const std::string& principal, DraftId draft,
                             std::optional<UserId> only_of = {}) override;
    Result<void> discard_draft(const std::string& principal, DraftId draft,
                               std::optional<UserId> only_of = {}) override;

    Result<WriteAnswer> write_item(const WriteItem& request) override;
    Result<GetAnswer> get_item(const GetItem& request) override;
    Result<Page> query(const Query& request) override;
    Result<Page> scan(const Scan& request) override;
    Result<BatchWriteAnswer> batch_write(const BatchWrite& request) override;
    Result<BatchGetAnswer> batch_get(const BatchGet& request) override;
    Result<TransactWriteAnswer> transact_write(const TransactWrite& request) override;
    Result<TransactGetAnswer> transact_get(const TransactGet& request) override;

    // Ends the requests that are in progress, and refuses later requests.
    Result<void> close() override;

private:
    template <typename Request>
    Result<TableReplyTo<Request>> call(Request request);
    // Sends the request, and repeats it if a repetition is safe. Returns the answer, or the error
    // that it contains.
    Result<HttpConnection::Answer> send(const TableRequest& request, const std::string& body);
    // Adds the secrets of the sessions in the proofs. Errors: not_owner.
    Result<void> add_secrets(TableFrame& frame);

    HttpConnections connections_;
    RemoteService& locks_;
    const std::chrono::milliseconds patience_;
    const ReleasedCallback released_;
    const ForkCheck fork_check_{};
    std::stop_source closing_;
};

}  // namespace rocklock
