// A client of Rocklock that sends frames.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/client.hpp"
#include "wire/call_frame.hpp"

namespace rocklock::bench {

// Has one session, which the constructor opens.
class RocklockClient final : public LockClient {
public:
    explicit RocklockClient(int fd);

    void ask(const std::string& resource, bool waits) override;
    // Releases the lock that the last reply granted.
    void give_back(const std::string& resource) override;
    void release(GrantId grant);
    // Returns the grant in the last reply, which must be the reply to ask().
    GrantId grant() const;

private:
    void call(const Call& call);
    bool take_answer() override;

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
