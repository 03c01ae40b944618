// A FIFO queue that reuses its memory. Use it for large elements that are pushed and popped often,
// because a std::deque allocates a block for each element of more than a few hundred bytes.
#pragma once

#include <cstddef>
#include <utility>

#include <boost/circular_buffer.hpp>

namespace rocklock {

template <typename T>
class Fifo {
public:
    bool empty() const { return ring_.empty(); }
    std::size_t size() const { return ring_.size(); }
    T& front() { return ring_.front(); }
    // `index` counts from the front.
    const T& operator[](std::size_t index) const { return ring_[index]; }

    void push_back(T&& element) {
        if (ring_.full()) ring_.set_capacity(ring_.empty() ? min_capacity : 2 * ring_.size());
        ring_.push_back(std::move(element));
    }
    void pop_front() {
        ring_.pop_front();
        // Frees the memory of a queue that was long before.
        if (ring_.empty() && ring_.capacity() > max_idle_capacity) ring_.set_capacity(0);
    }

private:
    static constexpr std::size_t min_capacity = 16;
    static constexpr std::size_t max_idle_capacity = 1024;
    boost::circular_buffer<T> ring_;
};

}  // namespace rocklock
