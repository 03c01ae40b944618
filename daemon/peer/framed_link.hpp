// One side of an established link: sends and receives its frames.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/net/io_thread.hpp"
#include "daemon/peer/link_frames.hpp"
#include "daemon/peer/tls.hpp"

namespace rocklock {

// The frames that are appended in one round of the thread are sent together at its end.
//
// Threads:  runs on its IoThread, which owns it until it is closed.
// Lifetime: borrows the thread, and owns the receiver.
class FramedLink final : public IoThread::Served, public std::enable_shared_from_this<FramedLink> {
public:
    class Receiver {
    public:
        Receiver() = default;
        Receiver(const Receiver&) = delete;
        Receiver& operator=(const Receiver&) = delete;
        virtual ~Receiver() = default;

        // Returns false if the frame is not valid at this time. The link is then lost.
        virtual bool receive(const DecodedFrame& frame) = 0;
        // The link has ended. `reason` is empty if the other side has closed it in order. Called
        // once, and not after close().
        virtual void lost(const std::string& reason) = 0;
    };

    // Takes ownership of the socket.
    FramedLink(int socket, std::unique_ptr<TlsChannel> channel, IoThread& thread);
    FramedLink(const FramedLink&) = delete;
    FramedLink& operator=(const FramedLink&) = delete;
    ~FramedLink() override;

    // Begins to receive frames. Must be called on the thread.
    void start(std::unique_ptr<Receiver> receiver);
    void send(LinkFrame type, ChannelNumber channel, std::string_view payload = {});
    // Sends the frames that were appended before, as far as the socket accepts them, and closes the
    // link.
    void close();
    // As close(), but then calls the receiver's lost() with the reason.
    void disconnect(const std::string& reason);
    bool is_open() const { return open_; }
    // Returns true if the kernel has received bytes that were not read yet. Thread-safe.
    bool has_unread() const;
    IoThread& thread() const { return thread_; }

    void ready(std::uint32_t events) override;
    void continue_input() override;
    void send() override;
    void remind() override {}

private:
    bool finish();
    void read();
    bool take_frames();
    void lose(const std::string& reason);
    void update_interest();
    void forget();

    const int socket_;
    const std::unique_ptr<TlsChannel> channel_;
    IoThread& thread_;
    std::unique_ptr<Receiver> receiver_;
    bool open_ = false;
    std::uint32_t interest_ = 0;
    // Received bytes of which no complete frame was taken yet.
    std::string received_;
    std::string output_;
    std::size_t sent_ = 0;
    bool send_pending_ = false;
    bool continues_ = false;
    bool blocked_ = false;
};

}  // namespace rocklock
