// Calls, replies and errors with random members, and their frames.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "wire/call_frame.hpp"
#include "wire/random_members.hpp"

namespace rocklock::testing {

inline constexpr int rounds = 40;

inline std::mt19937_64 seeded(unsigned seed) { return std::mt19937_64(seed); }

// Each lock has either a mode, several modes or an intent.
inline void make_consistent(std::vector<LockRequest>& locks) {
    for (auto& lock : locks) {
        if (lock.mode) lock.to.reset();
        if (lock.modes.size() % 2 == 0) {
            lock.modes.clear();
        } else {
            lock.mode.reset();
            lock.to.reset();
        }
    }
}
// The request names either a session, or the principal for an administrator.
inline void make_consistent(std::optional<SessionId>& session, std::string& principal, Call& call) {
    if (!session || !call.secret) {
        session.reset();
        call.secret.reset();
        if (principal.empty()) principal = "ann";
    } else {
        principal.clear();
    }
}
inline void make_consistent(Call& call) {
    if (auto* list = std::get_if<ListDrafts>(&call.body)) {
        make_consistent(list->session, list->request.principal, call);
    }
    if (auto* take = std::get_if<TakeDraft>(&call.body)) {
        make_consistent(take->session, take->principal, call);
    }
    if (auto* discard = std::get_if<DiscardDraft>(&call.body)) {
        make_consistent(discard->session, discard->principal, call);
    }
    if (auto* end = std::get_if<EndSessions>(&call.body)) {
        if (end->uid) end->principal.clear();
        if (!end->uid && end->principal.empty()) end->principal = "ann";
    }
    if (auto* acquire = std::get_if<Acquire>(&call.body)) {
        make_consistent(acquire->locks);
        if (call.secret && !acquire->session) acquire->session.emplace();
        if (!call.secret) acquire->session.reset();
        if (acquire->session) {
            acquire->opens.reset();
            call.pid.reset();
        } else {
            if (!acquire->opens) acquire->opens.emplace();
            if (acquire->opens->principal.empty()) acquire->opens->principal = "ann";
        }
    }
    if (auto* convert = std::get_if<Convert>(&call.body)) {
        make_consistent(convert->locks);
        if (!convert->locks.empty()) convert->mode.reset();
        if (convert->locks.empty() && !convert->mode) convert->mode = Mode::read;
    }
}

// Returns a call of every verb with all its members or with some.
inline std::vector<Call> some_calls(unsigned seed) {
    auto random = seeded(seed);
    std::vector<Call> calls;
    for_each_type<CallBody>([&](auto body) {
        Call call;
        RandomMembers members(random, seed % 2 == 0);
        describe_call(members, call, body);
        BOOST_TEST(!members.duplicate().has_value(), members.duplicate().value_or(""));
        call.body = std::move(body);
        make_consistent(call);
        calls.push_back(std::move(call));
    });
    return calls;
}

// Returns replies to every verb.
inline std::vector<std::pair<CallBody, Reply>> some_replies(unsigned seed) {
    auto random = seeded(seed);
    std::vector<std::pair<CallBody, Reply>> replies;
    for_each_type<CallBody>([&](auto body) {
        ReplyTo<decltype(body)> reply{};
        RandomMembers members(random, seed % 2 == 0);
        describe(members, reply);
        BOOST_TEST(!members.duplicate().has_value(), members.duplicate().value_or(""));
        replies.emplace_back(std::move(body), std::move(reply));
    });
    return replies;
}

inline Error some_error(unsigned seed) {
    auto random = seeded(seed);
    Error error(static_cast<ErrorCode>(seed % (static_cast<unsigned>(ErrorCode::corrupt) + 1)),
                "why");
    RandomMembers members(random, seed % 2 == 0);
    describe_facts(members, error);
    BOOST_TEST(!members.duplicate().has_value(), members.duplicate().value_or(""));
    return error;
}

inline Frame only_frame(std::string_view bytes) {
    const auto frame = take_frame(bytes, max_call_frame_bytes);
    BOOST_REQUIRE(frame.has_value());
    BOOST_REQUIRE(frame->has_value());
    BOOST_TEST(bytes.empty());
    return **frame;
}

inline std::string call_bytes(const Call& call) {
    std::string bytes;
    append_call(bytes, 7, call);
    return bytes;
}

inline std::string any_call_bytes(const Call& call) {
    std::string bytes;
    append_any_call(bytes, 7, call);
    return bytes;
}

// Returns the bytes with one or two of them changed. In every fifth round, they are also cut off.
inline std::string randomly_changed(std::string bytes, std::mt19937_64& random, int round) {
    for (auto count = 1 + random() % 2; count > 0; --count) {
        const auto at = random() % bytes.size();
        // Small values are more often valid.
        bytes[at] = static_cast<char>(random() % (round % 2 == 0 ? 256 : 4));
    }
    if (round % 5 == 0) bytes.resize(random() % bytes.size());
    return bytes;
}

// Copies the bytes to memory of exactly that size, so that the address sanitizer detects reads
// beyond the end.
template <typename Run>
void with_exact_copy(std::string_view bytes, Run run) {
    const auto copy = std::make_unique<char[]>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), copy.get());
    run(std::string_view(copy.get(), bytes.size()));
}

// Returns the answer that a daemon sends directly, or none if the reply is of another type.
inline std::optional<Answer> answer_of(const Reply& reply) {
    if (const auto* grant = std::get_if<Grant>(&reply)) return *grant;
    if (const auto* released = std::get_if<Released>(&reply)) return *released;
    return std::nullopt;
}

// Expects that append_answer() writes the frame that append_reply() writes.
inline void expect_the_same_bytes(const Answer& answer, const Reply& reply) {
    std::string written = "before";
    append_answer(written, 1ULL << 63, answer);
    std::string expected = "before";
    append_reply(expected, 1ULL << 63, std::chrono::milliseconds{0}, reply);
    BOOST_TEST((written == expected));
}

}  // namespace rocklock::testing
