// The frames on a link between a relay and a manager.
#include "daemon/peer/link_frames.hpp"

#include <random>
#include <string>

#include <boost/test/unit_test.hpp>

namespace {

using namespace rocklock;

const ClientIdentity client{1000, "ann", {4242, 987'654}, false};

}  // namespace

BOOST_AUTO_TEST_SUITE(a_frame_of_a_link)

BOOST_AUTO_TEST_CASE(is_taken_when_it_is_complete) {
    std::string bytes;
    append_frame(bytes, LinkFrame::data, 7, "some bytes");
    append_frame(bytes, LinkFrame::end, 8, "");
    for (std::size_t size = 0; size < link_frame_head + 10; ++size) {
        auto part = std::string_view(bytes).substr(0, size);
        BOOST_TEST(!take_frame(part).value().has_value());
        BOOST_TEST(part.size() == size);
    }
    std::string_view rest = bytes;
    const auto data = take_frame(rest).value().value();
    BOOST_TEST((data.type == LinkFrame::data && data.channel == 7 && data.payload == "some bytes"));
    const auto end = take_frame(rest).value().value();
    BOOST_TEST((end.type == LinkFrame::end && end.channel == 8 && end.payload.empty()));
    BOOST_TEST(rest.empty());
}

BOOST_AUTO_TEST_CASE(with_an_unknown_type_or_too_many_bytes_is_refused) {
    std::string bytes;
    append_frame(bytes, LinkFrame::ended, 0, "x");
    for (const char type : {char{0}, char{12}, char{-1}}) {
        auto changed = bytes;
        changed[4] = type;
        std::string_view rest = changed;
        BOOST_TEST(!take_frame(rest).has_value());
    }
    bytes[0] = 1;
    std::string_view rest = bytes;
    BOOST_TEST(!take_frame(rest).has_value());
}

BOOST_AUTO_TEST_CASE(contains_what_was_encoded) {
    BOOST_TEST((decode_client(encode(client)).value() == client));
    const ClientIdentity unknown{UINT32_MAX, "", {}, true};
    BOOST_TEST((decode_client(encode(unknown)).value() == unknown));
    const ProcessId process{INT32_MAX, UINT64_MAX};
    BOOST_TEST((decode_process(encode(process)).value() == process));
    BOOST_TEST(decode_count(encode_count(UINT64_MAX)).value() == UINT64_MAX);
    const ProcessQuery query{UINT64_MAX, 1000, INT32_MAX};
    BOOST_TEST((decode_query(encode(query)).value() == query));
    for (const bool of_another_user : {false, true}) {
        const ProcessReport report{7, process, of_another_user};
        BOOST_TEST((decode_report(encode(report)).value() == report));
    }
}

BOOST_AUTO_TEST_CASE(with_an_incomplete_or_too_long_payload_is_refused) {
    const auto bytes = encode(client);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        BOOST_TEST(!decode_client(bytes.substr(0, size)).has_value());
    }
    BOOST_TEST(!decode_client(bytes + "x").has_value());
    BOOST_TEST(!decode_process(encode(ProcessId{1, 2}) + "x").has_value());
    BOOST_TEST(!decode_process("").has_value());
    BOOST_TEST(!decode_query("").has_value());
    BOOST_TEST(!decode_query(encode(ProcessQuery{}) + "x").has_value());
    BOOST_TEST(!decode_report("").has_value());
    BOOST_TEST(!decode_report(encode(ProcessReport{}) + "x").has_value());
    BOOST_TEST(!decode_count("").has_value());
}

BOOST_AUTO_TEST_CASE(of_random_bytes_is_taken_or_refused) {
    std::mt19937 random(26);
    for (int round = 0; round < 20'000; ++round) {
        std::string bytes(random() % 40, '\0');
        for (auto& byte : bytes)
            byte = static_cast<char>(random() % 3 == 0 ? random() : random() % 10);
        std::string_view rest = bytes;
        while (true) {
            const auto frame = take_frame(rest);
            if (!frame || !*frame) break;
            [[maybe_unused]] const auto identity = decode_client((*frame)->payload);
            [[maybe_unused]] const auto process = decode_process((*frame)->payload);
            [[maybe_unused]] const auto count = decode_count((*frame)->payload);
        }
        BOOST_TEST(rest.size() <= bytes.size());
    }
}

BOOST_AUTO_TEST_SUITE_END()
