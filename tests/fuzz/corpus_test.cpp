// What the fuzzer has found worth keeping is played once more: its corpus, and all that ever
// failed.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <boost/test/unit_test.hpp>

#include "fuzz/client_bytes.hpp"

namespace {

std::filesystem::path corpus() {
    return std::filesystem::path(std::getenv("ROCKLOCK_SOURCE_ROOT")) / "tests/fuzz/corpus";
}

BOOST_AUTO_TEST_SUITE(a_server_survives)

BOOST_AUTO_TEST_CASE(every_input_of_the_corpus) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(corpus())) {
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string input{std::istreambuf_iterator<char>(file), {}};
        BOOST_TEST_CONTEXT(entry.path().filename().string()) {
            BOOST_CHECK_NO_THROW(rocklock::play_client(input));
        }
        ++count;
    }
    BOOST_CHECK_GE(count, 100);
}

// Of each, all that comes before its end: requests cut short, wherever.
BOOST_AUTO_TEST_CASE(every_input_that_stops_somewhere) {
    for (const auto& entry : std::filesystem::directory_iterator(corpus())) {
        if (!entry.path().filename().string().starts_with("seed-")) continue;
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string input{std::istreambuf_iterator<char>(file), {}};
        for (std::size_t size = 0; size < input.size(); size += 7) {
            BOOST_CHECK_NO_THROW(rocklock::play_client(std::string_view(input).substr(0, size)));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
