#include "daemon/http_reader.hpp"

#include <vector>

#include <boost/test/unit_test.hpp>

using rocklock::HttpReader;
using rocklock::HttpRequest;

namespace {

const std::string one = "POST / HTTP/1.1\r\nX-Amz-Target: A.B\r\nContent-Length: 3\r\n\r\nabc";

struct Reading {
    HttpReader reader;
    std::vector<HttpRequest> requests;
    // Takes no more than these.
    std::size_t most = 1'000'000;

    std::optional<rocklock::HttpProblem> receive(std::string_view bytes) {
        return reader.receive(
            bytes, [this] { return requests.size() < most; },
            [this](HttpRequest request) { requests.push_back(std::move(request)); });
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(an_http_reader)

BOOST_AUTO_TEST_CASE(reads_many_requests_from_one_piece) {
    Reading reading;
    BOOST_TEST(!reading.receive(one + one + one + "POS").has_value());
    BOOST_REQUIRE(reading.requests.size() == 3);
    BOOST_TEST(reading.requests[2].body == "abc");
    BOOST_TEST(reading.requests[2].operation == "A.B");
    BOOST_TEST(reading.requests[2].keep_alive);
}

BOOST_AUTO_TEST_CASE(reads_one_request_from_any_two_pieces) {
    for (std::size_t cut = 0; cut <= one.size(); ++cut) {
        Reading reading;
        BOOST_TEST(!reading.receive(one.substr(0, cut)).has_value());
        BOOST_TEST(!reading.receive(one.substr(cut)).has_value());
        BOOST_REQUIRE(reading.requests.size() == 1);
        BOOST_TEST(reading.requests[0].body == "abc");
    }
}

BOOST_AUTO_TEST_CASE(knows_when_a_connection_is_to_end) {
    Reading reading;
    BOOST_TEST(!reading.receive("GET /x HTTP/1.0\r\n\r\n").has_value());
    BOOST_REQUIRE(reading.requests.size() == 1);
    BOOST_TEST(!reading.requests[0].keep_alive);
    BOOST_TEST(reading.requests[0].target == "/x");
}

BOOST_AUTO_TEST_CASE(refuses_what_is_too_large_by_its_own_status) {
    Reading header;
    const auto long_header = header.receive("POST / HTTP/1.1\r\nA: " + std::string(70'000, 'x'));
    BOOST_REQUIRE(long_header.has_value());
    BOOST_TEST(long_header->status == 431);
    Reading body;
    const auto long_body = body.receive("POST / HTTP/1.1\r\nContent-Length: 16777217\r\n\r\n");
    BOOST_REQUIRE(long_body.has_value());
    BOOST_TEST(long_body->status == 413);
}

BOOST_AUTO_TEST_CASE(refuses_what_is_no_http) {
    for (const char* bytes :
         {"HELLO\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", "\x01\x02\r\n\r\n",
          "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"}) {
        Reading reading;
        const auto problem = reading.receive(bytes);
        BOOST_REQUIRE(problem.has_value());
        BOOST_TEST(problem->status == 400);
        BOOST_TEST(reading.requests.empty());
    }
}

BOOST_AUTO_TEST_CASE(keeps_what_nobody_takes_yet) {
    Reading reading;
    reading.most = 1;
    BOOST_TEST(!reading.receive(one + one + one.substr(0, 20)).has_value());
    BOOST_TEST(reading.requests.size() == 1U);
    BOOST_TEST(reading.reader.held_bytes() == one.size() + 20);
    reading.most = 1'000'000;
    BOOST_TEST(!reading.receive({}).has_value());
    BOOST_TEST(reading.requests.size() == 2U);
    BOOST_TEST(!reading.receive(one.substr(20)).has_value());
    BOOST_TEST(reading.requests.size() == 3U);
    BOOST_TEST(reading.reader.held_bytes() == 0U);
}

BOOST_AUTO_TEST_CASE(says_once_that_a_client_waits_to_be_told_to_continue) {
    Reading reading;
    BOOST_TEST(
        !reading.receive("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
             .has_value());
    BOOST_TEST(reading.reader.wants_continue());
    BOOST_TEST(!reading.reader.wants_continue());
}

BOOST_AUTO_TEST_SUITE_END()
