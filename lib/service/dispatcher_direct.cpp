// The direct calls of the Dispatcher (direct_call.hpp).
#include <chrono>
#include <utility>

#include "service/direct_call.hpp"
#include "service/dispatcher.hpp"

namespace rocklock {

// A direct call needs no rights and opens no session. prepare() therefore has nothing to do for it
// if the caller is on the host of the manager and has proved before that it owns the session.
bool Dispatcher::decide_now(const DirectCall& call, const Caller& caller,
                            const ProvenSession& proven, DirectRequest& request) {
    if (!options_.flush_soon || caller.node || !proven.is(call.session(), call.secret())) {
        return false;
    }
    if (!service_.decide_now(call.event(), request)) return false;
    options_.flush_soon();
    return true;
}

LockService::Completion Dispatcher::completion_of(const CallObserver::Started& started, Done done) {
    return completion_of(nullptr, false, Replier{std::move(done), options_.observer, started});
}

CallObserver::Started Dispatcher::begin(const DirectCall& call) const {
    if (options_.observer == nullptr) return {};
    return {call.verb(), true, std::chrono::steady_clock::now(), nullptr};
}

void Dispatcher::end(const CallObserver::Started& started, const Error* error,
                     std::chrono::steady_clock::time_point now) const {
    if (options_.observer != nullptr) options_.observer->end(started, error, now);
}

}  // namespace rocklock
