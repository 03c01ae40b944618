#include "service/direct_call.hpp"

#include <variant>

#include "wire/frequent_call.hpp"
#include "wire/json/lock_body.hpp"

namespace rocklock {
namespace {

template <typename Verb>
Verb& verb_in(Event& event) {
    return std::get<Verb>(std::get<Request>(event));
}

}  // namespace

DirectCall::DirectCall()
    : acquire_(verb_in<Acquire>(acquire_event_)), release_(verb_in<Release>(release_event_)) {}

DirectCall& DirectCall::frame_of_this_thread() {
    thread_local DirectCall call;
    return call;
}

DirectCall& DirectCall::json_of_this_thread() {
    thread_local DirectCall call;
    return call;
}

bool DirectCall::read_frame(std::string_view body) {
    const auto verb = read_frequent_call(body, acquire_, release_, secret_);
    acquires_ = verb == FrequentVerb::acquire;
    // The reply to an Acquire with Held::count can be large, so its size must be reserved.
    return verb == FrequentVerb::release || (acquires_ && acquire_.held != Held::count);
}

bool DirectCall::read_json(std::string_view verb, std::string_view body) {
    acquires_ = verb == "Acquire";
    if (!acquires_) return verb == "Release" && read_usual_body(body, release_, secret_);
    // The members that read_usual_body() can set.
    acquire_.locks.clear();
    acquire_.patience = {};
    acquire_.request_id.clear();
    acquire_.note.clear();
    // The reply to an Acquire of several locks can be large, so its size must be reserved.
    return read_usual_body(body, acquire_, secret_) && acquire_.locks.size() == 1;
}

std::size_t DirectCall::verb() const {
    static const std::size_t acquire = CallBody(Acquire()).index();
    static const std::size_t release = CallBody(Release()).index();
    return acquires_ ? acquire : release;
}

}  // namespace rocklock
