// The text format of a stream of events.
#include "daemon/net/event_stream.hpp"

#include <boost/test/unit_test.hpp>

namespace {

using namespace rocklock;

LockEvent event(std::uint64_t sequence, const std::string& resource) {
    LockEvent made;
    made.sequence = sequence;
    made.resource = resource;
    return made;
}

BOOST_AUTO_TEST_SUITE(an_event_stream)

BOOST_AUTO_TEST_CASE(reads_its_query) {
    const auto stream = EventStream::open("/events?prefix=a%2fb+c%26&after=7", "");
    BOOST_REQUIRE(stream.has_value());
    BOOST_TEST(stream->next().prefix == "a/b c&");
    BOOST_TEST(stream->next().after == 7U);
    BOOST_TEST(EventStream::open("/events?after=7", "9")->next().after == 9U);
    BOOST_TEST(EventStream::open("/events", "")->next().after == 0U);
    for (const auto* wrong :
         {"/events?after=", "/events?after=1x", "/events?prefix=%", "/events?x"}) {
        BOOST_TEST(!EventStream::open(wrong, "").has_value(), wrong);
    }
    BOOST_TEST(!EventStream::open("/events", "9, 10").has_value());
}

BOOST_AUTO_TEST_CASE(keeps_every_name_on_one_line) {
    auto stream = *EventStream::open("/events", "");
    const auto text = stream.page({{event(3, "a\n\nevent: forged\r\rid: 9")}, 4, false});
    BOOST_TEST(text.starts_with("id: 3\nevent: granted\ndata: {"));
    BOOST_TEST(text.find('\r') == std::string::npos);
    BOOST_TEST(text.find("\n\n") == text.size() - 2);
    BOOST_TEST(stream.next().after == 4U);
}

BOOST_AUTO_TEST_CASE(sends_comments_while_there_are_no_events) {
    auto stream = *EventStream::open("/events", "");
    BOOST_TEST(stream.page({{}, 12, false}) == ": nothing new\nid: 12\n\n");
    BOOST_TEST(stream.page({{}, 12, true}).starts_with("event: gap\ndata: {\"After\":12}\n\n"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
