#include "daemon/http/http_reader.hpp"

#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "daemon/http/usual_request.hpp"

using rocklock::HttpReader;
using rocklock::HttpRequest;

namespace {

const std::string one = "POST / HTTP/1.1\r\nX-Amz-Target: A.B\r\nContent-Length: 3\r\n\r\nabc";

struct Reading {
    HttpReader reader;
    std::vector<HttpRequest> requests;
    // The maximum number of requests to accept.
    std::size_t most = 1'000'000;

    std::optional<rocklock::HttpProblem> receive(std::string_view bytes) {
        return reader.receive(
            bytes, [this] { return requests.size() < most; },
            [this](HttpRequest request) { requests.push_back(std::move(request)); });
    }
};

const std::string of_an_sdk =
    "POST / HTTP/1.1\r\nHost: localhost:8000\r\nAccept-Encoding: identity\r\n"
    "X-Amz-Target: DynamoDB_20120810.GetItem\r\nContent-Type: application/x-amz-json-1.0\r\n"
    "User-Agent: Boto3/1.26 md/Botocore#1.29\r\nX-Amz-Date: 20260101T000000Z\r\n"
    "Authorization: AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=0123\r\n"
    "amz-sdk-invocation-id: 1\r\namz-sdk-request: attempt=1\r\nconnection: keep-alive\r\n"
    "Content-Length: 5\r\n\r\n{\"a\"}";

// The members that are read from the bytes.
auto members_of(const HttpRequest& request) {
    return std::tuple(request.method, request.target, request.operation, request.host,
                      request.content_type, request.content_encoding, request.authorization,
                      request.date, request.amz_date, request.lock_headers, request.body,
                      request.origin, request.accept, request.last_event_id, request.fetch_site,
                      request.fetch_mode, request.fetch_dest, request.keep_alive);
}

// Checks that the direct reader refuses the bytes or reads them as the general parser does, which
// is used because the first byte arrives alone. Returns whether the direct reader accepts the
// bytes.
bool is_read_alike(const std::string& bytes) {
    HttpRequest usual;
    const auto size = rocklock::read_usual_request(bytes, usual);
    if (!size) return false;
    Reading general;
    general.most = 1;
    BOOST_TEST(!general.receive(bytes.substr(0, 1)).has_value());
    BOOST_TEST(!general.receive(bytes.substr(1)).has_value(), bytes);
    BOOST_TEST(general.reader.taken_bytes() == *size, bytes);
    BOOST_TEST_REQUIRE(general.requests.size() == 1U, bytes);
    BOOST_TEST((members_of(general.requests[0]) == members_of(usual)), bytes);
    Reading whole;
    whole.most = 1;
    BOOST_TEST(!whole.receive(bytes).has_value());
    BOOST_TEST(whole.reader.taken_bytes() == *size);
    BOOST_TEST_REQUIRE(whole.requests.size() == 1U);
    BOOST_TEST((members_of(whole.requests[0]) == members_of(usual)));
    return true;
}

std::string replaced(std::string text, const std::string& part, const std::string& by) {
    const auto at = text.find(part);
    BOOST_TEST_REQUIRE(at != std::string::npos);
    return text.replace(at, part.size(), by);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(an_http_reader)

BOOST_AUTO_TEST_CASE(reads_the_usual_requests_of_sdks_directly) {
    for (const std::string& bytes :
         {one, of_an_sdk, of_an_sdk + "POS", of_an_sdk + of_an_sdk,
          replaced(of_an_sdk, "POST /", "POST /a?b=%20"), replaced(of_an_sdk, "Host: ", "hOST:"),
          replaced(replaced(of_an_sdk, "Content-Length: 5", "Content-Length: 0"), "{\"a\"}", "")}) {
        BOOST_TEST(is_read_alike(bytes), bytes);
    }
}

BOOST_AUTO_TEST_CASE(leaves_other_requests_to_the_general_parser) {
    for (const std::string& bytes : {
             replaced(of_an_sdk, "POST", "GET"),
             replaced(of_an_sdk, "/1.1", "/1.0"),
             replaced(of_an_sdk, "POST /", "POST *"),
             replaced(of_an_sdk, " HTTP", "  HTTP"),
             replaced(of_an_sdk, "keep-alive", "close"),
             replaced(of_an_sdk, "Content-Length: 5", "Content-Length: 6"),
             replaced(of_an_sdk, "Content-Length: 5", "Content-Length: x"),
             replaced(of_an_sdk, "Content-Length: 5\r\n", ""),
             replaced(of_an_sdk, "Content-Length: 5", "Transfer-Encoding: chunked"),
             replaced(of_an_sdk, "Content-Length", "Content-Length: 5\r\nTransfer-Encoding"),
             replaced(of_an_sdk, "Content-Length: 5", "Content-Length: 5\r\nContent-Length: 5"),
             replaced(of_an_sdk, "Content-Length: 5", "Content-Length: 5\r\nExpect: 100-continue"),
             replaced(of_an_sdk, "Content-Length: 5", "Content-Length: 5\r\nX-Rocklock-Token: 1"),
             replaced(of_an_sdk, "Content-Length: 5",
                      "Content-Length: 5\r\nContent-Encoding: gzip"),
             replaced(of_an_sdk, "Content-Length: 5", "Content-Length: 99999999"),
             replaced(of_an_sdk, "localhost:8000", "localhost\r\n :8000"),
             replaced(of_an_sdk, "localhost:8000", "localhost:8000 "),
             replaced(of_an_sdk, "localhost:8000", "local\thost"),
             replaced(of_an_sdk, "localhost:8000", "local\x7Fhost"),
             replaced(of_an_sdk, "localhost:8000", ""),
             replaced(of_an_sdk, "Host", "Host "),
             replaced(of_an_sdk, "localhost:8000", std::string(9'000, 'x')),
             replaced(of_an_sdk, "8000\r", "8000"),
             replaced(of_an_sdk, "\r\n\r\n", "\r\n"),
         }) {
        HttpRequest request;
        BOOST_TEST(!rocklock::read_usual_request(bytes, request).has_value(), bytes);
    }
    for (std::size_t size = 0; size < of_an_sdk.size(); ++size) {
        HttpRequest request;
        BOOST_TEST(!rocklock::read_usual_request(of_an_sdk.substr(0, size), request).has_value());
    }
}

BOOST_AUTO_TEST_CASE(reads_or_leaves_changed_requests_as_the_general_parser_reads_them) {
    std::mt19937_64 random(1);
    constexpr std::string_view likely = "\r\n: \t,;/\x1f\x7f\x80";
    std::size_t accepted = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::string bytes = of_an_sdk;
        for (auto changes = random() % 3 + 1; changes > 0; --changes) {
            char& byte = bytes[random() % bytes.size()];
            byte = random() % 2 == 0 ? likely[random() % likely.size()]
                                     : static_cast<char>(random() % 256);
        }
        accepted += is_read_alike(bytes) ? 1 : 0;
    }
    BOOST_TEST(accepted > 100U);
    BOOST_TEST(accepted < 20'000U);
}

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

BOOST_AUTO_TEST_CASE(detects_when_a_connection_must_be_closed) {
    Reading reading;
    BOOST_TEST(!reading.receive("GET /x HTTP/1.0\r\n\r\n").has_value());
    BOOST_REQUIRE(reading.requests.size() == 1);
    BOOST_TEST(!reading.requests[0].keep_alive);
    BOOST_TEST(reading.requests[0].target == "/x");
}

BOOST_AUTO_TEST_CASE(refuses_requests_that_are_too_large_with_the_matching_status) {
    Reading header;
    const auto long_header = header.receive("POST / HTTP/1.1\r\nA: " + std::string(70'000, 'x'));
    BOOST_REQUIRE(long_header.has_value());
    BOOST_TEST(long_header->status == 431);
    Reading body;
    const auto long_body = body.receive("POST / HTTP/1.1\r\nContent-Length: 16777217\r\n\r\n");
    BOOST_REQUIRE(long_body.has_value());
    BOOST_TEST(long_body->status == 413);
}

BOOST_AUTO_TEST_CASE(counts_every_byte_of_the_headers) {
    // Short names and values: all bytes before the body count against the limit.
    const std::vector<std::string> lines = {"a:b\r\n", "a:" + std::string(50, ' ') + "b\r\n"};
    for (const auto& line : lines) {
        std::string header = "POST / HTTP/1.1\r\n";
        while (header.size() < 70'000) header += line;
        for (const std::size_t piece : {header.size(), std::size_t{1000}}) {
            Reading reading;
            std::optional<rocklock::HttpProblem> problem;
            for (std::size_t at = 0; at < header.size() && !problem; at += piece) {
                problem = reading.receive(std::string_view(header).substr(at, piece));
            }
            BOOST_REQUIRE(problem.has_value());
            BOOST_TEST(problem->status == 431);
        }
    }
}

BOOST_AUTO_TEST_CASE(limits_chunk_headers_and_trailers) {
    const std::string start = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    std::string trailer = "0\r\n";
    while (trailer.size() < 140'000) trailer += "a: b\r\n";
    std::string extensions;
    for (int i = 0; i < 140; ++i) extensions += "1;x=" + std::string(1000, 'y') + "\r\nz\r\n";
    const std::string endless = "1;x=" + std::string(140'000, 'y');
    for (const auto& rest : {trailer, extensions, endless}) {
        Reading reading;
        auto problem = reading.receive(start);
        for (std::size_t at = 0; at < rest.size() && !problem; at += 1000) {
            problem = reading.receive(std::string_view(rest).substr(at, 1000));
        }
        BOOST_REQUIRE(problem.has_value());
        BOOST_TEST(problem->status == 431);
        BOOST_TEST(reading.requests.empty());
    }
}

// Byte by byte, and in two pieces of any length. The reader must also work if the last chunk
// arrives alone.
BOOST_AUTO_TEST_CASE(reads_chunks_that_arrive_in_any_pieces) {
    const std::string start = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const std::string end : {"0\r\n\r\n", "00;x\r\n\r\n", "0\r\nA: b\r\n\r\n",
                                  "1\r\na\r\n0\r\n\r\n", "1\r\na\r\n0\r\nA: b\r\n\r\n"}) {
        const std::string whole = start + end;
        const std::string body = end[0] == '1' ? "a" : "";
        for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
            Reading reading;
            BOOST_TEST(!reading.receive(whole.substr(0, cut)).has_value());
            BOOST_TEST(!reading.receive(whole.substr(cut)).has_value());
            BOOST_TEST_REQUIRE(reading.requests.size() == 1U, end << " cut at " << cut);
            BOOST_TEST(reading.requests[0].body == body);
        }
        Reading slow;
        for (const char byte : whole + whole) {
            BOOST_TEST(!slow.receive(std::string_view(&byte, 1)).has_value());
        }
        BOOST_TEST_REQUIRE(slow.requests.size() == 2U, end);
        BOOST_TEST(slow.requests[1].body == body);
    }
}

BOOST_AUTO_TEST_CASE(ignores_trailers_after_the_chunks) {
    Reading reading;
    BOOST_TEST(!reading
                    .receive("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                             "2;a=b\r\n{}\r\n0\r\nX-Amz-Target: A.B\r\nHost: x\r\n\r\n")
                    .has_value());
    BOOST_REQUIRE(reading.requests.size() == 1U);
    BOOST_TEST(reading.requests[0].body == "{}");
    BOOST_TEST(reading.requests[0].operation.empty());
    BOOST_TEST(reading.requests[0].host.empty());
}

BOOST_AUTO_TEST_CASE(accepts_only_the_transfer_encoding_chunked) {
    for (const char* coding : {"gzip", "gzip, chunked", "identity", "chunked, gzip"}) {
        Reading reading;
        const auto problem =
            reading.receive("POST / HTTP/1.1\r\nTransfer-Encoding: " + std::string(coding) +
                            "\r\nContent-Type: x\r\n\r\n");
        BOOST_REQUIRE(problem.has_value());
        BOOST_TEST(problem->status == 501);
    }
    Reading reading;
    BOOST_TEST(!reading.receive("POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n"));
    BOOST_TEST(reading.requests.size() == 1U);
}

BOOST_AUTO_TEST_CASE(refuses_bytes_that_are_not_http) {
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

BOOST_AUTO_TEST_CASE(keeps_unread_bytes) {
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

BOOST_AUTO_TEST_CASE(reports_once_that_a_client_expects_100_continue) {
    Reading reading;
    BOOST_TEST(
        !reading.receive("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
             .has_value());
    BOOST_TEST(reading.reader.wants_continue());
    BOOST_TEST(!reading.reader.wants_continue());
}

BOOST_AUTO_TEST_SUITE_END()
