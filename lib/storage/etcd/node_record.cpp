#include "storage/etcd/node_record.hpp"

#include "storage/etcd/record_json.hpp"

namespace rocklock::etcd {

std::string encode(const NodeRecord& record) {
    boost::json::object object;
    object["node"] = record.node;
    object["address"] = record.address;
    object["pid"] = record.pid;
    object["version"] = record.version;
    object["standby"] = record.standby;
    object["since_ms"] = record.since.time_since_epoch().count();
    return boost::json::serialize(object);
}

NodeRecord decode_node(std::string_view value) {
    const RecordJson json(value);
    return {json.text("node"),    json.text("address"),    json.number("pid"),
            json.text("version"), json.boolean("standby"), json.time("since_ms")};
}

}  // namespace rocklock::etcd
