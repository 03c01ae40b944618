#include "daemon/relay/relay_link.hpp"

#include <utility>

namespace rocklock {

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
