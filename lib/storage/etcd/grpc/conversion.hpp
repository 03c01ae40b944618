// Conversions between the structs of client.hpp and etcd's messages.
#pragma once

#include <etcd.pb.h>

#include "storage/etcd/client/client.hpp"

namespace rocklock::etcd {

etcdserverpb::RangeRequest to_message(const Range& range);
etcdserverpb::TxnRequest to_message(const Txn& txn);

Header from_message(const etcdserverpb::ResponseHeader& message);
// These move the keys and values out of the message.
RangeResponse from_message(etcdserverpb::RangeResponse&& message);
TxnResponse from_message(etcdserverpb::TxnResponse&& message);
WatchResponse from_message(etcdserverpb::WatchResponse&& message);
Status from_message(const etcdserverpb::StatusResponse& message);

}  // namespace rocklock::etcd
