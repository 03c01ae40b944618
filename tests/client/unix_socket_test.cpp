// Connecting to a Unix socket if its listener does not accept connections.
#include "client/unix_socket.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "support/temporary_directory.hpp"

namespace {

using namespace rocklock;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

BOOST_AUTO_TEST_SUITE(a_unix_socket)

BOOST_AUTO_TEST_CASE(that_does_not_accept_connections_is_given_up_after_the_timeout) {
    const testing::TemporaryDirectory directory;
    const auto path = directory / "s";
    const auto address = unix_address(path);
    BOOST_REQUIRE(address.has_value());
    const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    BOOST_REQUIRE_EQUAL(
        ::bind(listener, reinterpret_cast<const sockaddr*>(&*address), sizeof *address), 0);
    BOOST_REQUIRE_EQUAL(::listen(listener, 0), 0);
    std::vector<int> connected;
    int reason = 0;
    for (int i = 0; i < 10 && reason == 0; ++i) {
        const auto start = steady_clock::now();
        const int fd = connect_unix(path, start + milliseconds{50});
        if (fd >= 0) {
            connected.push_back(fd);
            continue;
        }
        reason = errno;
        BOOST_TEST((steady_clock::now() - start >= milliseconds{40}));
    }
    BOOST_TEST(reason == EAGAIN);
    BOOST_TEST(!connected.empty());
    for (const int fd : connected) ::close(fd);
    ::close(listener);
    // If no process listens, connect_unix() returns immediately.
    BOOST_TEST(connect_unix(path, steady_clock::now() + milliseconds{60'000}) == -1);
    BOOST_TEST(errno == ECONNREFUSED);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
