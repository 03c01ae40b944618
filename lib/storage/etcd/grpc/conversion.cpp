#include "storage/etcd/grpc/conversion.hpp"

#include <utility>

namespace rocklock::etcd {

namespace {

void write(const Compare& compare, etcdserverpb::Compare& message) {
    message.set_result(etcdserverpb::Compare::EQUAL);
    message.set_key(compare.key);
    if (const auto* revision = std::get_if<Revision>(&compare.create_revision_or_value)) {
        message.set_target(etcdserverpb::Compare::CREATE);
        message.set_create_revision(*revision);
    } else {
        message.set_target(etcdserverpb::Compare::VALUE);
        message.set_value(std::get<std::string>(compare.create_revision_or_value));
    }
}

void write(const Put& put, etcdserverpb::RequestOp& message) {
    auto& request = *message.mutable_request_put();
    request.set_key(put.key);
    request.set_value(put.value);
    request.set_lease(put.lease);
}

void write(const DeleteRange& range, etcdserverpb::RequestOp& message) {
    auto& request = *message.mutable_request_delete_range();
    request.set_key(range.key);
    request.set_range_end(range.end);
}

void write(const Range& range, etcdserverpb::RequestOp& message) {
    *message.mutable_request_range() = to_message(range);
}

KeyValue from_message(etcdserverpb::KeyValue& message) {
    return {
        .key = std::move(*message.mutable_key()),
        .value = std::move(*message.mutable_value()),
        .create_revision = message.create_revision(),
        .mod_revision = message.mod_revision(),
        .lease = message.lease(),
    };
}

}  // namespace

etcdserverpb::RangeRequest to_message(const Range& range) {
    etcdserverpb::RangeRequest message;
    message.set_key(range.key);
    message.set_range_end(range.end);
    message.set_limit(range.limit);
    message.set_revision(range.revision);
    message.set_serializable(range.serializable);
    return message;
}

etcdserverpb::TxnRequest to_message(const Txn& txn) {
    etcdserverpb::TxnRequest message;
    for (const Compare& compare : txn.compares) write(compare, *message.add_compare());
    for (const Operation& operation : txn.success) {
        std::visit([&](const auto& each) { write(each, *message.add_success()); }, operation);
    }
    for (const Operation& operation : txn.failure) {
        std::visit([&](const auto& each) { write(each, *message.add_failure()); }, operation);
    }
    return message;
}

Header from_message(const etcdserverpb::ResponseHeader& message) {
    return {
        .cluster_id = message.cluster_id(),
        .member_id = message.member_id(),
        .revision = message.revision(),
    };
}

RangeResponse from_message(etcdserverpb::RangeResponse&& message) {
    RangeResponse response;
    response.header = from_message(message.header());
    response.more = message.more();
    response.kvs.reserve(static_cast<std::size_t>(message.kvs_size()));
    for (auto& kv : *message.mutable_kvs()) response.kvs.push_back(from_message(kv));
    return response;
}

TxnResponse from_message(etcdserverpb::TxnResponse&& message) {
    TxnResponse response;
    response.header = from_message(message.header());
    response.succeeded = message.succeeded();
    for (auto& operation : *message.mutable_responses()) {
        if (!operation.has_response_range()) continue;
        RangeResponse range = from_message(std::move(*operation.mutable_response_range()));
        // Within a transaction, etcd sets only the revision.
        range.header.cluster_id = response.header.cluster_id;
        range.header.member_id = response.header.member_id;
        response.ranges.push_back(std::move(range));
    }
    return response;
}

WatchResponse from_message(etcdserverpb::WatchResponse&& message) {
    WatchResponse response;
    response.header = from_message(message.header());
    response.events.reserve(static_cast<std::size_t>(message.events_size()));
    for (auto& event : *message.mutable_events()) {
        response.events.push_back({
            .deleted = event.type() == etcdserverpb::Event::DELETE,
            .kv = from_message(*event.mutable_kv()),
        });
    }
    return response;
}

Status from_message(const etcdserverpb::StatusResponse& message) {
    return {
        .header = from_message(message.header()),
        .version = message.version(),
        .leader_id = message.leader(),
        .raft_term = message.raftterm(),
        .db_bytes = message.dbsize(),
        .db_bytes_in_use = message.dbsizeinuse(),
    };
}

}  // namespace rocklock::etcd
