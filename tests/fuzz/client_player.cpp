#include "fuzz/client_player.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "daemon/api/status_pages.hpp"
#include "daemon/net/frame_conversation.hpp"
#include "daemon/net/http_conversation.hpp"
#include "daemon/support/log.hpp"
#include "fuzz/promise.hpp"
#include "lock/manager/lock_manager.hpp"
#include "lock/model/names.hpp"
#include "lock/records/records.hpp"
#include "service/call_recorder.hpp"
#include "service/dispatcher.hpp"
#include "wire/call_frame.hpp"

namespace rocklock {
namespace {

constexpr std::uint32_t administrator = 4711;
// Longer than the maximum lease, which is 30 days.
constexpr std::chrono::hours long_time{24 * 31};

// The way in which the bytes are sent; see client_player.hpp.
struct Manner {
    explicit Manner(std::string_view two)
        : piece(static_cast<unsigned char>(two[0])),
          closes((two[1] & 1) != 0),
          over_tcp((two[1] & 2) != 0),
          takes_late((two[1] & 4) != 0) {
        const auto times = static_cast<unsigned char>(two[1]) >> 3U;
        // Up to 12 days.
        if (times > 0) pause = std::chrono::milliseconds{1U << (times - 1)};
    }

    std::size_t piece;
    bool closes;
    bool over_tcp;
    bool takes_late;
    std::chrono::milliseconds pause{};
};

// Returns a store with a session key of zeros, so that sessions have the same secrets in each run.
std::unique_ptr<Storage> known_storage(Clock& clock) {
    auto storage = make_memory_storage(clock);
    Batch batch;
    const SessionKey key;
    batch.writes.push_back(
        {Family::meta, std::string(records::secret_key), std::string(8 + key.bytes.size(), '\0')});
    require(storage->commit(std::move(batch)).has_value(), "a store in memory can be written");
    return storage;
}

// The parts of a server, with a simulated clock.
struct World {
    World() {
        LockManagerOptions options;
        options.background = false;
        options.events_kept = 1000;
        options.timings = true;
        // The id of the first session is fifteen zeros and a 1.
        options.session_ids = [this] {
            ++sessions;
            SessionId id;
            id.bytes[14] = static_cast<std::uint8_t>(sessions >> 8U);
            id.bytes[15] = static_cast<std::uint8_t>(sessions);
            return id;
        };
        manager = LockManager::open(*storage, clock, options).value();
        dispatcher = std::make_unique<Dispatcher>(
            *manager, nullptr,
            DispatcherOptions{"memory", "durable", administrator, &recorder, {}, &clock});
        pages = std::make_unique<StatusPages>(*manager, recorder, traffic, stopping,
                                              StatusPages::Facts{"/run/rocklock", "durable"});
    }

    testing::SimulatedClock clock;
    std::unique_ptr<Storage> storage = known_storage(clock);
    unsigned sessions = 0;
    std::unique_ptr<LockManager> manager;
    Log log{LogFormat::text, LogLevel::error};
    CallRecorder recorder{[this](const LogEvent& event) { log.write(event); },
                          [](const Error& /*error*/) {}};
    Traffic traffic;
    std::atomic<bool> stopping{false};
    std::unique_ptr<Dispatcher> dispatcher;
    std::unique_ptr<StatusPages> pages;
};

// Checks the traffic of a connection like a client that knows its requests.
class Reading {
public:
    Reading() = default;
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    virtual ~Reading() = default;

    virtual void sent(std::string_view bytes) = 0;
    virtual void received(std::string_view bytes) = 0;
    // Called after the last bytes.
    virtual void ended(bool broken) = 0;
};

class FrameReading final : public Reading {
public:
    void sent(std::string_view bytes) override {
        calls_ += bytes;
        std::string_view rest = calls_;
        if (!asks_) {
            if (!rest.starts_with(frame_greeting)) return;
            rest.remove_prefix(frame_greeting.size());
            asks_ = true;
        }
        for (;;) {
            const auto frame = take_frame(rest, max_call_frame_bytes);
            if (!frame || !*frame) break;
            if ((*frame)->kind != FrameKind::call) continue;
            auto call = read_call_frame((*frame)->body);
            asked_[(*frame)->number].push_back(call ? std::optional(std::move(call->body))
                                                    : std::nullopt);
        }
        calls_.erase(0, calls_.size() - rest.size());
    }

    void received(std::string_view bytes) override {
        answers_ += bytes;
        std::string_view rest = answers_;
        if (!greeted_ && !rest.empty()) {
            require(rest.starts_with(frame_greeting), "the daemon greets");
            rest.remove_prefix(frame_greeting.size());
            greeted_ = true;
        }
        for (;;) {
            const auto frame = take_frame(rest, max_reply_frame_bytes);
            require(frame.has_value(), "what comes is frames");
            if (!*frame) break;
            answered(**frame);
        }
        answers_.erase(0, answers_.size() - rest.size());
    }

    void ended(bool broken) override {
        require(answers_.empty(), "the last frame is whole");
        require(left_ == broken, "a client gets an error exactly if its connection is broken");
        for (const auto& [number, calls] : asked_) {
            require(broken || calls.empty(), "each call is answered");
        }
    }

private:
    void answered(const Frame& frame) {
        // Calls that precede the invalid input may be answered after the goodbye.
        if (frame.kind == FrameKind::goodbye) {
            require(!left_, "one goodbye is enough");
            left_ = true;
            return read_error(frame);
        }
        auto& calls = asked_[frame.number];
        require(!calls.empty(), "what is answered was asked");
        const auto call = std::move(calls.front());
        calls.pop_front();
        if (frame.kind == FrameKind::refusal) return read_error(frame);
        require(frame.kind == FrameKind::reply && call.has_value(), "a reply is to a call");
        const auto reply = read_reply_frame(*call, frame.body);
        require(reply.has_value(), "a reply can be read");
    }

    static void read_error(const Frame& frame) {
        const auto error = read_refusal_frame(frame.body);
        require(error.code != ErrorCode::io_error, "a refusal can be read: " + error.message);
        require(is_utf8(error.message), "a message is text");
    }

    std::string calls_;
    bool asks_ = false;
    // The unanswered calls by their number.
    std::unordered_map<std::uint64_t, std::deque<std::optional<CallBody>>> asked_;
    std::string answers_;
    bool greeted_ = false;
    bool left_ = false;
};

class HttpReading final : public Reading {
public:
    void sent(std::string_view bytes) override { calls_ += bytes; }
    void received(std::string_view bytes) override { answers_ += bytes; }

    void ended(bool /*broken*/) override {
        require(is_utf8(answers_), "what comes is text");
        // The responses to HEAD have no body.
        if (calls_.find("HEAD") != std::string::npos) return;
        for (std::string_view rest = answers_; !rest.empty();) {
            require(rest.starts_with("HTTP/1.1 "), "an answer begins where the one before it ends");
            const auto end = rest.find("\r\n\r\n");
            require(end != std::string_view::npos, "the head of an answer ends");
            const auto head = rest.substr(0, end + 2);
            rest.remove_prefix(end + 4);
            if (head.starts_with("HTTP/1.1 100 ")) continue;
            if (head.find("\r\nContent-Type: text/event-stream") != std::string_view::npos) return;
            static constexpr std::string_view name = "\r\nContent-Length: ";
            const auto at = head.find(name);
            require(at != std::string_view::npos, "an answer tells its length");
            const auto size = std::stoul(std::string(head.substr(at + name.size())));
            require(size <= rest.size(), "an answer is whole");
            rest.remove_prefix(size);
        }
    }

private:
    std::string calls_;
    std::string answers_;
};

// A connection to the server.
class Client {
public:
    Client(World& world, char first, const Manner& manner)
        : world_(world), takes_late_(manner.takes_late) {
        const Caller caller = manner.over_tcp ? Caller{nobody_known, 0} : Caller{administrator, 0};
        client_session_ = std::make_shared<ClientSession>(*world.dispatcher, caller);
        auto post = [this](std::function<void()> run) { posted_.push_back(std::move(run)); };
        auto answers_ready = [this] {
            posted_.emplace_back([conversation = conversation_] { conversation->collect(); });
        };
        if (first == frame_greeting.front()) {
            conversation_ = std::make_shared<FrameConversation>(client_session_, world.clock,
                                                                answers_ready, [] {});
            reading_ = std::make_unique<FrameReading>();
        } else {
            conversation_ = std::make_shared<HttpConversation>(
                client_session_, post, answers_ready, [] {},
                HttpServices{manner.over_tcp, world.pages.get()});
            reading_ = std::make_unique<HttpReading>();
        }
    }

    void send(std::string_view bytes) {
        if (conversation_->broken() || conversation_->ended()) return;
        reading_->sent(bytes);
        conversation_->receive(bytes);
        answer();
        read_next();
    }

    // Delivers the responses that time has caused.
    void answer() {
        world_.manager->tick();
        run_posted();
        if (!takes_late_) take();
    }

    void leave(bool by_closing_its_sending_side) {
        takes_late_ = false;
        answer();
        read_next();
        if (by_closing_its_sending_side) {
            if (conversation_->paused()) {
                client_session_->stop_waiting();
                answer();
                read_next();
            }
            conversation_->end_of_input();
            answer();
            require(conversation_->ended(), "who sends no more is answered");
            reading_->ended(conversation_->broken());
        }
        client_session_->hang_up(0);
        answer();
    }

private:
    void run_posted() {
        while (!posted_.empty()) {
            auto run = std::move(posted_.front());
            posted_.pop_front();
            run();
        }
    }

    void take() {
        const std::string output = conversation_->take_output();
        conversation_->output_sent(output.size());
        reading_->received(output);
        conversation_->output_taken();
        run_posted();
    }

    // Continues with input that was held back because responses were not taken or too many requests
    // waited.
    void read_next() {
        while (conversation_->paused() && !conversation_->broken()) {
            if (!conversation_->has_room()) take();
            if (!conversation_->has_room()) return;
            conversation_->receive({});
            answer();
        }
    }

    World& world_;
    bool takes_late_;
    std::deque<std::function<void()>> posted_;
    std::shared_ptr<ClientSession> client_session_;
    std::shared_ptr<Conversation> conversation_;
    std::unique_ptr<Reading> reading_;
};

}  // namespace

void play_client(std::string_view input) {
    if (input.size() < 3) return;
    const Manner manner(input.substr(0, 2));
    input.remove_prefix(2);
    const std::size_t piece = manner.piece == 0 ? input.size() : manner.piece;

    World world;
    {
        Client client(world, input.front(), manner);
        for (std::size_t at = 0; at < input.size(); at += piece) {
            client.send(input.substr(at, piece));
            if (manner.pause.count() == 0) continue;
            world.clock.advance(manner.pause);
            client.answer();
        }
        client.leave(manner.closes);
    }
    if (const auto wrong = world.manager->audit_invariants()) {
        throw std::logic_error("broken promise: " + *wrong);
    }
    // P6: no input leaves a grant or a wait behind.
    world.clock.advance(long_time);
    world.manager->tick();
    require(world.manager->list({})->locks.empty(), "no lock outlives its lease");
    require(world.manager->statistics().waiting == 0, "who has gone waits no more");
    require(!world.recorder.failed(), "a store in memory does not fail");
    require(world.manager->close().has_value(), "a store in memory closes");
}

}  // namespace rocklock
