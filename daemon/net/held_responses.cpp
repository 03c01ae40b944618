#include "daemon/net/held_responses.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/assert.hpp"

namespace rocklock {
namespace {

// The number of unused elements whose memory is kept, and the capacity that their strings keep.
constexpr std::size_t kept_responses = 4;
constexpr std::size_t kept_capacity = 4096;

}  // namespace

HeldResponses::Response& HeldResponses::add(Numbers numbers, const Result<Answer>& answer,
                                            bool joins, const CallObserver::Started& started) {
    if (count_ == responses_.size()) responses_.emplace_back();
    Response& added = responses_[count_++];
    added.call = numbers.call;
    added.request = numbers.request;
    added.started = started;
    added.may_discard = !answer || joins;
    if (!answer) added.refusal = std::make_unique<Error>(answer.error());
    return added;
}

HeldResponses::Response& HeldResponses::find(std::uint64_t call) {
    const auto used = std::span(responses_).first(count_);
    const auto found = std::find_if(used.begin(), used.end(),
                                    [&](const Response& each) { return each.call == call; });
    ROCKLOCK_ASSERT(found != used.end());
    return *found;
}

void HeldResponses::remove(Response& response) {
    response.bytes.clear();
    if (response.bytes.capacity() > kept_capacity) response.bytes.shrink_to_fit();
    response.refusal.reset();
    Response& last = responses_[--count_];
    if (&response != &last) std::swap(response, last);
    if (count_ == 0 && responses_.size() > kept_responses) {
        responses_.resize(kept_responses);
        responses_.shrink_to_fit();
    }
}

bool HeldResponses::has_request(std::uint64_t request) const {
    const auto used = std::span(responses_).first(count_);
    return std::any_of(used.begin(), used.end(),
                       [&](const Response& each) { return each.request == request; });
}

}  // namespace rocklock
