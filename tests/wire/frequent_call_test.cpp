#include "wire/frequent_call.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "wire/call_json.hpp"
#include "wire/random_frames.hpp"

using namespace std::chrono_literals;
using namespace rocklock;
using namespace rocklock::testing;

namespace {

// The objects into which several calls are read, one after the other.
struct ReusedCall {
    Acquire acquire;
    Release release;
    Secret secret;
    // The call that was read last.
    Call call;
};

FrequentVerb read_into(ReusedCall& reused, std::string_view body) {
    const auto verb = read_frequent_call(body, reused.acquire, reused.release, reused.secret);
    if (verb == FrequentVerb::acquire) reused.call.body = reused.acquire;
    if (verb == FrequentVerb::release) reused.call.body = reused.release;
    reused.call.secret = reused.secret;
    return verb;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_frequent_call)

// The fast reader reads only what the general one reads, and with the same result.
BOOST_AUTO_TEST_CASE(is_read_as_any_other) {
    std::vector<Call> calls;
    Acquire acquire;
    acquire.session = SessionId{{1, 2, 3}};
    for (const auto patience : {0ms, 250ms, 90'000ms, std::chrono::milliseconds(no_limit)}) {
        for (const std::string name :
             {"orders/1", "\xC3\xA4", "", "0123456789abcdef\xE2\x82\xAC"}) {
            acquire.locks = {{.resource = name}};
            acquire.patience = patience;
            calls.push_back({acquire, Secret{{4, 5}}, {}, false});
            acquire.locks.front().mode = Mode::exclusive;
            acquire.held = Held::join;
            calls.push_back({acquire, Secret{{4, 5}}, {}, false});
            acquire.held = Held::refuse;
            acquire.request_id = "\xC3\xA4-0123456789abcdef";
            calls.push_back({acquire, Secret{{4, 5}}, {}, false});
            acquire.request_id.clear();
        }
    }
    calls.push_back({Release{SessionId{{6}}, GrantId{1u << 20}}, Secret{{7}}, {}, false});
    for (const bool rebind : {false, true}) {
        RenewSession renewal;
        renewal.session = SessionId{{8}};
        calls.push_back({renewal, Secret{{9}}, {}, rebind});
    }
    auto random = seeded(5);
    ReusedCall reused;
    for (const Call& call : calls) {
        const auto bytes = call_bytes(call);
        std::string written = "before";
        BOOST_TEST(append_frequent_call(written, 7, call));
        BOOST_TEST(written == "before" + any_call_bytes(call));
        const std::string body(only_frame(bytes).body);
        Call fast;
        BOOST_TEST(read_frequent_call(body, fast));
        BOOST_TEST((call_bytes(fast) == bytes));
        for (int round = 0; round < 2'000; ++round) {
            with_exact_copy(randomly_changed(body, random, round), [&](std::string_view part) {
                Call found;
                const bool read = read_frequent_call(part, found);
                const auto verb = read_into(reused, part);
                const bool renews = std::holds_alternative<RenewSession>(found.body);
                BOOST_TEST((verb != FrequentVerb::none) == (read && !renews));
                if (!read) return;
                const auto general = read_any_call_frame(part);
                BOOST_REQUIRE(general.has_value());
                BOOST_TEST((any_call_bytes(found) == any_call_bytes(*general)));
                if (verb == FrequentVerb::none) return;
                BOOST_TEST((any_call_bytes(reused.call) == any_call_bytes(*general)));
            });
        }
    }
    for (unsigned seed = 0; seed < rounds; ++seed) {
        for (const Call& call : some_calls(seed)) {
            const auto bytes = call_bytes(call);
            Call found;
            if (!read_frequent_call(only_frame(bytes).body, found)) continue;
            BOOST_TEST((call_bytes(found) == bytes));
        }
    }
}

// The fast writer writes what the general one writes, or nothing.
BOOST_AUTO_TEST_CASE(is_written_as_any_other) {
    for (unsigned seed = 0; seed < rounds; ++seed) {
        for (const Call& call : some_calls(seed)) {
            std::string bytes;
            const bool written = append_frequent_call(bytes, 7, call);
            BOOST_TEST(bytes == (written ? any_call_bytes(call) : ""));
        }
    }
    Acquire acquire;
    acquire.session = SessionId{{1}};
    for (const std::size_t size : {99U, 100U, 101U, 127U, 128U, 300U}) {
        acquire.locks = {{.resource = std::string(size, 'a')}};
        for (const auto patience : {std::chrono::milliseconds{-5}, 0ms, 8'640'000'001ms,
                                    std::chrono::milliseconds(no_limit)}) {
            acquire.patience = patience;
            acquire.request_id = std::string(size / 3, 'b');
            const Call call{acquire, Secret{{2}}, {}, false};
            BOOST_TEST(call_bytes(call) == any_call_bytes(call));
        }
    }
    acquire.locks.clear();
    const Call without_locks{acquire, Secret{{2}}, {}, false};
    BOOST_TEST(call_bytes(without_locks) == any_call_bytes(without_locks));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_frequent_reply)

// The fast reader reads only what the general one reads, and with the same result.
BOOST_AUTO_TEST_CASE(is_read_as_any_other) {
    Grant grant;
    grant.id = GrantId{3'706'140'701'491'200};
    grant.token = Token{3'706'140'701'491'201};
    grant.session = SessionId{{1, 2, 3}};
    grant.locks.emplace_back().resource = "orders/1";
    grant.locks.back().mode = Mode::exclusive;
    grant.remaining = 29'999ms;
    grant.deadline = BootTime{std::chrono::nanoseconds{123'456'789'012'345}};
    grant.deadline_wall = WallTime{1'795'284'000'000ms};
    Grant counted = grant;
    counted.waited = true;
    counted.count = 2;
    SessionInfo session;
    session.lease = 30'000ms;
    session.remaining = 30'000ms;
    session.deadline = grant.deadline;
    session.deadline_wall = grant.deadline_wall;
    SessionInfo named = session;
    named.id = grant.session;
    named.secret = Secret{{7}};
    named.principal = "ann";
    const std::vector<std::pair<CallBody, Reply>> replies = {
        {Acquire{}, grant},        {Acquire{}, counted},    {Release{}, Released{}},
        {RenewSession{}, session}, {RenewSession{}, named},
    };
    auto random = seeded(6);
    for (const auto& entry : replies) {
        const CallBody& asked = entry.first;
        std::string bytes;
        append_reply(bytes, 1, 5ms, entry.second);
        const std::string body(only_frame(bytes).body);
        FrameReply fast;
        BOOST_TEST(read_frequent_reply(asked, body, fast.held, fast.reply));
        if (const auto answer = answer_of(entry.second)) {
            std::string written = "before";
            BOOST_TEST(append_frequent_reply(written, 7, *answer));
            expect_the_same_bytes(*answer, entry.second);
        }
        BOOST_TEST((fast.held == 5ms));
        BOOST_TEST(write_reply(fast.reply) == write_reply(entry.second));
        for (int round = 0; round < 2'000; ++round) {
            with_exact_copy(randomly_changed(body, random, round), [&](std::string_view part) {
                FrameReply found;
                if (!read_frequent_reply(asked, part, found.held, found.reply)) return;
                const auto general = read_any_reply_frame(asked, part);
                BOOST_REQUIRE(general.has_value());
                BOOST_TEST((found.held == general->held));
                BOOST_TEST(write_reply(found.reply) == write_reply(general->reply));
            });
        }
    }
    for (unsigned seed = 0; seed < rounds; ++seed) {
        for (const auto& [asked, reply] : some_replies(seed)) {
            std::string bytes;
            append_reply(bytes, 1, 5ms, reply);
            FrameReply found;
            const auto body = only_frame(bytes).body;
            if (!read_frequent_reply(asked, body, found.held, found.reply)) continue;
            BOOST_TEST(write_reply(found.reply) == write_reply(reply));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
