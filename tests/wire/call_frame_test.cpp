#include "wire/call_frame.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "base/bytes.hpp"
#include "wire/call_json.hpp"
#include "wire/random_frames.hpp"

using namespace std::chrono_literals;
using namespace rocklock;
using namespace rocklock::testing;

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
    std::string kind("\0\0\0\x09\x07", 5);
    bytes = kind;
    BOOST_TEST(
        (take_frame(bytes, max_call_frame_bytes).error().code == ErrorCode::invalid_argument));
}

BOOST_AUTO_TEST_CASE(that_ask_for_shared_memory_are_read) {
    std::string written;
    append_share(written);
    BOOST_TEST(written == std::string("\0\0\0\x09\x06\0\0\0\0\0\0\0\0", 13));
    std::string_view bytes = written;
    const auto frame = take_frame(bytes, max_call_frame_bytes).value();
    BOOST_TEST((frame && frame->kind == FrameKind::share && frame->body.empty()));
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
