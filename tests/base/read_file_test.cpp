#include "base/read_file.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <string>

#include <boost/test/unit_test.hpp>

#include "support/temporary_directory.hpp"

namespace rocklock {

BOOST_AUTO_TEST_SUITE(a_file)

BOOST_AUTO_TEST_CASE(is_read_up_to_the_maximum) {
    const testing::TemporaryDirectory directory;
    const auto path = directory / "file";
    const std::string text(10'000, 'x');
    std::ofstream(path) << text;
    BOOST_TEST(read_file(path, 20'000).value() == text);
    BOOST_TEST(read_file(path, 10'000).value() == text);
    BOOST_TEST(read_file(path, 9'999).value() == text.substr(1));
    BOOST_TEST(read_file(path, 0).value().empty());
}

BOOST_AUTO_TEST_CASE(that_cannot_be_opened_or_read_is_an_error) {
    const testing::TemporaryDirectory directory;
    BOOST_TEST(!read_file(directory / "absent", 10).has_value());
    BOOST_TEST(errno == ENOENT);
    BOOST_TEST(!read_file(directory.path().string(), 10).has_value());
    BOOST_TEST(errno == EISDIR);
    // Can be opened, but address 0 cannot be read, as a file of /proc after its process has ended.
    BOOST_TEST(!read_file("/proc/self/mem", 10).has_value());
    BOOST_TEST(errno == EIO);
}

BOOST_AUTO_TEST_CASE(that_is_a_named_pipe_is_not_waited_for) {
    const testing::TemporaryDirectory directory;
    const auto path = directory / "pipe";
    BOOST_TEST_REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    BOOST_TEST(read_file(path, 10).value().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
