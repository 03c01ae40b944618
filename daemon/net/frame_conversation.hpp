// The lock API on one connection that uses frames (lib/wire/call_frame.hpp).
//
// Calls are processed in the order of arrival, and answered in the order in which they are decided.
// Responses that are ready at the same time are sent together. The responses that become ready
// during receive() are collected at its end. The responses from other threads are collected when
// the connection's thread calls collect().
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include <rocklock/clock.hpp>

#include "base/mutex.hpp"
#include "daemon/api/answer_bytes.hpp"
#include "daemon/net/conversation.hpp"
#include "daemon/net/held_responses.hpp"
#include "daemon/net/http_conversation.hpp"
#include "service/client_session.hpp"
#include "service/direct_call.hpp"
#include "wire/call_frame.hpp"

namespace rocklock {

// Threads:  one at a time; responses may come from any thread.
// Lifetime: owned by shared pointers. Responses that arrive after its destruction are discarded.
class FrameConversation final : public Conversation,
                                public DirectConnection,
                                public std::enable_shared_from_this<FrameConversation> {
public:
    // `answers_ready` is called on any thread; the connection's thread must then call collect().
    // `output_ready` has the same meaning as in HttpConversation. `clock` is the clock of the
    // service.
    FrameConversation(std::shared_ptr<ClientSession> client_session, Clock& clock,
                      std::function<void()> answers_ready, std::function<void()> output_ready,
                      UserBuffers::Account* buffers = nullptr);

    void receive(std::string_view bytes) override;
    std::optional<std::uint64_t> incomplete_request() const override {
        if (ending_ || rest_.empty()) return std::nullopt;
        return positions_.received() - rest_.size();
    }
    void time_out_request() override;
    void end_of_input() override;
    std::string take_output() override;
    void reuse(std::string&& output) override;
    bool has_output() const override { return !output_.empty(); }
    void collect() override ROCKLOCK_EXCLUDES(mutex_);
    std::size_t outstanding() const override { return calls_.size() + direct_count_; }
    bool wants_shared_memory() override { return std::exchange(wants_shared_memory_, false); }
    bool heard() const override { return heard_; }
    // Ignores the number of waiting calls: input is read even if this number has reached its limit,
    // because the input may contain a renewal or a cancel. A call beyond the limit is refused.
    bool has_room() const override { return searches_ < max_searches && reads_responses(); }
    bool paused() const override { return paused_; }
    bool ended() const override { return ending_ && outstanding() == 0; }
    bool broken() const override { return broken_; }

    void decided(std::uint64_t number, const Result<Answer>& answer,
                 const CallObserver::Started& started) override ROCKLOCK_EXCLUDES(mutex_);
    Dispatcher::Done waits(std::uint64_t number) override;
    void release(std::uint64_t number, const Error* failure,
                 std::chrono::steady_clock::time_point now) override ROCKLOCK_EXCLUDES(mutex_);

private:
    static constexpr std::size_t max_searches = 16;

    struct Asked {
        // The number of the call in `client_session_`.
        std::uint64_t number = 0;
        bool search = false;
    };

    // The facts about a call that are needed when its reply arrives.
    struct Answered {
        // The number that the client has given to the call.
        std::uint64_t number = 0;
        BootTime arrived;
        AnswerBytes bytes;
        // The bytes that were reserved for the response before the call was executed. Null if none
        // were reserved.
        std::shared_ptr<CountedBytes> reserved{};
    };

    // The responses to direct calls. A request is identified by the number that the client has
    // given to the call.
    struct DirectResponses {
        HeldResponses held;
        // The numbers of the calls in `client_session_` whose responses are in `answers_`.
        std::vector<std::uint64_t> released;
    };

    bool decide_now(const Frame& frame);
    bool is_held(std::uint64_t frame) ROCKLOCK_EXCLUDES(mutex_);
    bool release_success(std::uint64_t number, const Error* failure,
                         std::chrono::steady_clock::time_point now) ROCKLOCK_EXCLUDES(mutex_);
    void release_error(std::uint64_t number, const Error* failure,
                       std::chrono::steady_clock::time_point now) ROCKLOCK_EXCLUDES(mutex_);
    void place(HeldResponses::Response& held) ROCKLOCK_REQUIRES(mutex_);
    void collect_direct() ROCKLOCK_REQUIRES(mutex_);
    void read_frames(std::string_view& bytes);
    void confirm_before(std::uint64_t position);
    bool read_greeting(std::string_view& bytes);
    void take(const Frame& frame);
    void ask(const Frame& frame);
    void answer(const Answered& call, const Result<Reply>& reply) ROCKLOCK_EXCLUDES(mutex_);
    void end_with(const Error& error);
    std::size_t held_bytes() const { return rest_.empty() ? 0 : rest_.capacity(); }
    std::size_t unsent() const override { return unsent_; }
    void refuse(std::uint64_t number, const Error& error, FrameKind kind = FrameKind::refusal);
    void send(std::string_view bytes);

    const std::shared_ptr<ClientSession> client_session_;
    Clock& clock_;
    const std::function<void()> answers_ready_;
    const std::function<void()> output_ready_;
    // Input that is not processed yet: whole frames, and an incomplete frame at the end.
    std::string rest_;
    // The calls without a response, by the numbers that the client has given to them.
    boost::unordered_flat_map<std::uint64_t, Asked> calls_;
    std::size_t searches_ = 0;
    // The number of direct calls whose responses are not collected yet.
    std::size_t direct_count_ = 0;
    // The direct call that is being decided.
    struct {
        std::uint64_t frame = 0;
        bool joins = false;
    } deciding_;
    std::string output_;
    // The number of output bytes that take_output() has returned.
    std::uint64_t taken_ = 0;
    // Bytes of responses that take_output() has not returned yet.
    std::atomic<std::size_t> unsent_{0};
    bool paused_ = false;
    bool greeted_ = false;
    bool heard_ = false;
    bool wants_shared_memory_ = false;
    bool ending_ = false;
    bool broken_ = false;

    Mutex mutex_;
    // Responses that are not collected yet, and the numbers of their calls.
    std::string answers_ ROCKLOCK_GUARDED_BY(mutex_);
    std::vector<std::uint64_t> answered_ ROCKLOCK_GUARDED_BY(mutex_);
    DirectResponses direct_ ROCKLOCK_GUARDED_BY(mutex_);
    // The bytes of `answers_`, if they are more than `small_buffer`.
    CountedBytes answer_bytes_ ROCKLOCK_GUARDED_BY(mutex_);
    // Whether there are responses that are not collected yet. Set with the mutex held, and read
    // without it.
    std::atomic<bool> has_answers_{false};
    // Set if collect() will be called anyway, so that `answers_ready` need not be called.
    std::atomic<bool> awaited_{false};
};

}  // namespace rocklock
