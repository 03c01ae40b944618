// The dump in docs/storage_format.md equals the bytes that a store writes.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <boost/test/unit_test.hpp>

#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "item/item_codec.hpp"
#include "item/key_codec.hpp"
#include "lock/manager/lock_manager.hpp"
#include "lock/records/records.hpp"

namespace rocklock::testing {

namespace {

using namespace std::chrono_literals;

std::string hex(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
        text += digits;
    }
    return text;
}

// Returns the bytes of a documented dump: the first column of each line.
std::string documented(const std::string& name) {
    std::ifstream file(std::string(std::getenv("ROCKLOCK_SOURCE_ROOT")) +
                       "/docs/storage_format.md");
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const std::string mark = "<!-- dump: " + name + " -->\n\n";
    const std::size_t begin = text.find(mark);
    BOOST_REQUIRE(begin != std::string::npos);
    std::istringstream lines(text.substr(begin + mark.size()));
    std::string bytes;
    for (std::string line; std::getline(lines, line) && line.starts_with("    ");) {
        const std::size_t end = line.find("  ", 4);
        for (const char digit : line.substr(4, end - 4)) {
            if (digit != ' ') bytes.push_back(digit);
        }
    }
    return bytes;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_example_dump)

// The note is in the record of its grant, and the record has a place for metadata (requirement D6).
BOOST_AUTO_TEST_CASE(is_the_content_of_a_store) {
    SimulatedClock clock;
    const auto storage = make_memory_storage(clock);
    LockManagerOptions options;
    options.background = false;
    options.session_ids = [] {
        SessionId id;
        for (std::size_t i = 0; i < id.bytes.size(); ++i) {
            id.bytes[i] = static_cast<std::uint8_t>(0xA0 + i);
        }
        return id;
    };
    const auto manager = LockManager::open(*storage, clock, options).value();
    OpenSession open;
    open.principal = "ann";
    open.uid = 1000;
    open.pid = 4711;
    const SessionInfo session = manager->ask(open).value();
    clock.advance(2s);
    Acquire acquire;
    acquire.session = session.id;
    acquire.locks.push_back({.resource = "orders/42"});
    acquire.note = "by phone";
    const Grant grant = manager->ask(acquire).value();
    const auto held = *storage->get(Family::locks, records::grant_key(grant.id)).value();
    BOOST_TEST(hex(records::grant_key(grant.id)) == documented("grant key"));
    BOOST_TEST(hex(held) == documented("grant"));
    const auto opened = *storage->get(Family::locks, records::session_key(session.id)).value();
    BOOST_TEST(hex(opened) == documented("session"));
    clock.advance(3s);
    manager->ask(RenewSession{session.id, {}, {}, {}, {}}).value();
    const auto renewed = *storage->get(Family::locks, records::deadline_key(session.id)).value();
    BOOST_TEST(hex(renewed) == documented("renewal"));
}

BOOST_AUTO_TEST_CASE(is_how_an_item_is_written) {
    std::string item;
    append_item(item, {{"pk", "a"}, {"n", Number(-1500)}, {"ok", true}});
    BOOST_TEST(hex(item) == documented("item"));
    std::string key;
    append_partition(key, "a");
    append_key_value(key, Number::parse("-12345.6").value());
    BOOST_TEST(hex(key) == documented("item key"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
