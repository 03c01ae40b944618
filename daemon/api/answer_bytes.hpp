// The size of the answer to a call of the lock API, as far as the call alone determines it.
//
// Answers to calls that have changed something are never discarded. If such an answer can be large,
// its size is therefore counted before the call is made (user_buffers.hpp).
#pragma once

#include <cstddef>

#include "wire/call.hpp"

namespace rocklock {

class AnswerBytes {
public:
    // `request_bytes` is the size of the request of the call.
    AnswerBytes(const CallBody& body, std::size_t request_bytes);

    // Returns the bytes to count before the call is made; 0 if its answer is small, or may be
    // discarded.
    std::size_t reserved() const;

    // Returns true if a large answer of this size can be replaced by an error, because the call has
    // changed nothing. `refused`: the answer is an error.
    bool may_discard(std::size_t bytes, bool refused) const {
        return refused || only_reads_ || (joins_ && bytes > max_bytes_);
    }

private:
    bool only_reads_;
    // An answer that is larger than `max_bytes_` contains a grant that the session had before.
    bool joins_ = false;
    // The size of the answer if the call changes something.
    std::size_t max_bytes_ = 0;
};

}  // namespace rocklock
