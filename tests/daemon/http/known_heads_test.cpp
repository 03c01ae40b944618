// Heads of requests that were parsed before.
#include "daemon/http/known_heads.hpp"

#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>

#include "daemon/http/usual_request.hpp"

namespace rocklock {
namespace {

std::string head_with(const std::string& operation, const std::string& length) {
    return "POST / HTTP/1.1\r\nHost: a\r\ncontent-length:" + length +
           "\r\nX-Amz-Target: " + operation + "\r\n\r\n";
}

void add(KnownHeads& heads, const std::string& head) {
    HttpRequest request;
    BOOST_REQUIRE(read_usual_request(head + "{}", request).has_value());
    heads.add(head, request);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(known_heads)

BOOST_AUTO_TEST_CASE(are_found_with_any_length) {
    KnownHeads heads;
    BOOST_TEST(!heads.find(head_with("A", "2") + "{}").has_value());
    add(heads, head_with("A", "2"));
    add(heads, head_with("B", " 2"));
    for (const std::string_view length : {"0", "7", "10", "0012", "1000"}) {
        for (const bool is_b : {false, true}) {
            const auto head = head_with(is_b ? "B" : "A", (is_b ? " " : "") + std::string(length));
            const std::size_t size = std::stoul(std::string(length));
            const auto input = head + std::string(size, 'x') + "POST ";
            const auto found = heads.find(input);
            BOOST_REQUIRE(found.has_value());
            BOOST_TEST(found->head_bytes == head.size());
            BOOST_TEST(found->body_bytes == size);
            BOOST_TEST(found->request.operation == (is_b ? "B" : "A"));
            BOOST_TEST(found->request.host == "a");
            BOOST_TEST(found->request.body.empty());
        }
    }
}

BOOST_AUTO_TEST_CASE(are_not_found_in_other_input) {
    KnownHeads heads;
    const auto head = head_with("A", "2");
    add(heads, head);
    const auto whole = head + "{}";
    for (std::size_t size = 0; size < whole.size(); ++size) {
        BOOST_TEST(!heads.find(std::string_view(whole).substr(0, size)).has_value());
    }
    for (std::size_t at = 0; at < head.size(); ++at) {
        auto changed = whole;
        changed[at] = changed[at] == 'x' ? 'y' : 'x';
        BOOST_TEST(!heads.find(changed).has_value(), changed);
    }
    for (const std::string_view length :
         {"", "-2", "+2", "2 ", "0x2", "16777217", "18446744073709551618"}) {
        BOOST_TEST(!heads.find(head_with("A", std::string(length)) + "{}").has_value(), length);
    }
    BOOST_TEST(heads.find(whole).has_value());
}

BOOST_AUTO_TEST_CASE(have_no_secrets_and_no_headers_that_change) {
    KnownHeads heads;
    for (const std::string header : {"Authorization: Bearer secret", "X-Amz-Date: 20260101T000000Z",
                                     "amz-sdk-invocation-id: 1", "amz-sdk-request: attempt=1"}) {
        auto head = head_with("A", "2");
        head.insert(head.find("Host"), header + "\r\n");
        add(heads, head);
        BOOST_TEST(!heads.find(head + "{}").has_value(), head);
    }
}

BOOST_AUTO_TEST_CASE(are_replaced_if_there_are_too_many) {
    KnownHeads heads;
    const auto name = [](int number) { return head_with("A" + std::to_string(number), "2"); };
    for (int i = 0; i < 8; ++i) add(heads, name(i));
    // A known head is not added again.
    for (int i = 0; i < 8; ++i) add(heads, name(i));
    for (int i = 0; i < 8; ++i) BOOST_TEST(heads.find(name(i) + "{}").has_value());
    add(heads, name(8));
    BOOST_TEST(!heads.find(name(0) + "{}").has_value());
    for (int i = 1; i < 9; ++i) BOOST_TEST(heads.find(name(i) + "{}").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
