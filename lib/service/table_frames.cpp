#include "service/table_frames.hpp"

#include <unistd.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "database/saved_releases.hpp"
#include "service/lock_headers.hpp"
#include "service/principal_rule.hpp"
#include "wire/table_call.hpp"
#include "wire/table_frame.hpp"

namespace rocklock {
namespace {

constexpr int min_internal_status = 500;

Result<NoAnswer> no_answer(Result<void> done) {
    if (!done) return std::move(done).error();
    return NoAnswer{};
}

// One function for each request calls the function of the tables.
struct Execute {
    TableService& tables;

    auto operator()(const CreateTable& request) const { return tables.create_table(request); }
    auto operator()(const DescribeTable& request) const {
        return tables.describe_table(request.table);
    }
    auto operator()(const UpdateTable& request) const { return tables.update_table(request); }
    auto operator()(const DeleteTable& request) const { return tables.delete_table(request.table); }
    auto operator()(const ListTables& request) const { return tables.list_tables(request); }
    auto operator()(const UpdateTimeToLive& request) const {
        return tables.update_time_to_live(request);
    }
    auto operator()(const DescribeTimeToLive& request) const {
        return tables.describe_time_to_live(request.table);
    }
    auto operator()(const TagResource& request) const {
        return no_answer(tables.tag_resource(request));
    }
    auto operator()(const UntagResource& request) const {
        return no_answer(tables.untag_resource(request));
    }
    auto operator()(const ListTagsOfResource& request) const {
        return tables.list_tags_of_resource(request);
    }
    auto operator()(const TypedWrite& request) const { return tables.write_item(request.write); }
    auto operator()(const GetItem& request) const { return tables.get_item(request); }
    auto operator()(const Query& request) const { return tables.query(request); }
    auto operator()(const Scan& request) const { return tables.scan(request); }
    auto operator()(const BatchWrite& request) const { return tables.batch_write(request); }
    auto operator()(const BatchGet& request) const { return tables.batch_get(request); }
    auto operator()(const TransactWrite& request) const { return tables.transact_write(request); }
    auto operator()(const TransactGet& request) const { return tables.transact_get(request); }
};

Result<TableReply> execute(TableService& tables, const TableRequest& request) {
    return std::visit(
        [&](const auto& asked) -> Result<TableReply> {
            auto answer = Execute{tables}(asked);
            if (!answer) return std::move(answer).error();
            return TableReply(*std::move(answer));
        },
        request);
}

// Checks the secrets of the sessions in the proofs. Sets LockProof::user and LockProof::owner of
// each proof.
Result<void> check_proofs(TableFrame& frame, UserId user, LockService* locks) {
    std::map<SessionId, std::optional<UserId>> owners;
    const auto proofs = proofs_in(frame.request);
    if (frame.sessions.size() > proofs.size()) {
        return Error(ErrorCode::invalid_argument,
                     "the request has more secrets of sessions than proofs");
    }
    for (const SessionSecret& sender : frame.sessions) {
        auto owner = check_sender(locks, sender.session, sender.secret);
        if (!owner) return std::move(owner).error();
        owners[sender.session] = *owner;
    }
    for (LockProof* proof : proofs) {
        const auto owner = owners.find(proof->session);
        if (owner == owners.end()) {
            return Error(ErrorCode::invalid_argument,
                         "a proof names a session whose secret is not in the request");
        }
        note_token(locks, proof->session, proof->token);
        proof->user = user;
        proof->owner = owner->second;
    }
    return {};
}

// Replaces the principals that writes name (WriteItem::by) as the rule requires.
Result<void> apply_rule(TableRequest& request, UserId user, PrincipalRule* rule) {
    const bool exempt = user == 0 || user == ::geteuid();
    if (rule == nullptr || exempt) return {};
    for (std::string* principal : principals_in(request)) {
        if (principal->empty()) continue;
        auto allowed = rule->principal_for(user, *principal);
        if (!allowed) return std::move(allowed).error();
        *principal = *std::move(allowed);
    }
    return {};
}

Result<TableFrameReply> answer_of(const ServiceRequest& request, TableService& tables,
                                  LockService* locks, PrincipalRule* rule) {
    const std::string_view target(request.operation);
    const auto name = target.substr(table_frame_target.size());
    auto empty = table_request_named(name);
    if (!empty) {
        return Error(ErrorCode::invalid_argument,
                     "the C++ client has no operation " + std::string(name));
    }
    auto frame = read_table_frame(*std::move(empty), request.body);
    if (!frame) return std::move(frame).error();
    if (auto proved = check_proofs(*frame, request.uid, locks); !proved) {
        return std::move(proved).error();
    }
    if (auto allowed = apply_rule(frame->request, request.uid, rule); !allowed) {
        return std::move(allowed).error();
    }
    if (auto* created = std::get_if<CreateTable>(&frame->request)) created->user = request.uid;
    const SavedReleases saved;
    auto reply = execute(tables, frame->request);
    if (!reply) return std::move(reply).error();
    TableFrameReply answer{*std::move(reply), {}};
    for (const auto& [session, grant] : saved.released()) {
        answer.released.push_back({session, grant});
    }
    return answer;
}

}  // namespace

bool is_table_frame_request(const ServiceRequest& request) {
    return std::string_view(request.operation).starts_with(table_frame_target);
}

ServiceAnswer answer_table_frame(const ServiceRequest& request, TableService& tables,
                                 LockService* locks, PrincipalRule* rule,
                                 const std::function<void(const Error&)>& failed) {
    const auto answer = answer_of(request, tables, locks, rule);
    if (answer) return {200, table_frame_type, {}, write_table_reply(*answer), std::nullopt};
    const Error& error = answer.error();
    const int status = table_error_status(error);
    if (status >= min_internal_status && failed) failed(error);
    return {status,           table_frame_type, {}, write_table_refusal(error), counted_code(error),
            error.drafts != 0};
}

}  // namespace rocklock
