#include "daemon/net/frame_conversation.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include <rocklock/error.hpp>

namespace rocklock {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t max_calls = 65'536;
// The capacity that the buffer of an incomplete frame keeps when it is empty.
constexpr std::size_t kept_buffer = 4096;
// The capacity that the buffer of the output keeps when it is empty. There can be many connections.
constexpr std::size_t kept_output = 512;

// Returns a lower bound of the time that a call waited before it was decided. `remaining` is
// rounded down to milliseconds, so the time of the decision that follows from it can be up to a
// millisecond late. This millisecond is subtracted.
template <typename Decided>
milliseconds held_for(const Decided& decided, BootTime arrived, BootTime now) {
    const auto at = decided.deadline - decided.remaining - milliseconds{1};
    if (at <= arrived || at > now) return {};
    return std::chrono::floor<milliseconds>(at - arrived);
}

milliseconds held_for(const Reply& reply, BootTime arrived, BootTime now) {
    if (const auto* grant = std::get_if<Grant>(&reply)) return held_for(*grant, arrived, now);
    if (const auto* session = std::get_if<SessionInfo>(&reply)) {
        return held_for(*session, arrived, now);
    }
    return {};
}

// Appends `bytes` to `to`. If `to` is empty, swaps the two instead, which copies nothing.
void append_or_swap(std::string& to, std::string& bytes) {
    if (to.empty()) {
        to.swap(bytes);
    } else {
        to += bytes;
    }
}

}  // namespace

FrameConversation::FrameConversation(std::shared_ptr<ClientSession> client_session, Clock& clock,
                                     std::function<void()> answers_ready,
                                     std::function<void()> output_ready,
                                     UserBuffers::Account* buffers)
    : Conversation(buffers),
      client_session_(std::move(client_session)),
      clock_(clock),
      answers_ready_(std::move(answers_ready)),
      output_ready_(std::move(output_ready)),
      answer_bytes_(buffers) {}

void FrameConversation::receive(std::string_view bytes) {
    positions_.received(bytes.size());
    if (ending_) return;
    awaited_ = true;
    if (rest_.empty()) {
        read_frames(bytes);
        if (!bytes.empty()) rest_ = bytes;
    } else {
        rest_ += bytes;
        std::string_view all = rest_;
        read_frames(all);
        rest_.erase(0, rest_.size() - all.size());
        if (rest_.empty() && rest_.capacity() > kept_buffer) rest_.shrink_to_fit();
    }
    if (!count_request(held_bytes()) && !ending_) {
        confirm_before(positions_.received() - rest_.size());
        end_with(buffers_->error());
    }
    paused_ = paused_ && !ending_;
    collect();
}

std::string FrameConversation::take_output() {
    unsent_ -= output_.size();
    taken_ += output_.size();
    count_transit(output_.size());
    return std::exchange(output_, {});
}

void FrameConversation::reuse(std::string&& output) {
    if (!output_.empty() || output.capacity() > kept_output) return;
    output_ = std::move(output);
    output_.clear();
}

void FrameConversation::read_frames(std::string_view& bytes) {
    paused_ = false;
    if (!greeted_ && !read_greeting(bytes)) return;
    TimeSlice slice;
    while (!ending_ && !bytes.empty()) {
        paused_ = !has_room() || slice.over();
        if (paused_) return;
        const auto begin = positions_.received() - bytes.size();
        const auto frame = take_frame(bytes, max_call_frame_bytes);
        if (frame && !*frame) return;
        confirm_before(begin);
        if (!frame) return end_with(frame.error());
        take(**frame);
    }
}

// Confirms the responses that were sent before this position of the input was read.
void FrameConversation::confirm_before(std::uint64_t position) {
    const auto sent = positions_.sent_before(position);
    if (client_session_->has_unconfirmed()) client_session_->confirm(sent);
}

// Returns true if the client has sent the greeting of a supported version.
bool FrameConversation::read_greeting(std::string_view& bytes) {
    const auto size = std::min(bytes.size(), frame_greeting.size());
    if (bytes.substr(0, size) != frame_greeting.substr(0, size)) {
        send(frame_greeting);
        end_with(Error(ErrorCode::invalid_argument,
                       "this daemon speaks version 1 of the frames: a connection begins with F5 "
                       "52 4C 01"));
        return false;
    }
    if (size < frame_greeting.size()) return false;
    bytes.remove_prefix(size);
    send(frame_greeting);
    greeted_ = true;
    return true;
}

// Reads no further input and sends the error as the last frame.
void FrameConversation::end_with(const Error& error) {
    broken_ = ending_ = true;
    rest_.clear();
    rest_.shrink_to_fit();
    count_request(0);
    refuse(0, error, FrameKind::goodbye);
}

void FrameConversation::time_out_request() {
    end_with(Error(ErrorCode::invalid_argument,
                   "the rest of a frame has not arrived in time (see --stall-timeout)"));
}

void FrameConversation::end_of_input() {
    ending_ = true;
    client_session_->end_of_input();
    if (outstanding() == 0) output_ready_();
}

void FrameConversation::take(const Frame& frame) {
    if (frame.kind == FrameKind::call) return ask(frame);
    if (frame.kind == FrameKind::cancel) {
        const auto call = calls_.find(frame.number);
        if (call != calls_.end()) client_session_->cancel(call->second.number);
        return;
    }
    if (frame.kind == FrameKind::share) {
        wants_shared_memory_ = true;
        return;
    }
    end_with(Error(ErrorCode::invalid_argument,
                   "a client may send only frames of the kinds call, cancel and share"));
}

// Returns whether the response to a direct call with this number, which the client has given to it,
// is still held.
bool FrameConversation::is_held(std::uint64_t frame) {
    if (direct_count_ == 0) return false;
    const MutexLock lock(mutex_);
    return direct_.held.has_request(frame);
}

// Executes a direct call. Returns false if the frame contains another call.
bool FrameConversation::decide_now(const Frame& frame) {
    if (buffers_full() || direct_count_ >= HeldResponses::max_count || outstanding() >= max_calls)
        return false;
    DirectCall& call = DirectCall::frame_of_this_thread();
    if (!call.read_frame(frame.body)) return false;
    deciding_ = {frame.number, call.joins()};
    return client_session_->decide_now(call, shared_from_this());
}

void FrameConversation::decided(std::uint64_t number, const Result<Answer>& answer,
                                const CallObserver::Started& started) {
    ++direct_count_;
    const MutexLock lock(mutex_);
    HeldResponses::Response& held =
        direct_.held.add({number, deciding_.frame}, answer, deciding_.joins, started);
    if (answer) append_answer(held.bytes, held.request, *answer);
}

Dispatcher::Done FrameConversation::waits(std::uint64_t number) {
    calls_[deciding_.frame] = {number, false};
    Answered answered{deciding_.frame, clock_.now().boot, AnswerBytes(deciding_.joins)};
    return [weak = weak_from_this(), answered](const Result<Reply>& reply) {
        if (const auto self = weak.lock()) self->answer(answered, reply);
    };
}

// Called on any thread.
void FrameConversation::release(std::uint64_t number, const Error* failure,
                                std::chrono::steady_clock::time_point now) {
    if (!release_success(number, failure, now)) release_error(number, failure, now);
    if (!awaited_.exchange(true)) answers_ready_();
}

// Returns false without effect if the response is an error.
bool FrameConversation::release_success(std::uint64_t number, const Error* failure,
                                        std::chrono::steady_clock::time_point now) {
    const MutexLock lock(mutex_);
    HeldResponses::Response& held = direct_.held.find(number);
    if (failure != nullptr || held.refusal != nullptr) return false;
    client_session_->released(number, held.started, nullptr, now);
    place(held);
    return true;
}

// Reports and encodes the error without the mutex: the observer of the calls may stop the server,
// and a large error would delay the lock manager, which waits for the mutex in decided().
void FrameConversation::release_error(std::uint64_t number, const Error* failure,
                                      std::chrono::steady_clock::time_point now) {
    std::unique_ptr<Error> refusal;
    CallObserver::Started started;
    std::uint64_t frame = 0;
    {
        const MutexLock lock(mutex_);
        HeldResponses::Response& held = direct_.held.find(number);
        refusal = std::move(held.refusal);
        started = std::move(held.started);
        frame = held.request;
    }
    const Error& error = failure != nullptr ? *failure : *refusal;
    std::string bytes;
    append_refusal(bytes, frame, error);
    client_session_->released(number, started, &error, now);
    const MutexLock lock(mutex_);
    HeldResponses::Response& held = direct_.held.find(number);
    held.bytes = std::move(bytes);
    place(held);
}

// Moves a held response to the responses that may be sent.
void FrameConversation::place(HeldResponses::Response& held) {
    const auto before = answers_.size();
    if (held.may_discard && held.bytes.size() > small_buffer && buffers_full()) {
        append_refusal(answers_, held.request, buffers_->error());
    } else {
        append_or_swap(answers_, held.bytes);
    }
    if (answers_.size() > small_buffer) answer_bytes_.set(answers_.size());
    unsent_ += answers_.size() - before;
    has_answers_ = true;
    direct_.released.push_back(held.call);
    direct_.held.remove(held);
}

void FrameConversation::collect_direct() {
    direct_count_ -= direct_.released.size();
    if (client_session_->has_unconfirmed()) {
        for (const auto number : direct_.released) {
            client_session_->placed(number, taken_ + output_.size());
        }
    }
    direct_.released.clear();
}

void FrameConversation::ask(const Frame& frame) {
    heard_ = true;
    const bool unanswered = calls_.contains(frame.number) || is_held(frame.number);
    if (!unanswered && decide_now(frame)) return;
    if (unanswered) {
        return end_with(
            Error(ErrorCode::invalid_argument,
                  "the call " + std::to_string(frame.number) +
                      " is not answered yet: give each call a number that no unanswered call has"));
    }
    if (outstanding() >= max_calls) {
        Error error(ErrorCode::limit_exceeded, "too many calls without an answer: at most " +
                                                   std::to_string(max_calls) +
                                                   " on one connection");
        error.limit = max_calls;
        return refuse(frame.number, error);
    }
    auto call = read_call_frame(frame.body);
    if (!call) return refuse(frame.number, call.error());
    if (buffers_full() && needs_room(call->body)) return refuse(frame.number, buffers_->error());
    Answered answered{frame.number, clock_.now().boot, {call->body, frame.body.size()}};
    if (const auto bytes = answered.bytes.reserved(); bytes > 0) {
        answered.reserved = std::make_shared<CountedBytes>(buffers_);
        if (!answered.reserved->try_set(bytes)) return refuse(frame.number, buffers_->error());
    }
    const Asked asked{client_session_->next_number(), may_take_long(call->body)};
    searches_ += asked.search ? 1 : 0;
    calls_[frame.number] = asked;
    client_session_->ask(*std::move(call), asked.number,
                         [weak = weak_from_this(), answered](const Result<Reply>& reply) {
                             if (const auto self = weak.lock()) self->answer(answered, reply);
                         });
}

// Called on any thread.
void FrameConversation::answer(const Answered& call, const Result<Reply>& reply) {
    const auto number = call.number;
    const auto held = reply ? held_for(*reply, call.arrived, clock_.now().boot) : milliseconds{0};
    // Encoded without the mutex, because the reply can be large, and the manager waits for the
    // mutex in decided().
    std::string bytes;
    if (reply) {
        append_reply(bytes, number, held, *reply);
    } else {
        append_refusal(bytes, number, reply.error());
    }
    {
        MutexLock lock(mutex_);
        // From now on, the real size of the reply is counted instead of the reserved size.
        if (call.reserved != nullptr) call.reserved->set(0);
        const auto counted = answers_.size() + bytes.size();
        if (counted > small_buffer) answer_bytes_.set(counted);
        const auto size = bytes.size();
        if (size > small_buffer && buffers_full() && call.bytes.may_discard(size, !reply)) {
            bytes.clear();
            append_refusal(bytes, number, buffers_->error());
            answer_bytes_.set(answers_.size() + bytes.size());
        }
        unsent_ += bytes.size();
        append_or_swap(answers_, bytes);
        answered_.push_back(number);
        has_answers_ = true;
    }
    if (!awaited_.exchange(true)) answers_ready_();
}

void FrameConversation::collect() {
    // A response that is added from now on causes a call of `answers_ready`, because `awaited_` is
    // false. A response that was added before is found, because `has_answers_` is true.
    awaited_ = false;
    if (has_answers_) {
        MutexLock lock(mutex_);
        has_answers_ = false;
        append_or_swap(output_, answers_);
        // The text of a large reply is not kept.
        answers_.clear();
        if (answers_.capacity() > kept_buffer) answers_.shrink_to_fit();
        answer_bytes_.set(0);
        for (const auto number : answered_) {
            const auto call = calls_.find(number);
            if (client_session_->has_unconfirmed()) {
                client_session_->placed(call->second.number, taken_ + output_.size());
            }
            if (call->second.search) --searches_;
            calls_.erase(call);
        }
        answered_.clear();
        collect_direct();
    }
    count_responses();
    if (!output_.empty() || ended()) output_ready_();
}

void FrameConversation::refuse(std::uint64_t number, const Error& error, FrameKind kind) {
    const auto before = output_.size();
    append_refusal(output_, number, error, kind);
    unsent_ += output_.size() - before;
}

void FrameConversation::send(std::string_view bytes) {
    output_ += bytes;
    unsent_ += bytes.size();
}

}  // namespace rocklock
