// The message of the first problem that was found in a request.
#pragma once

#include <string>
#include <utility>

namespace rocklock {

class FirstProblem {
public:
    bool found() const { return !message_.empty(); }
    // Returns an empty string if no problem was reported.
    const std::string& message() const { return message_; }
    // Keeps the message if no other message was reported before.
    void report(std::string message) {
        if (message_.empty()) message_ = std::move(message);
    }

private:
    std::string message_;
};

}  // namespace rocklock
