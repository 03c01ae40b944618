// The maximum size of the response to a call of the lock API, which is estimated from the call.
//
// The response to a call that has changed something is never discarded. Therefore, if such a
// response can be large, its size is counted before the call is executed (user_buffers.hpp).
#pragma once

#include <cstddef>

#include "wire/call.hpp"

namespace rocklock {

class AnswerBytes {
public:
    // `request_bytes` is the size of the request of the call.
    AnswerBytes(const CallBody& body, std::size_t request_bytes);
    // For a direct call (lib/service/direct_call.hpp). `joins` is DirectCall::joins().
    explicit AnswerBytes(bool joins);

    // Returns the number of bytes to count before the call is executed. Returns 0 if the response
    // is small or may be discarded.
    std::size_t reserved() const;

    // Returns true if a large response of this size can be replaced by an error, because the call
    // has changed nothing. `refused` is true if the response is an error.
    bool may_discard(std::size_t bytes, bool refused) const {
        return refused || only_reads_ || (joins_ && bytes > max_bytes_);
    }

private:
    bool only_reads_;
    // Whether the call has Held::join. If the response to such a call is larger than `max_bytes_`,
    // it contains a grant that the session had before the call, and the call has changed nothing.
    bool joins_ = false;
    // The maximum size of the response if the call changes something.
    std::size_t max_bytes_ = 0;
};

}  // namespace rocklock
