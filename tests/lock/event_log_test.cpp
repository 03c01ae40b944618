// The log of events, compared with a plain list of the same events.
#include "lock/manager/event_log.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/clock.hpp>
#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/faulty_storage.hpp>

namespace {

using namespace rocklock;
using lock_model::EncodedEvents;
using lock_model::EventFacts;

// The log keeps its events in blocks of 16 KiB.
constexpr std::size_t larger_than_a_block = 20'000;

LockEvent event_with(std::uint64_t sequence, std::mt19937& random) {
    const auto text = [&](std::size_t max_size) {
        const std::size_t size = random() % (max_size + 1);
        return std::string(size, static_cast<char>('a' + random() % 3));
    };
    LockEvent event;
    event.sequence = sequence;
    event.type = static_cast<EventType>(random() % 9);
    event.grant = GrantId{random()};
    event.token = Token{random()};
    event.at = WallTime(std::chrono::milliseconds(random()));
    event.mode = static_cast<Mode>(random() % 3);
    event.permits = static_cast<std::uint32_t>(random());
    event.resource = "r" + text(60);
    event.principal = text(20);
    event.by = text(5);
    event.reason = text(random() % 200 == 0 ? larger_than_a_block : 5);
    return event;
}

void add(EncodedEvents& encoded, const LockEvent& event) {
    encoded.add(
        {event.sequence, event.grant, event.token, event.at, event.permits, event.type, event.mode},
        {event.resource, event.principal, event.by, event.reason});
}

// Reads all events after `after` that have the prefix, in pages of this size.
std::vector<LockEvent> read_all(const EventLog& log, std::uint64_t after, const std::string& prefix,
                                std::size_t limit) {
    std::vector<LockEvent> events;
    while (true) {
        WatchRequest request;
        request.after = after;
        request.prefix = prefix;
        request.limit = static_cast<std::uint32_t>(limit);
        const EventPage page = log.page(request).value();
        BOOST_REQUIRE(page.events.size() <= limit);
        events.insert(events.end(), page.events.begin(), page.events.end());
        if (page.after == after) return events;
        after = page.after;
    }
}

std::vector<LockEvent> matching(const std::deque<LockEvent>& events, std::uint64_t after,
                                const std::string& prefix) {
    std::vector<LockEvent> result;
    for (const LockEvent& event : events) {
        if (event.sequence > after && event.resource.starts_with(prefix)) result.push_back(event);
    }
    return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(an_event_log)

BOOST_AUTO_TEST_CASE(returns_the_newest_events) {
    std::mt19937 random(5);
    const auto storage = make_memory_storage(system_clock());
    constexpr std::size_t max = 700;
    EventLog log(max);
    log.start(10);
    std::deque<LockEvent> model;
    std::uint64_t sequence = 10;
    std::uint64_t dropped = 0;
    EncodedEvents encoded;
    for (int round = 0; round < 2'000; ++round) {
        encoded.clear();
        for (auto left = random() % 5; left > 0; --left) {
            sequence += 1 + random() % 3;
            model.push_back(event_with(sequence, random));
            add(encoded, model.back());
            if (model.size() <= max) continue;
            model.pop_front();
            ++dropped;
        }
        log.add(encoded, {});
        BOOST_REQUIRE(log.kept() == model.size());
        BOOST_REQUIRE(log.dropped() == dropped);
        if (round % 50 != 0 || model.empty()) continue;
        log.publish(*storage);
        BOOST_TEST(log.unpublished() == 0U);
        const std::uint64_t first = model.front().sequence;
        const std::uint64_t after = first + random() % (sequence - first + 1);
        const std::string prefix = random() % 2 == 0 ? "" : "ra";
        BOOST_REQUIRE(
            (read_all(log, after, prefix, 1 + random() % 100) == matching(model, after, prefix)));
        const LockEvent& some = model[random() % model.size()];
        BOOST_REQUIRE((log.find(some.sequence) == some));
        BOOST_REQUIRE(!log.find(first - 1));
        BOOST_REQUIRE(!log.find(sequence + 1));
    }
    BOOST_TEST(dropped > max);
}

BOOST_AUTO_TEST_CASE(reports_events_that_it_has_dropped) {
    std::mt19937 random(6);
    const auto storage = make_memory_storage(system_clock());
    EventLog log(3);
    log.start(2);
    EncodedEvents encoded;
    for (std::uint64_t sequence = 2; sequence <= 6; ++sequence) {
        add(encoded, event_with(sequence, random));
    }
    log.add(encoded, {});
    log.publish(*storage);
    WatchRequest request;
    request.after = 2;
    const EventPage page = log.page(request).value();
    BOOST_TEST(page.gap);
    BOOST_REQUIRE(page.events.size() == 3U);
    BOOST_TEST(page.events.front().sequence == 4U);
    request.after = 3;
    BOOST_TEST(!log.page(request).value().gap);
}

BOOST_AUTO_TEST_CASE(publishes_events_after_their_commits) {
    std::mt19937 random(7);
    const auto storage = std::make_unique<testing::FaultyStorage>(system_clock());
    EventLog log(10);
    log.start(2);
    for (const std::uint64_t sequence : {2U, 3U}) {
        Batch batch;
        batch.writes.push_back({Family::meta, "key", "value"});
        const CommitNumber commit = storage->enqueue(std::move(batch), Durability::written);
        EncodedEvents encoded;
        add(encoded, event_with(sequence, random));
        log.add(encoded, {commit, Durability::written});
    }
    BOOST_TEST(!log.publish(*storage));
    BOOST_TEST(log.unpublished() == 2U);
    BOOST_TEST(!log.find(2));
    BOOST_REQUIRE(storage->wait(2, Durability::written));
    BOOST_TEST(log.publish(*storage));
    BOOST_TEST(log.unpublished() == 0U);
    BOOST_TEST(log.find(3).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
