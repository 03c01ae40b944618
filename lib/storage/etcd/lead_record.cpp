#include "storage/etcd/lead_record.hpp"

#include <boost/json.hpp>

#include "base/time_format.hpp"

namespace rocklock::etcd {
namespace {

std::string text_in(const boost::json::object& object, std::string_view name) {
    const auto* const value = object.if_contains(name);
    const auto* const text = value != nullptr ? value->if_string() : nullptr;
    return text != nullptr ? std::string(text->begin(), text->end()) : std::string();
}

}  // namespace

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
    LeadRecord record;
    boost::system::error_code failed;
    const auto parsed = boost::json::parse(value, failed);
    const auto* const object = failed ? nullptr : parsed.if_object();
    if (object == nullptr) return record;
    record.node = text_in(*object, "node");
    record.address = text_in(*object, "address");
    const auto* const pid = object->if_contains("pid");
    if (pid != nullptr && pid->is_int64()) record.pid = pid->get_int64();
    const auto* const ready = object->if_contains("ready");
    record.ready = ready != nullptr && ready->is_bool() && ready->get_bool();
    const auto* const since = object->if_contains("since_ms");
    if (since != nullptr && since->is_int64()) {
        record.since = WallTime(std::chrono::milliseconds(since->get_int64()));
    }
    return record;
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
