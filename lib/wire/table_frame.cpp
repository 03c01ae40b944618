#include "wire/table_frame.hpp"

#include <algorithm>
#include <array>

#include "base/bytes.hpp"
#include "wire/call_frame.hpp"
#include "wire/frame_reader.hpp"
#include "wire/frame_writer.hpp"
#include "wire/table_members.hpp"

namespace rocklock {
namespace {

// The first byte of each request and of each answer.
constexpr char version = 1;

// The members of a request, and the secrets of its sessions in the same object.
template <typename Codec, typename Frame, typename Request>
void describe_frame(Codec& codec, Frame& frame, Request& request) {
    describe(codec, request);
    codec.optional("Sessions", frame.sessions);
}

struct NamedRequest {
    std::string_view name;
    TableRequest (*empty)();
};

template <typename Request>
TableRequest empty_request() {
    return Request{};
}
template <WriteItem::Kind kind>
TableRequest empty_write() {
    TypedWrite typed;
    typed.write.kind = kind;
    return typed;
}

constexpr auto named_requests = std::to_array<NamedRequest>({
    {"CreateTable", empty_request<CreateTable>},
    {"DescribeTable", empty_request<DescribeTable>},
    {"UpdateTable", empty_request<UpdateTable>},
    {"DeleteTable", empty_request<DeleteTable>},
    {"ListTables", empty_request<ListTables>},
    {"UpdateTimeToLive", empty_request<UpdateTimeToLive>},
    {"DescribeTimeToLive", empty_request<DescribeTimeToLive>},
    {"TagResource", empty_request<TagResource>},
    {"UntagResource", empty_request<UntagResource>},
    {"ListTagsOfResource", empty_request<ListTagsOfResource>},
    {"PutItem", empty_write<WriteItem::Kind::put>},
    {"UpdateItem", empty_write<WriteItem::Kind::update>},
    {"DeleteItem", empty_write<WriteItem::Kind::remove>},
    {"ConditionCheck", empty_write<WriteItem::Kind::check>},
    {"GetItem", empty_request<GetItem>},
    {"Query", empty_request<Query>},
    {"Scan", empty_request<Scan>},
    {"BatchWriteItem", empty_request<BatchWrite>},
    {"BatchGetItem", empty_request<BatchGet>},
    {"TransactWriteItems", empty_request<TransactWrite>},
    {"TransactGetItems", empty_request<TransactGet>},
});

// Returns true if both are requests of the same operation.
bool is_same_operation(const TableRequest& left, const TableRequest& right) {
    if (left.index() != right.index()) return false;
    const auto* write = std::get_if<TypedWrite>(&left);
    return write == nullptr || write->write.kind == std::get<TypedWrite>(right).write.kind;
}

void add_proof(std::optional<LockProof>& proof, std::vector<LockProof*>& proofs) {
    if (proof) proofs.push_back(&*proof);
}

void add_proofs(std::vector<WriteItem>& writes, std::vector<LockProof*>& proofs) {
    for (WriteItem& write : writes) add_proof(write.proof, proofs);
}

}  // namespace

std::vector<LockProof*> proofs_in(TableRequest& request) {
    std::vector<LockProof*> proofs;
    std::visit(
        [&](auto& asked) {
            if constexpr (requires { asked.write.proof; }) add_proof(asked.write.proof, proofs);
            if constexpr (requires { asked.proof; }) add_proof(asked.proof, proofs);
            if constexpr (requires { asked.options.proof; }) add_proof(asked.options.proof, proofs);
            if constexpr (requires { asked.writes; }) add_proofs(asked.writes, proofs);
            if constexpr (requires { asked.actions; }) add_proofs(asked.actions, proofs);
        },
        request);
    return proofs;
}

std::vector<std::string*> principals_in(TableRequest& request) {
    std::vector<std::string*> principals;
    const auto add = [&](WriteItem& write) { principals.push_back(&write.by); };
    std::visit(
        [&](auto& asked) {
            if constexpr (requires { asked.write.by; }) add(asked.write);
            if constexpr (requires { asked.writes; }) {
                for (WriteItem& write : asked.writes) add(write);
            }
            if constexpr (requires { asked.actions; }) {
                for (WriteItem& write : asked.actions) add(write);
            }
        },
        request);
    return principals;
}

std::string_view operation_name(const TableRequest& request) {
    const auto found =
        std::find_if(named_requests.begin(), named_requests.end(),
                     [&](const auto& named) { return is_same_operation(named.empty(), request); });
    return found == named_requests.end() ? std::string_view() : found->name;
}

std::optional<TableRequest> table_request_named(std::string_view operation) {
    const auto found = std::find_if(named_requests.begin(), named_requests.end(),
                                    [&](const auto& named) { return named.name == operation; });
    if (found == named_requests.end()) return std::nullopt;
    return found->empty();
}

std::string write_table_frame(const TableFrame& frame) {
    std::string body(1, version);
    FrameWriter writer(body);
    std::visit([&](const auto& request) { describe_frame(writer, frame, request); }, frame.request);
    writer.finish();
    return body;
}

Result<TableFrame> read_table_frame(TableRequest empty, std::string_view body) {
    if (!is_table_frame(body)) {
        return Error(ErrorCode::invalid_argument,
                     "this daemon reads version 1 of the requests for tables: use a client of the "
                     "daemon's version");
    }
    TableFrame frame{std::move(empty), {}};
    FirstProblem problem;
    FrameReader members(body.substr(1), true, problem);
    std::visit([&](auto& request) { describe_frame(members, frame, request); }, frame.request);
    members.finish();
    if (problem.found()) return Error(ErrorCode::invalid_argument, problem.message());
    return frame;
}

std::string write_table_reply(const TableFrameReply& reply) {
    std::string body(1, version);
    FrameWriter writer(body);
    std::visit([&](const auto& answer) { describe(writer, answer); }, reply.reply);
    writer.optional("Released", reply.released);
    writer.finish();
    return body;
}

Result<TableFrameReply> read_table_reply(const TableRequest& request, std::string_view body) {
    TableFrameReply read;
    FirstProblem problem;
    if (!is_table_frame(body)) problem.report("it has another encoding");
    FrameReader members(body.substr(std::min<std::size_t>(body.size(), 1)), false, problem);
    std::visit(
        [&](const auto& asked) {
            TableReplyTo<std::decay_t<decltype(asked)>> answer{};
            describe(members, answer);
            read.reply = std::move(answer);
        },
        request);
    members.optional("Released", read.released);
    if (problem.found()) {
        return Error(ErrorCode::io_error, "the daemon's answer is invalid: " + problem.message());
    }
    return read;
}

std::string write_table_refusal(const Error& error) {
    std::string body(1, version);
    FrameWriter writer(body);
    writer.required("Code", std::string(to_string(error.code)));
    writer.required("Message", error.message);
    describe_facts(writer, error);
    describe_item_facts(writer, error);
    writer.finish();
    return body;
}

Error read_table_refusal(std::string_view body) {
    FirstProblem problem;
    if (!is_table_frame(body)) problem.report("it has another encoding");
    const auto members_of_error = body.substr(std::min<std::size_t>(body.size(), 1));
    // Reads the members that errors of the lock API have too, and then the members about items.
    Error error = read_refusal_frame(members_of_error);
    FrameReader members(members_of_error, false, problem);
    describe_item_facts(members, error);
    if (!problem.found()) return error;
    return {ErrorCode::io_error, "the daemon's error response is invalid: " + problem.message()};
}

bool is_table_frame(std::string_view body) { return body.starts_with(version); }

}  // namespace rocklock
