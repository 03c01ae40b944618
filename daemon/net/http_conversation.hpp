// The lock API over HTTP/1.1 on one connection: bytes in, bytes out.
//
// Requests are taken up as they come, without waiting for the answers to earlier ones, and answered
// in their order, as HTTP demands. A request that is refused does not end the connection; bytes
// that are no HTTP do.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/http/http_answer.hpp"
#include "daemon/http/http_reader.hpp"
#include "daemon/net/conversation.hpp"
#include "daemon/net/event_stream.hpp"
#include "service/client_session.hpp"
#include "wire/edit_json.hpp"

namespace rocklock {

class StatusPages;
class EditEndpoint;
class ItemEndpoint;

// What all connections of a server hold of requests that are not whole yet. Each may send 16 MB,
// and there are many.
struct RequestMemory {
    std::atomic<std::size_t> held{0};
    // When more is held, no request that is already large may grow.
    std::size_t most = 256u << 20;
};

// Runs something on another thread, soon.
using RunInBackground = std::function<void(std::function<void()>)>;

// Where a conversation takes place.
struct HttpServices {
    // Over TCP, where a page in a browser may be at the other end.
    bool tcp = false;
    // What there is to GET; none: nothing.
    const StatusPages* places = nullptr;
    // None: nobody counts.
    RequestMemory* memory = nullptr;
    // Where long bodies are read, so that they keep nobody waiting. None: where they come.
    RunInBackground background{};
    // None: no tables.
    ItemEndpoint* tables = nullptr;
    EditEndpoint* edits = nullptr;
};

// Threads:  one at a time; answers come through `post`.
// Lifetime: owned by shared pointers; answers that come late are dropped.
class HttpConversation final : public Conversation,
                               public std::enable_shared_from_this<HttpConversation> {
public:
    // `post` runs a function on the conversation's thread, soon. `output_ready` says that output()
    // is not empty any more, or that the conversation has ended.
    HttpConversation(std::shared_ptr<ClientSession> peer,
                     std::function<void(std::function<void()>)> post,
                     std::function<void()> output_ready, const HttpServices& site = {});
    ~HttpConversation() override;

    void receive(std::string_view bytes) override;
    void end_of_input() override;
    std::string take_output() override;
    bool has_output() const override { return !output_.empty(); }
    std::size_t outstanding() const override { return slots_.size(); }
    bool heard() const override { return last_number_ > 0; }
    // One search or call for tables at a time, so that what follows it finds things as it left
    // them.
    bool has_room() const override {
        return slots_.size() < max_outstanding && searches_ == 0 && made_ + unsent_ <= max_unsent;
    }
    bool paused() const override { return paused_; }
    bool ended() const override { return ending_ && slots_.empty(); }
    bool broken() const override { return broken_; }
    void output_taken() override;
    bool streams() const override { return stream_.has_value(); }

private:
    static constexpr std::size_t max_outstanding = 1024;

    struct Slot {
        std::uint64_t number = 0;
        // The peer's number for its call; 0: none.
        std::uint64_t call = 0;
        HttpManner manner{};
        std::optional<std::string> answer{};
        bool search = false;
        // More will follow the answer.
        bool open = false;
    };

    void take(HttpRequest&& request);
    void ask(HttpRequest&& request, std::uint64_t number);
    void call(HttpRequest request, std::uint64_t number);
    void read_aside(Call call, std::string body, std::uint64_t number);
    void was_read(Result<Call> call, std::uint64_t number);
    void ask_read(Result<Call> call, std::uint64_t number);
    // None where it has been sent.
    Slot* find_slot(std::uint64_t number);
    std::uint64_t call_number(std::uint64_t number);
    void keep_back(std::uint64_t number);
    void take_up_more(std::uint64_t number);
    void ask_tables(HttpRequest&& request, std::uint64_t number);
    void ask_for_edit(EditBody verb, HttpRequest request, std::uint64_t number);
    void start_stream(const HttpRequest& request, std::uint64_t number);
    void ask_for_events();
    void append_events(const Result<EventPage>& page);
    void answer(std::uint64_t number, const ServiceAnswer& answer);
    void made(std::uint64_t number, ServiceAnswer answer);
    std::optional<HttpProblem> count_held();
    void flush();

    std::shared_ptr<ClientSession> client_session_;
    std::function<void(std::function<void()>)> post_;
    std::function<void()> output_ready_;
    const HttpServices services_;
    HttpReader reader_;
    // As it is counted in the site's memory.
    std::size_t held_ = 0;
    std::deque<Slot> slots_;
    // In the last slot, once it has begun; nothing follows it.
    std::optional<EventStream> stream_;
    bool asked_for_events_ = false;
    std::uint64_t last_number_ = 0;
    std::string output_;
    // Bytes of output that were taken before it.
    std::uint64_t taken_ = 0;
    // Where the next request begins in the input.
    std::uint64_t next_begin_ = 0;
    // Bytes of answers: on their way here from where they were made; here, but not taken.
    std::atomic<std::size_t> made_{0};
    std::size_t unsent_ = 0;
    std::size_t searches_ = 0;
    // A body is being read elsewhere; what it asks for comes before the end of the input.
    bool reading_in_background_ = false;
    bool input_over_ = false;
    bool paused_ = false;
    bool ending_ = false;
    bool broken_ = false;
};

}  // namespace rocklock
