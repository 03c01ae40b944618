// The responses to the direct calls of one connection that must not be sent yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <rocklock/error.hpp>
#include <rocklock/lock.hpp>

#include "service/direct_call.hpp"

namespace rocklock {

// Threads: one at a time.
class HeldResponses {
public:
    // If more responses to direct calls are outstanding, calls use the general path, because these
    // responses are searched one by one.
    static constexpr std::size_t max_count = 32;

    struct Response {
        // The number of the call in the ClientSession.
        std::uint64_t call = 0;
        // The number that identifies the request on the connection.
        std::uint64_t request = 0;
        CallObserver::Started started;
        // The error with which the call was refused, or null. It can be large, so it is encoded
        // only after the mutex of the lock manager was unlocked.
        std::unique_ptr<Error> refusal;
        // Whether the response can be replaced by an error if it is large, because the call has
        // changed nothing.
        bool may_discard = false;
        // The encoded answer. Empty if the call was refused.
        std::string bytes;
    };

    // The numbers of a direct call.
    struct Numbers {
        std::uint64_t call = 0;
        std::uint64_t request = 0;
    };

    // Adds the response to a direct call. `joins` is DirectCall::joins(). If the call was not
    // refused, the caller must encode the answer into `bytes`, which is empty.
    Response& add(Numbers numbers, const Result<Answer>& answer, bool joins,
                  const CallObserver::Started& started);
    // Returns the response to this call, which must exist.
    Response& find(std::uint64_t call);
    // Removes a response. All references to responses are invalid afterwards.
    void remove(Response& response);
    // Returns whether there is a response to this request.
    bool has_request(std::uint64_t request) const;

private:
    // The first `count_` elements are in use. The others are empty, and their memory is reused.
    std::vector<Response> responses_;
    std::size_t count_ = 0;
};

}  // namespace rocklock
