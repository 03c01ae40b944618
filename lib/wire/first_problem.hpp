// The first thing that is wrong with a request, in words.
#pragma once

#include <string>
#include <utility>

namespace rocklock {

class FirstProblem {
public:
    bool found() const { return !message_.empty(); }
    // Empty if none was reported.
    const std::string& message() const { return message_; }
    // Keeps the message, unless there is one already.
    void report(std::string message) {
        if (message_.empty()) message_ = std::move(message);
    }

private:
    std::string message_;
};

}  // namespace rocklock
