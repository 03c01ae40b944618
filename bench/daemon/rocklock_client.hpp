// A client of Rocklock that sends frames.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "daemon/client.hpp"
#include "shared_memory/shared_connection.hpp"
#include "wire/call_frame.hpp"

namespace rocklock::bench {

// Has one session, which the constructor opens.
//
// If `shares` is true, the client asks for shared memory. This client cannot distinguish an idle
// daemon from one that has ended.
class RocklockClient final : public LockClient {
public:
    RocklockClient(int fd, bool shares);

    int event() const override { return memory_ ? memory_->event() : fd(); }

    void ask(const std::string& resource, bool waits) override;
    // Releases the lock that the last reply granted.
    void give_back(const std::string& resource) override;
    void release(GrantId grant);
    // Returns the grant in the last reply, which must be the reply to ask().
    GrantId grant() const;

private:
    void call(const Call& call);
    void share();
    ssize_t send_some(std::string_view bytes) override;
    ssize_t receive_some(std::span<char> buffer, bool waits) override;
    bool take_answer() override;

    // Null if the client uses only the socket.
    std::shared_ptr<SharedClientEnd> memory_;

    bool greeted_ = true;
    std::uint64_t number_ = 0;
    // The calls that are sent repeatedly. Only the resource, the wait timeout and the grant change.
    Call acquire_;
    Call release_;
    // The call that was sent last.
    const Call* call_ = nullptr;
    Reply reply_;
    std::string bytes_;
};

}  // namespace rocklock::bench
