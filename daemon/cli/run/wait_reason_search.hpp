// Finds the reason for which a request waits, for the message of `rocklock run`.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <rocklock/lock.hpp>

#include "wire/call.hpp"

namespace rocklock {

// Looks up the resources of the request and the resources that can block them: their dependants,
// the resources above them, and the resources below a subtree lock. The request may be granted
// during the search, so the result is only a hint.
class WaitReasonSearch {
public:
    explicit WaitReasonSearch(const Acquire& request);

    // Returns the next call, or nullopt if the search has ended.
    std::optional<Call> next();
    // Processes the reply to the call that next() has returned. Returns the lines that the reply
    // adds to the message.
    std::vector<std::string> take(const Result<Reply>& reply, WallTime now);

private:
    struct Question {
        // The index of a requested lock, and the resource that may block this lock.
        std::size_t lock = 0;
        std::string resource;
        // True if the resource is above the requested one. Only subtree locks of such a resource
        // can block the request.
        bool above = false;
        // True if the resources below `resource` are looked up.
        bool below = false;
        // True if the lock is requested in mode `read`, so that other locks in this mode do not
        // block it.
        bool reads = false;
    };

    std::optional<std::string> blocker(const LockView& view, WallTime now) const;
    std::string waiting_for() const;
    void add(Question question);
    void add_dependants(const LockClass& lock_class);

    const Acquire& request_;
    std::deque<Question> open_;
    std::set<std::string> asked_;
    Question current_;
    // The number of lines so far.
    std::size_t lines_ = 0;
};

}  // namespace rocklock
