// Calls that are decided while their frames are processed (lib/service/direct_call.hpp), without a
// socket. Their responses must wait for the next flush().
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/clock.hpp>

#include "daemon/net/frame_conversation.hpp"
#include "direct_world.hpp"
#include "service/client_session.hpp"

namespace {

using namespace rocklock;
using testing::DirectWorld;
using testing::FaultyStorage;
using namespace std::chrono_literals;

// A connection with a session that it has proved to own. Its responses are collected by the test.
class DirectFrameLine {
public:
    explicit DirectFrameLine(DirectWorld& world)
        : world_(world),
          session_(std::make_shared<ClientSession>(world.dispatcher, Caller{4711, 42})),
          conversation_(std::make_shared<FrameConversation>(
              session_, system_clock(), [ready = ready] { ++*ready; }, [] {}, nullptr)) {
        conversation_->receive(frame_greeting);
        OpenSession open;
        open.principal = "ann";
        open.lease = 1h;
        call(1, open);
        const auto info = std::get<SessionInfo>(reply(1, OpenSession{}));
        id = info.id;
        secret = info.secret;
        // The first call proves the session.
        call(2, RenewSession{id, {}, {}, {}, {}, false});
        reply(2, RenewSession{});
    }

    void call(std::uint64_t number, CallBody body) {
        std::string bytes;
        append_call(bytes, number, {std::move(body), secret, {}});
        conversation_->receive(bytes);
    }
    void acquire(std::uint64_t number, const std::string& resource, Held held = Held::refuse,
                 std::chrono::milliseconds patience = {}) {
        Acquire acquire;
        acquire.session = id;
        acquire.locks = {{.resource = resource}};
        acquire.patience = patience;
        acquire.held = held;
        call(number, acquire);
    }
    // Collects the responses, and returns the next one, or nullopt if there is none.
    std::optional<Frame> next() {
        conversation_->collect();
        received_ += conversation_->take_output();
        if (!greeted_ && received_.size() >= frame_greeting.size()) {
            received_.erase(0, frame_greeting.size());
            greeted_ = true;
        }
        std::string_view rest = received_;
        const auto frame = take_frame(rest, max_reply_frame_bytes).value();
        if (!frame) return std::nullopt;
        body_ = frame->body;
        received_.erase(0, received_.size() - rest.size());
        conversation_->output_sent(conversation_->received());
        return Frame{frame->kind, frame->number, body_};
    }
    // Flushes, and returns the next response. The manager's thread may make the sync, so this can
    // take some time. Fails after a minute.
    std::optional<Frame> await() {
        const auto deadline = std::chrono::steady_clock::now() + 1min;
        for (;;) {
            world_.flush();
            auto frame = next();
            if (frame) return frame;
            BOOST_REQUIRE(std::chrono::steady_clock::now() < deadline);
            std::this_thread::yield();
        }
    }
    // Flushes, and returns the reply to the call with this number, which must be the next response.
    template <typename Body>
    Reply reply(std::uint64_t number, const Body& asked) {
        const auto frame = await();
        BOOST_TEST(frame->number == number);
        BOOST_REQUIRE((frame->kind == FrameKind::reply));
        return read_reply_frame(asked, frame->body).value().reply;
    }
    Grant granted(std::uint64_t number) { return std::get<Grant>(reply(number, Acquire{})); }
    Error refused(std::uint64_t number) {
        const auto frame = await();
        BOOST_TEST(frame->number == number);
        BOOST_REQUIRE((frame->kind == FrameKind::refusal));
        return read_refusal_frame(frame->body);
    }
    FrameConversation& conversation() { return *conversation_; }
    ClientSession& client_session() { return *session_; }
    void destroy() { conversation_.reset(); }

    SessionId id;
    Secret secret;
    // Shared, because the conversation may call the function after this object is destroyed.
    const std::shared_ptr<std::atomic<int>> ready = std::make_shared<std::atomic<int>>(0);

private:
    DirectWorld& world_;
    std::shared_ptr<ClientSession> session_;
    std::shared_ptr<FrameConversation> conversation_;
    bool greeted_ = false;
    std::string received_;
    std::string body_;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_direct_call, DirectWorld)

BOOST_AUTO_TEST_CASE(is_answered_after_the_next_flush) {
    DirectFrameLine line(*this);
    line.acquire(10, "orders/1");
    BOOST_TEST(held() == 1U);
    BOOST_TEST(line.conversation().outstanding() == 1U);
    BOOST_TEST(!line.next().has_value());
    const int ready = *line.ready;
    flush();
    BOOST_TEST(*line.ready == ready + 1);
    const Grant grant = line.granted(10);
    BOOST_TEST(grant.locks.at(0).resource == "orders/1");
    BOOST_TEST((grant.session == line.id));
    BOOST_TEST(!grant.own_session.has_value());
    BOOST_TEST(line.conversation().outstanding() == 0U);
    line.call(11, Release{line.id, grant.id});
    BOOST_TEST(!line.next().has_value());
    BOOST_TEST((std::get<Released>(line.reply(11, Release{})).outcome == Outcome::released));
    BOOST_TEST(held() == 0U);
    BOOST_TEST(calls() == 1);
}

BOOST_AUTO_TEST_CASE(shares_a_flush_with_other_calls) {
    DirectFrameLine line(*this);
    DirectFrameLine other(*this);
    for (std::uint64_t i = 0; i < 20; ++i) line.acquire(100 + i, "a/" + std::to_string(i));
    other.acquire(7, "b");
    other.acquire(8, "a/3");
    BOOST_TEST(line.conversation().outstanding() == 20U);
    // A refusal waits for no commit, so it comes first.
    BOOST_TEST((other.refused(8).code == ErrorCode::conflict));
    for (std::uint64_t i = 0; i < 20; ++i) {
        BOOST_TEST(line.granted(100 + i).locks.at(0).resource == "a/" + std::to_string(i));
    }
    other.granted(7);
    BOOST_TEST(calls() == 21);
    BOOST_TEST(calls(ErrorCode::conflict) == 1);
}

BOOST_AUTO_TEST_CASE(that_waits_is_answered_or_cancelled_later) {
    DirectFrameLine holder(*this);
    DirectFrameLine line(*this);
    holder.acquire(5, "a");
    const Grant first = holder.granted(5);
    line.acquire(10, "a", Held::refuse, no_limit);
    line.acquire(11, "a", Held::join, no_limit);
    flush();
    BOOST_TEST(!line.next().has_value());
    BOOST_TEST(line.conversation().outstanding() == 2U);
    std::string cancel;
    append_cancel(cancel, 10);
    line.conversation().receive(cancel);
    BOOST_TEST((line.refused(10).code == ErrorCode::cancelled));
    holder.call(6, Release{holder.id, first.id});
    holder.reply(6, Release{});
    BOOST_TEST(line.granted(11).waited);
    BOOST_TEST(calls() == 2);
    BOOST_TEST(calls(ErrorCode::cancelled) == 1);
}

BOOST_AUTO_TEST_CASE(is_answered_like_other_calls_if_many_are_outstanding) {
    DirectFrameLine line(*this);
    constexpr int count = 100;
    for (std::uint64_t i = 0; i < count; ++i) line.acquire(100 + i, std::to_string(i));
    BOOST_TEST(line.conversation().outstanding() == 100U);
    std::vector<bool> answered(count, false);
    for (int i = 0; i < count; ++i) {
        const auto frame = line.await();
        BOOST_TEST((frame->kind == FrameKind::reply));
        answered.at(frame->number - 100) = true;
    }
    BOOST_TEST(std::count(answered.begin(), answered.end(), true) == count);
    BOOST_TEST(calls() == count);
    BOOST_TEST(line.conversation().outstanding() == 0U);
}

BOOST_AUTO_TEST_CASE(with_a_number_in_use_ends_the_connection) {
    DirectFrameLine line(*this);
    line.acquire(10, "a");
    line.acquire(10, "b");
    BOOST_TEST(line.conversation().broken());
    BOOST_TEST(held() == 1U);
}

BOOST_AUTO_TEST_CASE(is_refused_if_its_commit_fails) {
    DirectFrameLine line(*this);
    storage.fail_nth(FaultyStorage::Call::write, 1);
    line.acquire(10, "a");
    BOOST_TEST((line.refused(10).code == ErrorCode::io_error));
    BOOST_TEST(calls() == 0);
    await_calls(1, ErrorCode::io_error);
    BOOST_TEST(!line.client_session().has_unconfirmed());
    // Afterwards, all calls fail in the same way.
    line.acquire(11, "b");
    BOOST_TEST((line.refused(11).code == ErrorCode::io_error));
}

BOOST_AUTO_TEST_CASE(needs_the_secret_and_a_live_session) {
    DirectFrameLine line(*this);
    const Secret right = line.secret;
    line.secret.bytes[0] ^= 1;
    line.acquire(10, "a");
    BOOST_TEST((line.refused(10).code == ErrorCode::not_owner));
    line.secret = right;
    line.call(11, CloseSession{line.id});
    line.reply(11, CloseSession{});
    line.acquire(12, "a");
    BOOST_TEST((line.refused(12).code == ErrorCode::session_expired));
    BOOST_TEST(held() == 0U);
}

BOOST_AUTO_TEST_CASE(of_a_client_that_hangs_up_is_undone) {
    DirectFrameLine line(*this);
    line.acquire(10, "a");
    // The session has held this lock before, or can join it.
    line.acquire(11, "b", Held::join);
    line.client_session().hang_up(0);
    line.destroy();
    dispatcher.release_disconnected();
    flush();
    BOOST_TEST(held() == 1U);
    BOOST_TEST(manager->holds(line.id, "b", Mode::write));
}

BOOST_AUTO_TEST_CASE(that_was_read_is_not_undone) {
    DirectFrameLine line(*this);
    line.acquire(10, "a");
    line.granted(10);
    BOOST_TEST(line.client_session().has_unconfirmed());
    line.client_session().hang_up(1U << 20);
    dispatcher.release_disconnected();
    flush();
    BOOST_TEST(held() == 1U);
}

BOOST_AUTO_TEST_CASE(is_confirmed_by_a_later_request) {
    DirectFrameLine line(*this);
    line.acquire(10, "a");
    line.granted(10);
    line.acquire(11, "b");
    line.granted(11);
    line.client_session().hang_up(0);
    dispatcher.release_disconnected();
    flush();
    BOOST_TEST(manager->holds(line.id, "a", Mode::write));
    BOOST_TEST(!manager->holds(line.id, "b", Mode::write));
}

BOOST_AUTO_TEST_CASE(is_answered_after_the_end_of_the_input) {
    DirectFrameLine line(*this);
    line.acquire(10, "a");
    line.conversation().end_of_input();
    BOOST_TEST(!line.conversation().ended());
    line.granted(10);
    BOOST_TEST(line.conversation().ended());
}

BOOST_AUTO_TEST_CASE(is_answered_once_while_other_threads_flush) {
    std::optional<testing::Flushers> flushers(*this);
    DirectFrameLine line(*this);
    for (std::uint64_t round = 0; round < 500; ++round) {
        constexpr std::uint64_t at_once = 4;
        for (std::uint64_t i = 0; i < at_once; ++i) {
            line.acquire(100 + i, std::to_string(round) + "/" + std::to_string(i));
        }
        const auto deadline = std::chrono::steady_clock::now() + 1min;
        std::uint64_t answered = 0;
        while (answered < at_once) {
            BOOST_REQUIRE(std::chrono::steady_clock::now() < deadline);
            const auto frame = line.next();
            if (!frame) continue;
            BOOST_TEST((frame->kind == FrameKind::reply));
            ++answered;
        }
        BOOST_REQUIRE(line.conversation().outstanding() == 0U);
    }
    flushers.reset();
    BOOST_TEST(held() == 2'000U);
    BOOST_TEST(calls() == 2'000);
}

BOOST_AUTO_TEST_SUITE_END()
