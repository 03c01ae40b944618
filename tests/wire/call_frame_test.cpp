#include "wire/call_frame.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "base/bytes.hpp"
#include "wire/call_json.hpp"
#include "wire/frequent_call.hpp"
#include "wire/random_members.hpp"

using namespace std::chrono_literals;
using namespace rocklock;
using rocklock::testing::RandomMembers;

namespace {

constexpr int rounds = 40;

std::mt19937_64 seeded(unsigned seed) { return std::mt19937_64(seed); }

template <typename Variant, typename Do, std::size_t... index>
void for_each_type(Do&& run, std::index_sequence<index...> /*all*/) {
    (run(std::variant_alternative_t<index, Variant>{}), ...);
}
template <typename Variant, typename Do>
void for_each_type(Do&& run) {
    for_each_type<Variant>(run, std::make_index_sequence<std::variant_size_v<Variant>>());
}

// Each lock has either a mode, several modes or an intent.
void make_consistent(std::vector<LockRequest>& locks) {
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
void make_consistent(std::optional<SessionId>& session, std::string& principal, Call& call) {
    if (!session || !call.secret) {
        session.reset();
        call.secret.reset();
        if (principal.empty()) principal = "ann";
    } else {
        principal.clear();
    }
}
void make_consistent(Call& call) {
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
std::vector<Call> some_calls(unsigned seed) {
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
std::vector<std::pair<CallBody, Reply>> some_replies(unsigned seed) {
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

Error some_error(unsigned seed) {
    auto random = seeded(seed);
    Error error(static_cast<ErrorCode>(seed % (static_cast<unsigned>(ErrorCode::corrupt) + 1)),
                "why");
    RandomMembers members(random, seed % 2 == 0);
    describe_facts(members, error);
    BOOST_TEST(!members.duplicate().has_value(), members.duplicate().value_or(""));
    return error;
}

Frame only_frame(std::string_view bytes) {
    const auto frame = take_frame(bytes, max_call_frame_bytes);
    BOOST_REQUIRE(frame.has_value());
    BOOST_REQUIRE(frame->has_value());
    BOOST_TEST(bytes.empty());
    return **frame;
}

std::string call_bytes(const Call& call) {
    std::string bytes;
    append_call(bytes, 7, call);
    return bytes;
}

std::string any_call_bytes(const Call& call) {
    std::string bytes;
    append_any_call(bytes, 7, call);
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

// The objects into which several calls are read, one after the other.
struct ReusedCall {
    Acquire acquire;
    Release release;
    Secret secret;
    // The call that was read last.
    Call call;
};

std::optional<Answer> answer_of(const Reply& reply) {
    if (const auto* grant = std::get_if<Grant>(&reply)) return *grant;
    if (const auto* released = std::get_if<Released>(&reply)) return *released;
    return std::nullopt;
}

void expect_the_same_bytes(const Answer& answer, const Reply& reply) {
    std::string written = "before";
    append_answer(written, 1ULL << 63, answer);
    std::string expected = "before";
    append_reply(expected, 1ULL << 63, 0ms, reply);
    BOOST_TEST((written == expected));
}

FrequentVerb read_into(ReusedCall& reused, std::string_view body) {
    const auto verb = read_frequent_call(body, reused.acquire, reused.release, reused.secret);
    if (verb == FrequentVerb::acquire) reused.call.body = reused.acquire;
    if (verb == FrequentVerb::release) reused.call.body = reused.release;
    reused.call.secret = reused.secret;
    return verb;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_framed_call)

BOOST_AUTO_TEST_CASE(of_every_verb_is_read_as_it_was_written) {
    for (unsigned seed = 0; seed < rounds; ++seed) {
        for (const Call& call : some_calls(seed)) {
            BOOST_TEST_CONTEXT("seed " << seed << " " << verb_name(call.body)) {
                const auto bytes = call_bytes(call);
                const Frame frame = only_frame(bytes);
                BOOST_TEST((frame.kind == FrameKind::call));
                BOOST_TEST(frame.number == 7U);
                const auto read = read_call_frame(frame.body);
                BOOST_TEST((read ? "" : read.error().message) == "");
                BOOST_REQUIRE(read.has_value());
                BOOST_TEST(write_call(*read) == write_call(call));
                BOOST_TEST((call_bytes(*read) == bytes));
            }
        }
    }
}

// The fast reader reads only what the general one reads, and with the same result.
BOOST_AUTO_TEST_CASE(that_is_frequent_is_read_as_any_other) {
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
            std::string changed = body;
            for (auto count = 1 + random() % 2; count > 0; --count) {
                const auto at = random() % changed.size();
                // Small values are more often valid.
                changed[at] = static_cast<char>(random() % (round % 2 == 0 ? 256 : 4));
            }
            if (round % 5 == 0) changed.resize(random() % changed.size());
            with_exact_copy(changed, [&](std::string_view part) {
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
BOOST_AUTO_TEST_CASE(that_is_frequent_is_written_as_any_other) {
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

BOOST_AUTO_TEST_CASE(that_is_truncated_is_not_a_frame_and_not_parsed) {
    for (unsigned seed = 0; seed < 4; ++seed) {
        for (const Call& call : some_calls(seed)) {
            const auto bytes = call_bytes(call);
            for (std::size_t size = 0; size < bytes.size(); ++size) {
                std::string_view front = std::string_view(bytes).substr(0, size);
                const auto frame = take_frame(front, max_call_frame_bytes);
                BOOST_REQUIRE(frame.has_value());
                BOOST_TEST(!frame->has_value());
            }
            const auto body = only_frame(bytes).body;
            for (std::size_t size = 0; size < body.size(); ++size) {
                with_exact_copy(body.substr(0, size), [](std::string_view part) {
                    [[maybe_unused]] const auto read = read_call_frame(part);
                });
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(with_any_byte_changed_is_read_or_refused) {
    auto random = seeded(1);
    for (unsigned seed = 0; seed < 10; ++seed) {
        for (const Call& call : some_calls(seed)) {
            const auto bytes = call_bytes(call);
            const std::string body(only_frame(bytes).body);
            for (int round = 0; round < 200; ++round) {
                std::string changed = body;
                for (auto count = 1 + random() % 3; count > 0; --count) {
                    changed[random() % changed.size()] = static_cast<char>(random());
                }
                with_exact_copy(changed, [](std::string_view part) {
                    const auto read = read_call_frame(part);
                    if (read) [[maybe_unused]]
                        const auto text = write_call(*read);
                });
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(has_modes_if_it_names_any) {
    const auto bytes_of = [](std::vector<Mode> modes) {
        Acquire acquire;
        acquire.opens.emplace().principal = "ann";
        acquire.locks.emplace_back().resource = "a";
        acquire.locks.back().modes = std::move(modes);
        return call_bytes({acquire, {}, {}});
    };
    const auto tag = static_cast<std::uint16_t>(frame_number("Modes") * 2 + 1);
    std::string member;
    append_u16(member, tag);
    // The length of the block, the number of modes, and the index of each mode.
    member += std::string("\x03\x02\x01\x00", 4);
    const auto bytes = bytes_of({Mode::write, Mode::read});
    BOOST_TEST(bytes.find(member) != std::string::npos);
    const auto read = read_call_frame(only_frame(bytes).body);
    BOOST_REQUIRE(read.has_value());
    BOOST_TEST((std::get<Acquire>(read->body).locks.front().modes ==
                std::vector<Mode>{Mode::write, Mode::read}));
    // A call without several modes does not contain the member, so older daemons accept it.
    BOOST_TEST(bytes_of({}).find(member.substr(0, 2)) == std::string::npos);
}

BOOST_AUTO_TEST_CASE(with_a_count_beyond_its_bytes_is_refused) {
    // The locks: ten billion of them in four bytes.
    std::string body;
    append_u16(body, frame_number("Acquire"));
    append_u16(body, static_cast<std::uint16_t>(frame_number("Principal") * 2 + 1));
    append_string(body, "ann");
    append_u16(body, static_cast<std::uint16_t>(frame_number("Locks") * 2 + 1));
    std::string list;
    append_varint(list, 10'000'000'000);
    append_string(body, list);
    const auto read = read_call_frame(body);
    BOOST_REQUIRE(!read.has_value());
    BOOST_TEST(read.error().message == "Locks must be at most 10,000");
}

BOOST_AUTO_TEST_CASE(with_an_unknown_member_is_refused) {
    for (const Call& call : some_calls(0)) {
        const auto bytes = call_bytes(call);
        std::string body(only_frame(bytes).body);
        append_u16(body, static_cast<std::uint16_t>(frame_number("Misspelt") * 2));
        append_varint(body, 1);
        const auto read = read_call_frame(body);
        BOOST_REQUIRE(!read.has_value());
        BOOST_TEST(read.error().message.find("is unknown in this object") != std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(reports_the_fault_and_its_path) {
    Acquire acquire;
    acquire.opens.emplace().principal = "ann";
    acquire.locks = {{.resource = "a"}, {.resource = "\xff"}};
    const auto bytes = call_bytes({acquire, {}, {}});
    BOOST_TEST(read_call_frame(only_frame(bytes).body).error().message ==
               "Locks[1].Resource must be valid UTF-8");
    BOOST_TEST(read_call_frame("").error().message == "a call begins with the number of its verb");
    BOOST_TEST(read_call_frame(std::string(2, '\0')).error().message == "no verb has the number 0");
    std::string open;
    append_u16(open, frame_number("OpenSession"));
    BOOST_TEST(read_call_frame(open).error().message == "Principal is missing");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_framed_reply)

BOOST_AUTO_TEST_CASE(to_every_verb_is_read_as_it_was_written) {
    for (unsigned seed = 0; seed < rounds; ++seed) {
        for (const auto& [asked, reply] : some_replies(seed)) {
            BOOST_TEST_CONTEXT("seed " << seed << " " << verb_name(asked)) {
                std::string bytes;
                append_reply(bytes, 1ULL << 63, 250ms, reply);
                const Frame frame = only_frame(bytes);
                BOOST_TEST((frame.kind == FrameKind::reply));
                BOOST_TEST(frame.number == 1ULL << 63);
                const auto read = read_reply_frame(asked, frame.body);
                BOOST_TEST((read ? "" : read.error().message) == "");
                BOOST_REQUIRE(read.has_value());
                BOOST_TEST((read->held == 250ms));
                BOOST_TEST(write_reply(read->reply) == write_reply(reply));
                if (const auto answer = answer_of(reply)) expect_the_same_bytes(*answer, reply);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(cut_off_or_changed_is_read_or_refused) {
    auto random = seeded(2);
    for (unsigned seed = 0; seed < 4; ++seed) {
        for (const auto& entry : some_replies(seed)) {
            // clang 14 cannot capture structured bindings in lambdas.
            const CallBody& asked = entry.first;
            std::string bytes;
            append_reply(bytes, 1, 0ms, entry.second);
            const std::string body(only_frame(bytes).body);
            for (std::size_t size = 0; size < body.size(); ++size) {
                std::string changed = body;
                changed[random() % changed.size()] = static_cast<char>(random());
                with_exact_copy(std::string_view(body).substr(0, size), [&](auto part) {
                    [[maybe_unused]] const auto read = read_reply_frame(asked, part);
                });
                with_exact_copy(changed, [&](auto part) {
                    [[maybe_unused]] const auto read = read_reply_frame(asked, part);
                });
            }
        }
    }
}

// The fast reader reads only what the general one reads, and with the same result.
BOOST_AUTO_TEST_CASE(that_is_frequent_is_read_as_any_other) {
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
            std::string changed = body;
            for (auto count = 1 + random() % 2; count > 0; --count) {
                const auto at = random() % changed.size();
                changed[at] = static_cast<char>(random() % (round % 2 == 0 ? 256 : 4));
            }
            if (round % 5 == 0) changed.resize(random() % changed.size());
            with_exact_copy(changed, [&](std::string_view part) {
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

BOOST_AUTO_TEST_CASE(may_have_members_unknown_to_this_version) {
    std::string bytes;
    append_reply(bytes, 1, 0ms, Released{});
    std::string body(only_frame(bytes).body);
    append_u16(body, static_cast<std::uint16_t>(frame_number("Later") * 2 + 1));
    append_string(body, "text");
    BOOST_TEST(read_reply_frame(Release{}, body).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_framed_refusal)

BOOST_AUTO_TEST_CASE(of_every_code_keeps_its_facts) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        const Error error = some_error(seed);
        std::string bytes;
        append_refusal(bytes, 3, error);
        const Frame frame = only_frame(bytes);
        BOOST_TEST((frame.kind == FrameKind::refusal));
        const Error read = read_refusal_frame(frame.body);
        BOOST_TEST((read.code == error.code));
        BOOST_TEST(write_error(read) == write_error(error));
    }
}

BOOST_AUTO_TEST_CASE(of_a_store_on_etcd_names_the_manager) {
    for (const auto* const address : {"n2.example:7070", ""}) {
        Error error(ErrorCode::not_the_manager, "another node");
        error.manager = ManagerNode{"n2", address};
        std::string bytes;
        append_refusal(bytes, 3, error);
        const Error read = read_refusal_frame(only_frame(bytes).body);
        BOOST_TEST((read.code == ErrorCode::not_the_manager));
        BOOST_TEST((read.manager == error.manager));
    }
}

BOOST_AUTO_TEST_CASE(that_is_malformed_is_still_an_error) {
    for (unsigned seed = 0; seed < 10; ++seed) {
        std::string bytes;
        append_refusal(bytes, 3, some_error(seed));
        const std::string body(only_frame(bytes).body);
        for (std::size_t size = 0; size < body.size(); ++size) {
            with_exact_copy(std::string_view(body).substr(0, size), [](auto part) {
                [[maybe_unused]] const auto read = read_refusal_frame(part);
            });
        }
    }
    BOOST_TEST((read_refusal_frame("x").code == ErrorCode::io_error));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(frames)

BOOST_AUTO_TEST_CASE(are_read_in_sequence) {
    std::string bytes;
    append_call(bytes, 1, {Ping{}, {}, {}});
    append_cancel(bytes, 2);
    std::string_view rest = bytes;
    BOOST_TEST(take_frame(rest, max_call_frame_bytes).value().value().number == 1U);
    const auto second = take_frame(rest, max_call_frame_bytes).value().value();
    BOOST_TEST((second.kind == FrameKind::cancel));
    BOOST_TEST(second.number == 2U);
    BOOST_TEST(!take_frame(rest, max_call_frame_bytes).value().has_value());
}

BOOST_AUTO_TEST_CASE(that_are_invalid_are_refused_before_they_are_complete) {
    std::string short_one("\0\0\0\x08", 4);
    std::string_view bytes = short_one;
    BOOST_TEST(
        (take_frame(bytes, max_call_frame_bytes).error().code == ErrorCode::invalid_argument));
    std::string long_one("\x01\0\0\x01", 4);
    bytes = long_one;
    BOOST_TEST((take_frame(bytes, max_call_frame_bytes).error().code == ErrorCode::limit_exceeded));
    std::string kind("\0\0\0\x09\x06", 5);
    bytes = kind;
    BOOST_TEST(
        (take_frame(bytes, max_call_frame_bytes).error().code == ErrorCode::invalid_argument));
}

// docs/protocol.md documents these numbers.
BOOST_AUTO_TEST_CASE(have_the_bytes_of_the_documented_protocol) {
    Acquire acquire;
    acquire.opens.emplace().principal = "ann";
    acquire.locks = {{.resource = "orders/42", .mode = Mode::write}};
    acquire.patience = 5s;
    std::string shown;
    for (const char byte : call_bytes({acquire, {}, {}})) {
        static constexpr std::string_view digits = "0123456789abcdef";
        shown += digits[static_cast<unsigned char>(byte) >> 4];
        shown += digits[static_cast<unsigned char>(byte) & 15];
    }
    BOOST_TEST(shown ==
               "0000002f010000000000000007"  // length, kind, number
               "5933"                        // Acquire
               "799303616e6e"                // Principal "ann"
               "f1d600"                      // Bound none
               "778711010f"                  // Locks: 17 bytes, one lock of 15 bytes
               "722b096f72646572732f3432"    // Resource "orders/42"
               "432401"                      // Mode write
               "9e0c904e"                    // PatienceMs 5000
               "793c00");                    // Held refuse
}

BOOST_AUTO_TEST_SUITE_END()
