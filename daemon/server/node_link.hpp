// The manager's side of a link: serves the clients of one relay.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include <rocklock/identity.hpp>

#include "daemon/net/client_channel.hpp"
#include "daemon/peer/framed_link.hpp"
#include "daemon/peer/link_frames.hpp"

namespace rocklock {

class RelayedChannel;

// Threads:  runs on the IoThread of its FramedLink, which owns it.
// Lifetime: borrows the link.
class NodeLink final : public FramedLink::Receiver {
public:
    // Each function is called on the thread of the link.
    struct Uses {
        // A client has connected to the relay. The function must later, on this thread, either
        // serve the channel or call refuse_channel().
        std::function<void(const std::shared_ptr<RelayedChannel>&, const ClientIdentity&)> opened;
        // A process that the relay watches has ended.
        std::function<void(const ProcessId&)> ended;
        // The relay has answered a ProcessQuery.
        std::function<void(const ProcessReport&)> found;
        // The link has ended. `reason` is empty if the relay has closed it in order.
        std::function<void(const std::string& reason)> lost;
    };

    NodeLink(FramedLink& link, Uses uses) : link_(link), uses_(std::move(uses)) {}
    ~NodeLink() override;

    bool receive(const DecodedFrame& frame) override;
    void lost(const std::string& reason) override;

private:
    friend class RelayedChannel;

    bool open(const DecodedFrame& frame);
    void forget(ChannelNumber number) { channels_.erase(number); }

    FramedLink& link_;
    const Uses uses_;
    // The channels that the client has not closed.
    std::unordered_map<ChannelNumber, std::shared_ptr<RelayedChannel>> channels_;
    ChannelNumber last_opened_ = 0;
};

// The connection of one client of a relay.
//
// An IoThread reports the events of a socket in each round until they are handled. The channel does
// the same with continue_input().
class RelayedChannel final : public ClientChannel,
                             public IoThread::Served,
                             public std::enable_shared_from_this<RelayedChannel> {
public:
    RelayedChannel(NodeLink& link, ChannelNumber number);

    // Sends the client the reason why it is refused. No other function may be called after that.
    void refuse(const std::string& reason);

    ssize_t receive(std::span<char> buffer) override;
    ssize_t send(std::string_view bytes) override;
    bool has_unread() const override { return input_at_ < input_.size(); }
    void watch(const std::shared_ptr<IoThread::Served>& served, std::uint32_t events) override;
    void change(std::uint32_t events) override;
    void forget() override;
    void end_output() override;
    bool failed() const override { return client_closed_ && read_ < sent_; }
    bool lost() const override { return link_lost_ && !client_closed_; }
    std::uint64_t read_of(std::uint64_t sent) const override;

    void ready(std::uint32_t /*events*/) override {}
    void continue_input() override;
    void send() override {}
    void remind() override {}

private:
    friend class NodeLink;

    // Handles a frame for this channel. Returns false if the frame is invalid.
    bool receive(const DecodedFrame& frame);
    void lose_link();
    std::uint32_t events() const;
    void report();
    void report_soon();
    void consumed(std::size_t bytes);

    // Null after the link was lost, or after the channel was closed by both sides.
    NodeLink* link_;
    IoThread& thread_;
    const ChannelNumber number_;
    // The Connection of this channel, which the channel owns until forget(). An IoThread owns the
    // connections of sockets in the same way.
    std::shared_ptr<IoThread::Served> served_;
    std::uint32_t interest_ = 0;
    // Whether the events are reported in the next round.
    bool reporting_ = false;

    std::string input_;
    std::size_t input_at_ = 0;
    // Whether the client has closed its sending side.
    bool input_ended_ = false;
    // The number of processed bytes for which no credit was sent to the relay yet.
    std::uint64_t consumed_ = 0;
    // The number of bytes that the relay may still send.
    std::uint64_t incoming_credit_ = first_credit;

    // The number of bytes that may be sent, and that were sent.
    std::uint64_t credit_ = first_credit;
    std::uint64_t sent_ = 0;
    bool output_ended_ = false;
    // Whether the client has closed its connection, and the number of bytes that it had read.
    bool client_closed_ = false;
    std::uint64_t read_ = 0;
    bool link_lost_ = false;
};

}  // namespace rocklock
