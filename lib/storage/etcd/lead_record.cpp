#include "storage/etcd/lead_record.hpp"

#include "base/time_format.hpp"
#include "storage/etcd/record_json.hpp"

namespace rocklock::etcd {

std::string encode(const LeadRecord& record) {
    boost::json::object object;
    object["node"] = record.node;
    object["address"] = record.address;
    object["pid"] = record.pid;
    object["ready"] = record.ready;
    object["since_ms"] = record.since.time_since_epoch().count();
    return boost::json::serialize(object);
}

LeadRecord decode_lead(std::string_view value) {
    const RecordJson json(value);
    return {json.text("node"), json.text("address"), json.number("pid"), json.boolean("ready"),
            json.time("since_ms")};
}

Error other_manager(ErrorCode code, const LeadRecord& record) {
    const auto name = record.node.empty() ? "another node" : "the node " + record.node;
    Error error(code, code == ErrorCode::store_in_use
                          ? name + " is the manager of this store"
                          : "this process is not the manager of the store any more: " + name +
                                " has taken over");
    if (!record.node.empty()) {
        if (record.since != WallTime()) error.message += ", since " + format_time(record.since);
        error.message += " (pid " + std::to_string(record.pid) + ")";
        error.manager = ManagerNode{record.node, record.address};
    }
    return error;
}

}  // namespace rocklock::etcd
