#include "daemon/net/held_responses.hpp"

#include <string>

#include <boost/test/unit_test.hpp>

namespace rocklock {
namespace {

const Result<Answer> released = Answer(Released());

HeldResponses::Response& add(HeldResponses& responses, std::uint64_t call,
                             const Result<Answer>& answer = released) {
    return responses.add({call, 100 + call}, answer, false, {});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(held_responses)

BOOST_AUTO_TEST_CASE(are_found_until_they_are_removed) {
    HeldResponses responses;
    for (std::uint64_t call = 1; call <= 10; ++call) add(responses, call).bytes = "b";
    responses.find(7).bytes = "seven";
    responses.find(10).bytes = "ten";
    responses.remove(responses.find(7));
    BOOST_TEST(!responses.has_request(107));
    BOOST_TEST(responses.has_request(110));
    BOOST_TEST(responses.find(10).bytes == "ten");
    for (const std::uint64_t call : {1U, 10U, 2U, 9U, 3U, 8U, 4U, 6U, 5U}) {
        responses.remove(responses.find(call));
        BOOST_TEST(!responses.has_request(100 + call));
    }
}

BOOST_AUTO_TEST_CASE(leave_no_content_and_little_memory) {
    HeldResponses responses;
    auto& first = add(responses, 1, Error(ErrorCode::conflict, "held"));
    BOOST_TEST((first.refusal->code == ErrorCode::conflict));
    BOOST_TEST(first.may_discard);
    first.bytes = std::string(1'000'000, 'x');
    responses.remove(first);
    const auto& second = add(responses, 2);
    BOOST_TEST(!second.may_discard);
    BOOST_TEST(second.bytes.empty());
    BOOST_TEST(second.bytes.capacity() <= 4096U);
    BOOST_TEST(second.refusal == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
