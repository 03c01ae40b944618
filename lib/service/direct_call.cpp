#include "service/direct_call.hpp"

#include <variant>

#include "wire/frequent_call.hpp"

namespace rocklock {
namespace {

template <typename Verb>
Verb& verb_in(Event& event) {
    return std::get<Verb>(std::get<Request>(event));
}

}  // namespace

DirectCall::DirectCall()
    : acquire_(verb_in<Acquire>(acquire_event_)), release_(verb_in<Release>(release_event_)) {}

DirectCall& DirectCall::of_this_thread() {
    thread_local DirectCall call;
    return call;
}

bool DirectCall::read(std::string_view body) {
    const auto verb = read_frequent_call(body, acquire_, release_, secret_);
    acquires_ = verb == FrequentVerb::acquire;
    // The reply to an Acquire with Held::count can be large, so its size must be reserved.
    return verb == FrequentVerb::release || (acquires_ && acquire_.held != Held::count);
}

std::size_t DirectCall::verb() const {
    static const std::size_t acquire = CallBody(Acquire()).index();
    static const std::size_t release = CallBody(Release()).index();
    return acquires_ ? acquire : release;
}

}  // namespace rocklock
