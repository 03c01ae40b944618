// Plays the corpora that the fuzzer has found, and all inputs that ever failed.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "fuzz/client_player.hpp"
#include "fuzz/expressions_player.hpp"
#include "fuzz/peer_player.hpp"
#include "fuzz/tables_player.hpp"
#include "support/repetitions.hpp"

namespace {

struct Input {
    std::string name;
    std::string bytes;
};

std::vector<Input> corpus(const std::string& player) {
    const std::filesystem::path root(std::getenv("ROCKLOCK_SOURCE_ROOT"));
    std::vector<Input> inputs;
    for (const auto& entry :
         std::filesystem::directory_iterator(root / "tests/fuzz/corpus" / player)) {
        std::ifstream file(entry.path(), std::ios::binary);
        inputs.push_back({entry.path().filename().string(),
                          std::string{std::istreambuf_iterator<char>(file), {}}});
    }
    return inputs;
}

void play_all(const std::string& player, void (*play)(std::string_view)) {
    const auto inputs = corpus(player);
    BOOST_TEST(inputs.size() >= 100);
    for (const auto& input : inputs) {
        BOOST_TEST_CONTEXT(input.name) { BOOST_CHECK_NO_THROW(play(input.bytes)); }
    }
}

BOOST_AUTO_TEST_SUITE(every_input_of_the_corpus_of)

BOOST_AUTO_TEST_CASE(clients) { play_all("client", rocklock::play_client); }
BOOST_AUTO_TEST_CASE(expressions) { play_all("expressions", rocklock::play_expressions); }
BOOST_AUTO_TEST_CASE(connections_between_daemons) { play_all("peer", rocklock::play_peer); }
BOOST_AUTO_TEST_CASE(tables) { play_all("tables", rocklock::play_tables); }

BOOST_AUTO_TEST_SUITE_END()

// Plays the beginnings of each conversation: requests that are cut off at any position.
BOOST_AUTO_TEST_CASE(every_conversation_that_stops_somewhere) {
    constexpr std::size_t step = rocklock::testing::with_address_sanitizer ? 23 : 7;
    for (const auto& input : corpus("client")) {
        if (!input.name.starts_with("seed-")) continue;
        for (std::size_t size = 0; size < input.bytes.size(); size += step) {
            BOOST_CHECK_NO_THROW(
                rocklock::play_client(std::string_view(input.bytes).substr(0, size)));
        }
    }
}

}  // namespace
