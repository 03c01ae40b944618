// Bounds the connections that are accepted and that no thread serves yet.
//
// Without a bound, a client that connects and disconnects as fast as it can fills the queues of the
// serving threads, and established connections wait behind it. While the gate is full, nothing is
// accepted, so that such a client waits in the kernel's queue of the listening socket.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

namespace rocklock {

// Threads: thread-safe.
class ArrivalGate {
public:
    // `has_room` is called, on any thread, when the gate is not full any more.
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
