// Positions in the two byte streams of one connection. For a byte of the input, this class knows
// how many bytes of the output had been passed to the socket when that byte was read.
//
// A request confirms the responses that were completely sent before its first byte was read. This
// is an approximation. If requests are pipelined, the client may have sent the request before it
// received these responses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rocklock {

// Threads: one at a time.
class StreamPositions {
public:
    // Reports that `bytes` more bytes were read from the socket.
    void received(std::size_t bytes) {
        if (bytes == 0) return;
        if (reads_.empty() || reads_.back().sent != sent_) reads_.push_back({received_, sent_});
        received_ += bytes;
    }
    // Reports that `bytes` more bytes were passed to the socket.
    void sent(std::size_t bytes) { sent_ += bytes; }

    std::uint64_t received() const { return received_; }
    std::uint64_t sent() const { return sent_; }

    // Returns how many bytes had been sent when the input byte at `position` was read. `position`
    // must not be smaller than in the previous call.
    std::uint64_t sent_before(std::uint64_t position) {
        std::size_t past = 0;
        while (past + 1 < reads_.size() && reads_[past + 1].begin <= position) ++past;
        if (past > 0)
            reads_.erase(reads_.begin(), reads_.begin() + static_cast<std::ptrdiff_t>(past));
        return reads_.empty() ? sent_ : reads_.front().sent;
    }

private:
    // The input from `begin` on was read when `sent` bytes had been sent.
    struct Read {
        std::uint64_t begin = 0;
        std::uint64_t sent = 0;
    };
    std::vector<Read> reads_;
    std::uint64_t received_ = 0;
    std::uint64_t sent_ = 0;
};

}  // namespace rocklock
