// Frames without a socket: bytes in and bytes out, on a store in memory.
#include "daemon/net/frame_conversation.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>

#include "base/bytes.hpp"

namespace {

using namespace rocklock;

struct World {
    Database database = *Database::in_memory();
    Dispatcher dispatcher{
        *server_service(database.service()), nullptr, {"memory", "durable", 4711}};
};

// A connection. Its responses are collected on the thread of the test.
class Line {
public:
    explicit Line(World& world, UserBuffers::Account* buffers = nullptr)
        : conversation_(std::make_shared<FrameConversation>(
              std::make_shared<ClientSession>(world.dispatcher, Caller{4711, 42}), system_clock(),
              [this, calls = calls_] {
                  const std::lock_guard lock(calls->mutex);
                  calls->posted.emplace_back([this] { conversation_->collect(); });
                  calls->arrived.notify_all();
              },
              [] {}, buffers)) {}

    FrameConversation& conversation() { return *conversation_; }
    void send(std::string_view bytes) { conversation_->receive(bytes); }
    void greet() { send(frame_greeting); }
    void call(std::uint64_t number, CallBody body, std::optional<Secret> secret = {}) {
        std::string bytes;
        append_call(bytes, number, {std::move(body), secret, {}});
        send(bytes);
    }

    // Returns the next response. Fails if there is none within a minute.
    Frame next() {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes{1};
        for (;;) {
            received_ += conversation_->take_output();
            if (!greeted_ && received_.size() >= frame_greeting.size()) {
                BOOST_TEST(received_.substr(0, frame_greeting.size()) == frame_greeting);
                received_.erase(0, frame_greeting.size());
                greeted_ = true;
            }
            std::string_view rest = received_;
            const auto frame = take_frame(rest, max_reply_frame_bytes).value();
            if (frame) {
                body_ = frame->body;
                received_.erase(0, received_.size() - rest.size());
                return {frame->kind, frame->number, body_};
            }
            run_posted(deadline);
        }
    }
    template <typename Body>
    ReplyTo<Body> ask(std::uint64_t number, const Body& body, std::optional<Secret> secret = {}) {
        call(number, body, secret);
        const Frame frame = next();
        BOOST_REQUIRE((frame.kind == FrameKind::reply));
        BOOST_TEST(frame.number == number);
        return std::get<ReplyTo<Body>>(read_reply_frame(body, frame.body).value().reply);
    }
    // Waits until all requests are answered. Fails if that takes more than a minute.
    void drain() {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes{1};
        while (conversation_->outstanding() > 0) {
            run_posted(deadline);
        }
    }
    // Returns the error code with which the connection ended.
    std::string goodbye() {
        const Frame frame = next();
        BOOST_TEST((frame.kind == FrameKind::goodbye));
        BOOST_TEST(conversation_->broken());
        return std::string(to_string(read_refusal_frame(frame.body).code));
    }

private:
    // The conversation may call `answers_ready` after the answer has been collected, and thus when
    // the Line no longer exists.
    struct Calls {
        std::mutex mutex;
        std::condition_variable arrived;
        std::deque<std::function<void()>> posted;
    };

    void run_posted(std::chrono::steady_clock::time_point deadline) {
        std::unique_lock lock(calls_->mutex);
        BOOST_REQUIRE(
            calls_->arrived.wait_until(lock, deadline, [this] { return !calls_->posted.empty(); }));
        auto run = std::move(calls_->posted.front());
        calls_->posted.pop_front();
        lock.unlock();
        run();
    }

    const std::shared_ptr<Calls> calls_ = std::make_shared<Calls>();
    std::shared_ptr<FrameConversation> conversation_;
    bool greeted_ = false;
    std::string received_;
    std::string body_;
};

Acquire acquire_for(const std::string& who, std::chrono::milliseconds patience) {
    Acquire acquire;
    acquire.opens.emplace().principal = who;
    acquire.locks = {{.resource = "a"}};
    acquire.patience = patience;
    return acquire;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_framed_conversation, World)

BOOST_AUTO_TEST_CASE(answers_calls) {
    Line line(*this);
    line.greet();
    BOOST_TEST(line.ask(1, Ping{}).store == "memory");
    const Grant grant = line.ask(2, acquire_for("ann", {}));
    BOOST_REQUIRE(grant.own_session.has_value());
    const auto secret = grant.own_session->secret;
    BOOST_TEST(line.ask(3, ShowSession{grant.session}, secret).grants.size() == 1U);
    BOOST_TEST(
        (line.ask(4, Release{grant.session, grant.id}, secret).outcome == Outcome::released));
    BOOST_TEST(line.ask(5, ShowStatistics{}).released == 1U);
    BOOST_TEST(line.conversation().outstanding() == 0U);
}

BOOST_AUTO_TEST_CASE(pauses_if_its_client_does_not_read) {
    Line line(*this);
    line.greet();
    Acquire acquire = acquire_for("ann", {});
    for (int i = 0; i < 99; ++i) acquire.locks.push_back({.resource = "r" + std::to_string(i)});
    line.ask(1, acquire);
    std::string calls;
    // Small requests with large responses.
    std::uint64_t number = 1;
    for (int i = 0; i < 200; ++i) append_call(calls, ++number, {ListLocks{}, {}, {}});
    line.send(calls);
    BOOST_TEST(line.conversation().paused());
    std::uint64_t answered = 0;
    std::size_t rounds = 0;
    while (answered < 200 && ++rounds < 1000) {
        BOOST_TEST(line.conversation().outstanding() < 100U);
        line.drain();
        const std::string answers = line.conversation().take_output();
        BOOST_TEST(answers.size() < 2 * max_unsent);
        for (std::string_view rest = answers; !rest.empty(); ++answered) {
            BOOST_TEST((take_frame(rest, max_reply_frame_bytes).value()->kind == FrameKind::reply));
        }
        line.send({});
    }
    BOOST_TEST(answered == 200U);
    BOOST_TEST(rounds > 2U);
}

BOOST_AUTO_TEST_CASE(reads_bytes_one_at_a_time_or_all_at_once) {
    std::string bytes(frame_greeting);
    for (std::uint64_t number = 1; number <= 3; ++number) {
        append_call(bytes, number, {Ping{}, {}, {}});
    }
    Line slow(*this);
    for (const char byte : bytes) slow.send({&byte, 1});
    Line fast(*this);
    fast.send(bytes);
    for (std::uint64_t number = 1; number <= 3; ++number) {
        BOOST_TEST(slow.next().number == number);
        BOOST_TEST(fast.next().number == number);
    }
}

BOOST_AUTO_TEST_CASE(answers_decided_calls_before_waiting_ones) {
    Line line(*this);
    line.greet();
    const Grant held = line.ask(1, acquire_for("ann", {}));
    line.call(2, acquire_for("bob", no_limit));
    BOOST_TEST(line.ask(3, Ping{}).store == "memory");
    line.ask(4, Release{held.session, held.id}, held.own_session->secret);
    const Frame granted = line.next();
    BOOST_TEST(granted.number == 2U);
    BOOST_TEST((granted.kind == FrameKind::reply));
}

BOOST_AUTO_TEST_CASE(withdraws_a_wait) {
    Line line(*this);
    line.greet();
    line.ask(1, acquire_for("ann", {}));
    line.call(2, acquire_for("bob", no_limit));
    std::string cancel;
    append_cancel(cancel, 2);
    // Cancelling an unknown or a completed request has no effect.
    append_cancel(cancel, 77);
    append_cancel(cancel, 1);
    line.send(cancel);
    const Frame frame = line.next();
    BOOST_TEST(frame.number == 2U);
    BOOST_TEST((read_refusal_frame(frame.body).code == ErrorCode::cancelled));
    BOOST_TEST(database.statistics().waiting == 0U);
}

BOOST_AUTO_TEST_CASE(continues_after_a_refusal) {
    Line line(*this);
    line.greet();
    line.call(1, OpenSession{});
    BOOST_TEST((read_refusal_frame(line.next().body).code == ErrorCode::invalid_argument));
    line.ask(2, acquire_for("ann", {}));
    line.call(3, acquire_for("bob", {}));
    const Error conflict = read_refusal_frame(line.next().body);
    BOOST_TEST((conflict.code == ErrorCode::conflict));
    BOOST_TEST(conflict.blockers.at(0).principal == "ann");
    std::string nonsense("\0\0\0\x0b\x01\0\0\0\0\0\0\0\x09\xff\xff", 15);
    line.send(nonsense);
    const Frame refused = line.next();
    BOOST_TEST(refused.number == 9U);
    BOOST_TEST((refused.kind == FrameKind::refusal));
    BOOST_TEST(line.ask(4, Ping{}).store == "memory");
}

BOOST_AUTO_TEST_CASE(ends_at_bytes_that_are_not_a_frame) {
    const std::string greeting(frame_greeting);
    for (const std::string& bytes :
         {std::string("\xF5RL\x02", 4), std::string("\xF5GET", 4),
          greeting + std::string("\0\0\0\x01\x01", 5), greeting + std::string("\x7f\0\0\0\x01", 5),
          greeting + std::string("\0\0\0\x09\x03\0\0\0\0\0\0\0\0", 13),
          greeting + std::string("\0\0\0\x09\x63\0\0\0\0\0\0\0\0", 13)}) {
        Line line(*this);
        line.send(bytes);
        const auto code = line.goodbye();
        BOOST_TEST((code == "invalid_argument" || code == "limit_exceeded"));
        // Further input is ignored.
        line.send("more");
        BOOST_TEST(!line.conversation().has_output());
    }
}

BOOST_AUTO_TEST_CASE(ends_when_a_number_is_used_twice) {
    Line line(*this);
    line.greet();
    line.ask(1, acquire_for("ann", {}));
    line.call(2, acquire_for("bob", no_limit));
    line.call(2, Ping{});
    BOOST_TEST(line.goodbye() == "invalid_argument");
    line.conversation().end_of_input();
    line.drain();
}

BOOST_AUTO_TEST_CASE(reports_the_time_from_the_arrival_of_a_call_to_its_decision) {
    Line line(*this);
    line.greet();
    const Grant held = line.ask(1, acquire_for("ann", {}));
    const auto asked = std::chrono::steady_clock::now();
    line.call(2, acquire_for("bob", no_limit));
    while (std::chrono::steady_clock::now() < asked + std::chrono::milliseconds{20}) {
        std::this_thread::yield();
    }
    line.ask(3, Release{held.session, held.id}, held.own_session->secret);
    const Frame frame = line.next();
    const auto most = std::chrono::steady_clock::now() - asked;
    const auto reply = read_reply_frame(acquire_for("", {}), frame.body).value();
    BOOST_TEST((reply.held >= std::chrono::milliseconds{15}));
    BOOST_TEST((reply.held <= most));
}

BOOST_AUTO_TEST_CASE(that_hangs_up_leaves_every_queue) {
    Line holder(*this);
    holder.greet();
    holder.ask(1, acquire_for("ann", {}));
    Line line(*this);
    line.greet();
    for (std::uint64_t number = 1; number <= 20; ++number) {
        line.call(number, acquire_for("bob" + std::to_string(number), no_limit));
    }
    BOOST_TEST(database.statistics().waiting == 20U);
    line.conversation().end_of_input();
    for (int i = 0; i < 20; ++i) {
        BOOST_TEST((read_refusal_frame(line.next().body).code == ErrorCode::cancelled));
    }
    BOOST_TEST(line.conversation().ended());
    BOOST_TEST(database.statistics().waiting == 0U);
}

BOOST_AUTO_TEST_CASE(ends_when_the_incomplete_calls_of_its_user_exceed_the_limit) {
    UserBuffers::Account account(4711, 150U << 10);
    // The header of a frame of a megabyte, and a part of its body.
    const std::string partial_request = std::string(frame_greeting) +
                                        std::string("\0\x10\0\0\x01\0\0\0\0\0\0\0\x01", 13) +
                                        std::string(100U << 10, 'x');
    std::optional<Line> first(std::in_place, *this, &account);
    first->send(partial_request);
    BOOST_TEST(!first->conversation().broken());
    Line second(*this, &account);
    second.send(partial_request);
    BOOST_TEST(second.goodbye() == "limit_exceeded");
    first.reset();
    BOOST_TEST(account.bytes() == 0U);
    Line third(*this, &account);
    third.greet();
    BOOST_TEST(third.ask(1, Ping{}).store == "memory");
}

BOOST_AUTO_TEST_CASE(refuses_what_needs_room_while_buffers_are_full) {
    UserBuffers::Account account(4711, 20'000);
    Line line(*this, &account);
    line.greet();
    for (std::uint64_t number = 1; number <= 10; ++number) {
        auto acquire = acquire_for("ann", {});
        acquire.locks.front().resource = std::to_string(number);
        acquire.note = std::string(4000, 'x');
        line.ask(number, acquire);
        line.conversation().output_taken();
    }
    BOOST_TEST(account.bytes() == 0U);
    // The response of 40 KB does not fit.
    line.call(11, ListLocks{});
    BOOST_TEST((read_refusal_frame(line.next().body).code == ErrorCode::limit_exceeded));
    line.conversation().output_taken();
    ListLocks few;
    few.limit = 2;
    BOOST_TEST(line.ask(12, few).locks.size() == 2U);
    BOOST_TEST(account.bytes() > 8'000U);
    const CountedBytes others(&account, 20'000);
    // The client has not read the response, and its user is at the limit.
    BOOST_TEST(!line.conversation().has_room());
    line.conversation().output_taken();
    BOOST_TEST(line.conversation().has_room());
    line.call(13, acquire_for("bob", {}));
    const auto refused = read_refusal_frame(line.next().body);
    BOOST_TEST((refused.code == ErrorCode::limit_exceeded));
    BOOST_TEST(refused.limit.value_or(0) == 20'000U);
    line.conversation().output_taken();
    BOOST_TEST(line.ask(14, Ping{}).store == "memory");
}

// All input is answered or refused. A sanitizer checks the memory accesses.
BOOST_AUTO_TEST_CASE(survives_any_bytes) {
    std::mt19937_64 random(7);
    std::string good(frame_greeting);
    append_call(good, 1, {acquire_for("ann", {}), {}, {}});
    append_call(good, 2, {Ping{}, {}, {}});
    append_cancel(good, 2);
    for (int round = 0; round < 2000; ++round) {
        std::string bytes = good;
        for (auto count = random() % 4; count > 0; --count) {
            bytes[random() % bytes.size()] = static_cast<char>(random());
        }
        Line line(*this);
        for (std::size_t at = 0; at < bytes.size();) {
            const auto size = 1 + random() % (bytes.size() - at);
            line.send(std::string_view(bytes).substr(at, size));
            at += size;
        }
        line.conversation().end_of_input();
        line.drain();
    }
}

BOOST_AUTO_TEST_SUITE_END()
