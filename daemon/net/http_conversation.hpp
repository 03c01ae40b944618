// The lock API over HTTP/1.1 on one connection, without I/O.
//
// A request is processed when it arrives, without waiting for the responses to earlier requests.
// The responses are sent in the order of the requests, as HTTP requires. The connection continues
// after a refused request, but is closed after input that is not HTTP.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "daemon/api/answer_bytes.hpp"
#include "daemon/api/http_gate.hpp"
#include "daemon/http/http_answer.hpp"
#include "daemon/http/http_reader.hpp"
#include "daemon/net/conversation.hpp"
#include "daemon/net/event_stream.hpp"
#include "daemon/net/held_responses.hpp"
#include "service/client_session.hpp"
#include "service/direct_call.hpp"
#include "wire/edit_json.hpp"

namespace rocklock {

class StatusPages;
class EditEndpoint;
class ItemEndpoint;

// Runs a function on another thread.
using RunInBackground = std::function<void(std::function<void()>)>;

// Runs a function on the thread of the connection, in a later round.
using Defer = std::function<void(std::function<void()>)>;

// The objects that the conversations of a server use.
struct HttpServices {
    // True for connections over TCP. The client can then be a page in a browser.
    bool tcp = false;
    // The resources for GET. Null if there are none.
    const StatusPages* pages = nullptr;
    // The account of the client's user. If it is null, buffers are not counted.
    UserBuffers::Account* buffers = nullptr;
    // Used to parse long bodies and to create the metrics on another thread, so that this work does
    // not delay other connections. If it is empty, the connection's thread does this work.
    RunInBackground background{};
    // Used to format pages of events, so that many streams do not delay calls. If it is empty,
    // pages are formatted in the next round.
    Defer defer{};
    // Null if the tables API is not available.
    ItemEndpoint* tables = nullptr;
    EditEndpoint* edits = nullptr;
    // The requests over TCP that are accepted. Null means the default HttpAccess.
    const HttpAccess* access = nullptr;
};

// Threads:  one at a time. Responses arrive through `post`.
// Lifetime: owned by shared pointers. Responses that arrive after its destruction are discarded.
class HttpConversation final : public Conversation,
                               public DirectConnection,
                               public std::enable_shared_from_this<HttpConversation> {
public:
    // `post` runs a function on the conversation's thread. `answers_ready` is called on any thread;
    // the connection's thread must then call collect(). `output_ready` is called if take_output()
    // may return something, if has_room() has become true, or if the conversation has ended.
    HttpConversation(std::shared_ptr<ClientSession> client_session,
                     std::function<void(std::function<void()>)> post,
                     std::function<void()> answers_ready, std::function<void()> output_ready,
                     const HttpServices& services = {});

    void receive(std::string_view bytes) override;
    std::optional<std::uint64_t> incomplete_request() const override {
        if (ending_ || !reader_.has_begun()) return std::nullopt;
        return next_begin_;
    }
    void time_out_request() override;
    void end_of_input() override;
    std::string take_output() override;
    bool has_output() const override { return !output_.empty(); }
    void collect() override ROCKLOCK_EXCLUDES(mutex_);
    std::size_t outstanding() const override { return slots_.size(); }
    bool heard() const override { return last_number_ > 0; }
    // Returns false during a long search and during a call for tables. Therefore, later requests
    // are processed after the end of the search or call, and see its effects.
    bool has_room() const override {
        return slots_.size() < max_outstanding && searches_ == 0 && reads_responses();
    }
    bool paused() const override { return paused_; }
    bool ended() const override { return ending_ && slots_.empty(); }
    bool broken() const override { return broken_; }
    void output_taken() override;
    bool streams() const override { return stream_.has_value(); }

    void decided(std::uint64_t call, const Result<Answer>& answer,
                 const CallObserver::Started& started) override ROCKLOCK_EXCLUDES(mutex_);
    Dispatcher::Done waits(std::uint64_t call) override;
    void release(std::uint64_t call, const Error* failure,
                 std::chrono::steady_clock::time_point now) override ROCKLOCK_EXCLUDES(mutex_);

private:
    static constexpr std::size_t max_outstanding = 1024;

    struct Slot {
        std::uint64_t number = 0;
        // The number of the call in `client_session_`, or 0 if there is no call.
        std::uint64_t call = 0;
        HttpManner manner{};
        std::optional<std::string> answer{};
        bool search = false;
        // Set for a stream, if more output will follow after `answer`.
        bool open = false;
    };

    // The response to a direct call, which may be sent.
    struct Released {
        // The number of the slot.
        std::uint64_t number = 0;
        int status = 200;
        std::string body;
    };
    // The responses to direct calls. A request is identified by the number of its slot.
    struct DirectResponses {
        explicit DirectResponses(UserBuffers::Account* account) : bytes(account) {}

        HeldResponses held;
        std::vector<Released> released;
        // The memory of the released responses, if they are large.
        CountedBytes bytes;
    };

    void process(std::string_view bytes);
    void confirm_before(std::uint64_t position);
    void take(HttpRequest&& request);
    std::size_t take_direct(std::string_view input);
    const HttpAccess& access() const;
    void ask(HttpRequest&& request, std::uint64_t number);
    void call(HttpRequest&& request, std::uint64_t number);
    void read_in_background(Call call, std::string body, std::uint64_t number);
    void show_in_background(HttpRequest&& request, std::uint64_t number);
    void was_read(Result<Call> call, std::uint64_t number, std::size_t body_size);
    void ask_read(Result<Call> call, std::uint64_t number, std::size_t body_size);
    // Returns null if the response was already sent.
    Slot* find_slot(std::uint64_t number);
    std::uint64_t call_number(std::uint64_t number);
    void keep_back(std::uint64_t number);
    void continue_reading(std::uint64_t number);
    void ask_tables(HttpRequest&& request, std::uint64_t number);
    void ask_for_edit(EditBody verb, HttpRequest request, std::uint64_t number);
    void start_stream(const HttpRequest& request, std::uint64_t number);
    void ask_for_events();
    std::shared_ptr<CountedBytes> count_page(Result<EventPage>& page) const;
    void append_events(const Result<EventPage>& page);
    void answer(std::uint64_t number, const ServiceAnswer& answer);
    // Whether a response that exceeds the limit of the user's buffers is kept, or is replaced with
    // an error. A response may be replaced only if the request has changed nothing.
    enum class IfFull : std::uint8_t { keep, replace };
    // The counted memory of a request in progress: its body, and its response if memory for it was
    // reserved.
    struct Reserved {
        explicit Reserved(UserBuffers::Account* account, std::size_t bytes = 0)
            : counted(account, bytes) {}

        CountedBytes counted;
        // Set if the request has failed because there was no room for the response.
        bool refused = false;
    };
    static ServiceAnswer answer_of(const Result<Reply>& reply, const ForeignReply* foreign);
    void replied(std::uint64_t number, ServiceAnswer answer, const AnswerBytes& bytes,
                 std::shared_ptr<Reserved> reserved);
    AnswerRoom room_in(const std::shared_ptr<Reserved>& reserved, std::size_t body_size) const;
    void made(std::uint64_t number, ServiceAnswer answer, IfFull if_full,
              std::shared_ptr<Reserved> reserved);
    bool exceeds_limit(const ServiceAnswer& answer) const;
    ServiceAnswer limit_answer() const;
    void break_off(const HttpProblem& problem);
    void flush();
    std::size_t unsent() const override { return made_ + unsent_; }

    std::shared_ptr<ClientSession> client_session_;
    std::function<void(std::function<void()>)> post_;
    std::function<void()> answers_ready_;
    std::function<void()> output_ready_;
    const HttpServices services_;
    HttpReader reader_;
    std::deque<Slot> slots_;
    // The stream of events, if one has begun. Its slot is the last of `slots_`.
    std::optional<EventStream> stream_;
    bool asked_for_events_ = false;
    std::uint64_t last_number_ = 0;
    std::string output_;
    // The number of output bytes that take_output() has returned.
    std::uint64_t taken_ = 0;
    // The position of the next request in the input.
    std::uint64_t next_begin_ = 0;
    // `made_` is the number of response bytes that are being passed to this thread. `unsent_` is
    // the number of those that have arrived and that take_output() has not returned yet.
    std::atomic<std::size_t> made_{0};
    std::size_t unsent_ = 0;
    std::size_t searches_ = 0;
    // Set while a body is parsed on another thread. The call in the body must be passed to
    // `client_session_` before the end of the input is reported to it.
    bool reading_in_background_ = false;
    bool input_over_ = false;
    bool paused_ = false;
    bool ending_ = false;
    bool broken_ = false;
    struct {
        // The number of direct calls whose responses are not collected yet.
        std::size_t count = 0;
        // DirectCall::joins() of the call that is being decided. Its slot is the last one.
        bool joins = false;
        // Whether the next request may be a direct call. False after a request for tables, until
        // the usual reader has read the head of another call with the verb of a direct call.
        bool expected = true;
    } direct_calls_;

    Mutex mutex_;
    DirectResponses direct_ ROCKLOCK_GUARDED_BY(mutex_);
    // Set if collect() will be called anyway, so that `answers_ready` need not be called.
    std::atomic<bool> awaited_{false};
};

}  // namespace rocklock
