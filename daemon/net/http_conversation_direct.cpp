// The direct calls of a connection over HTTP (lib/service/direct_call.hpp).
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/api/http_gate.hpp"
#include "daemon/http/known_heads.hpp"
#include "daemon/net/http_conversation.hpp"
#include "wire/call_json.hpp"
#include "wire/error_names.hpp"

namespace rocklock {

// Executes the request at the beginning of the input if it is a direct call with a known head.
// Returns its size, or 0 if take() must process it.
std::size_t HttpConversation::take_direct(std::string_view input) {
    const auto found = KnownHeads::of_this_thread().find(input);
    if (!found) return 0;
    // The response to an Acquire can be larger than its request. If it can be larger than
    // `small_buffer`, its size must be reserved.
    const bool may_be_large = found->body_bytes > small_buffer / 2;
    if (may_be_large || buffers_full() || direct_calls_.count >= HeldResponses::max_count) return 0;
    if (services_.tcp && refuse_foreign(found->request, access())) return 0;
    const auto verb = std::string_view(found->request.operation).substr(target_prefix.size());
    DirectCall& call = DirectCall::json_of_this_thread();
    if (!call.read_json(verb, input.substr(found->head_bytes, found->body_bytes))) return 0;
    direct_calls_.joins = call.joins();
    slots_.push_back({.number = last_number_ + 1});
    if (!client_session_->decide_now(call, shared_from_this())) {
        slots_.pop_back();
        return 0;
    }
    ++last_number_;
    const auto size = found->head_bytes + found->body_bytes;
    reader_.skip(size);
    confirm_before(std::exchange(next_begin_, reader_.taken_bytes()));
    return size;
}

void HttpConversation::decided(std::uint64_t call, const Result<Answer>& answer,
                               const CallObserver::Started& started) {
    Slot& slot = slots_.back();
    slot.call = call;
    ++direct_calls_.count;
    const MutexLock lock(mutex_);
    HeldResponses::Response& held =
        direct_.held.add({call, slot.number}, answer, direct_calls_.joins, started);
    if (answer) held.bytes = write_answer(*answer);
}

Dispatcher::Done HttpConversation::waits(std::uint64_t call) {
    Slot& slot = slots_.back();
    slot.call = call;
    return [weak = weak_from_this(), number = slot.number,
            bytes = AnswerBytes(direct_calls_.joins)](const Result<Reply>& reply) {
        const auto self = weak.lock();
        if (self) self->replied(number, answer_of(reply, nullptr), bytes, nullptr);
    };
}

// Called on any thread. Reports and encodes an error without the mutex: the observer of the calls
// may stop the server, and a large error would delay the lock manager, which waits for the mutex in
// decided().
void HttpConversation::release(std::uint64_t call, const Error* failure,
                               std::chrono::steady_clock::time_point now) {
    std::unique_ptr<Error> refusal;
    CallObserver::Started started;
    Released released;
    bool may_discard = false;
    {
        const MutexLock lock(mutex_);
        HeldResponses::Response& held = direct_.held.find(call);
        refusal = std::move(held.refusal);
        started = std::move(held.started);
        may_discard = held.may_discard;
        released.number = held.request;
        released.body = std::move(held.bytes);
        direct_.held.remove(held);
    }
    const Error* const error = failure != nullptr ? failure : refusal.get();
    if (error != nullptr) {
        released.status = http_status(error->code);
        released.body = write_error(*error);
    }
    if (may_discard && released.body.size() > small_buffer && buffers_full()) {
        ServiceAnswer full = limit_answer();
        released.status = full.status;
        released.body = std::move(full.body);
    }
    client_session_->released(call, started, error, now);
    const auto size = released.body.size();
    made_ += size;
    {
        const MutexLock lock(mutex_);
        if (size > small_buffer) direct_.bytes.set(direct_.bytes.bytes() + size);
        direct_.released.push_back(std::move(released));
    }
    if (!awaited_.exchange(true)) answers_ready_();
}

void HttpConversation::collect() {
    // A response that is released from now on causes a call of `answers_ready`.
    awaited_ = false;
    if (direct_calls_.count == 0) return;
    std::vector<Released> released;
    {
        const MutexLock lock(mutex_);
        released.swap(direct_.released);
        direct_.bytes.set(0);
    }
    direct_calls_.count -= released.size();
    for (Released& each : released) {
        made_ -= each.body.size();
        answer(each.number, {each.status, json_type, {}, std::move(each.body)});
    }
}

}  // namespace rocklock
