// Limits the number of connections that are accepted but not yet served by a thread.
//
// Without a limit, a client that connects and disconnects in a tight loop fills the queues of the
// serving threads and delays established connections. While the gate is full, no connection is
// accepted. Such a client therefore waits in the kernel's queue of the listening socket.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

namespace rocklock {

// Threads: thread-safe.
class ArrivalGate {
public:
    // `has_room` is called, on any thread, when the gate is no longer full.
    ArrivalGate(int max, std::function<void()> has_room)
        : max_(max), has_room_(std::move(has_room)) {}

    bool full() const { return arrivals_ >= max_; }
    void enter() { ++arrivals_; }
    void leave() {
        if (arrivals_-- == max_) has_room_();
    }

private:
    const int max_;
    const std::function<void()> has_room_;
    std::atomic<int> arrivals_{0};
};

}  // namespace rocklock
