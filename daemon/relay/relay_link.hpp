// The relay's side of a link: passes the bytes of local clients to the manager, and back.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include <rocklock/identity.hpp>

#include "daemon/peer/framed_link.hpp"
#include "daemon/peer/link_frames.hpp"
#include "daemon/relay/relayed_client.hpp"

namespace rocklock {

// Threads:  runs on the IoThread of its FramedLink, which owns it.
// Lifetime: borrows the link.
class RelayLink final : public FramedLink::Receiver {
public:
    // Each function is called on the thread of the link.
    struct Uses {
        // The manager asks to watch a process of this host, or not to watch it any more.
        std::function<void(const ProcessId&)> watch;
        std::function<void(const ProcessId&)> unwatch;
        // A client has disconnected.
        std::function<void()> closed;
        // The link has ended. `reason` is empty if the manager has closed it in order.
        std::function<void(const std::string& reason)> lost;
    };

    RelayLink(FramedLink& link, Uses uses) : link_(link), uses_(std::move(uses)) {}

    // Takes ownership of the socket of a client.
    void add(int socket, const ClientIdentity& identity);

    bool receive(const DecodedFrame& frame) override;
    void lost(const std::string& reason) override;

private:
    FramedLink& link_;
    const Uses uses_;
    std::unordered_map<ChannelNumber, std::shared_ptr<RelayedClient>> clients_;
    ChannelNumber last_number_ = 0;
};

}  // namespace rocklock
