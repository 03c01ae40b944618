#include "daemon/relay/relay_link.hpp"

#include <utility>

#include "service/process_id.hpp"

namespace rocklock {
namespace {

ProcessReport report_on(const ProcessQuery& query) {
    ProcessReport report;
    report.number = query.number;
    report.process = find_process(query.pid).value_or(ProcessId{});
    report.of_another_user = query.uid != 0 && owner_of(query.pid) != query.uid;
    return report;
}

}  // namespace

void RelayLink::add(int socket, const ClientIdentity& identity) {
    const ChannelNumber number = ++last_number_;
    const auto client =
        std::make_shared<RelayedClient>(socket, number, link_.shared_from_this(), [this, number] {
            if (clients_.erase(number) > 0) uses_.closed();
        });
    clients_.emplace(number, client);
    client->start(identity);
}

bool RelayLink::receive(const DecodedFrame& frame) {
    if (frame.type == LinkFrame::watch || frame.type == LinkFrame::unwatch) {
        const auto process = decode_process(frame.payload);
        if (!process) return false;
        (frame.type == LinkFrame::watch ? uses_.watch : uses_.unwatch)(*process);
        return true;
    }
    if (frame.type == LinkFrame::find) {
        const auto query = decode_query(frame.payload);
        if (query) link_.send(LinkFrame::found, 0, encode(report_on(*query)));
        return query.has_value();
    }
    // The manager may have sent the frame before it knew that the client had disconnected.
    const auto client = clients_.find(frame.channel);
    if (client == clients_.end()) return frame.channel <= last_number_;
    return std::shared_ptr(client->second)->receive(frame);
}

void RelayLink::lost(const std::string& reason) {
    const auto clients = clients_;
    for (const auto& [number, client] : clients) client->lose_link();
    uses_.lost(reason);
}

}  // namespace rocklock
