#include "daemon/net/client_socket.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>
#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>

namespace rocklock {
namespace {

// A socket of a client, and the client's end.
struct SocketPair {
    SocketPair() : SocketPair(ends_of_pair()) {}
    explicit SocketPair(std::array<int, 2> ends) : client(ends[1]), socket(ends[0], nullptr) {}
    SocketPair(const SocketPair&) = delete;
    SocketPair& operator=(const SocketPair&) = delete;
    ~SocketPair() { close_client(); }

    static std::array<int, 2> ends_of_pair() {
        std::array<int, 2> ends{};
        BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
        return ends;
    }
    void write(std::string_view bytes) const {
        BOOST_REQUIRE(::write(client, bytes.data(), bytes.size()) ==
                      static_cast<ssize_t>(bytes.size()));
    }
    std::string receive(std::size_t size) {
        std::string bytes(size, ' ');
        const auto received = socket.receive(std::span(bytes.data(), size));
        BOOST_REQUIRE(received >= 0);
        return bytes.substr(0, static_cast<std::size_t>(received));
    }
    void close_client() {
        if (client >= 0) ::close(client);
        client = -1;
    }

    int client;
    ClientSocket socket;
    std::array<char, 16> space{};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(input_that_was_received_ahead)

BOOST_FIXTURE_TEST_CASE(is_returned_before_later_input, SocketPair) {
    write("first");
    BOOST_TEST(socket.receive_ahead(space) == 5U);
    BOOST_TEST(socket.has_unread());
    write("second");
    BOOST_TEST(receive(100) == "first");
    BOOST_TEST(receive(100) == "second");
    BOOST_TEST(!socket.has_unread());
}

BOOST_FIXTURE_TEST_CASE(is_returned_with_the_input_that_did_not_fit_into_the_space, SocketPair) {
    const std::string sent = "a message of thirty-two letters.";
    write(sent);
    BOOST_TEST(socket.receive_ahead(space) == space.size());
    BOOST_TEST(receive(100) == sent);
    write(sent);
    BOOST_TEST(socket.receive_ahead(space) == space.size());
    BOOST_TEST(receive(20) == sent.substr(0, 20));
    BOOST_TEST(socket.has_unread());
    BOOST_TEST(receive(100) == sent.substr(20));
    // Exactly as much as fits.
    write(sent.substr(0, space.size()));
    BOOST_TEST(socket.receive_ahead(space) == space.size());
    BOOST_TEST(receive(100) == sent.substr(0, space.size()));
    BOOST_TEST(!socket.has_unread());
}

BOOST_FIXTURE_TEST_CASE(is_empty_if_none_has_arrived, SocketPair) {
    BOOST_TEST(socket.receive_ahead(space) == 0U);
    BOOST_TEST(!socket.has_unread());
    std::array<char, 4> buffer{};
    BOOST_TEST(socket.receive(buffer) == -1);
    BOOST_TEST((errno == EAGAIN || errno == EWOULDBLOCK));
    write("x");
    BOOST_TEST(receive(4) == "x");
}

BOOST_FIXTURE_TEST_CASE(does_not_hide_the_end_of_input, SocketPair) {
    close_client();
    BOOST_TEST(socket.receive_ahead(space) == 0U);
    BOOST_TEST(receive(4).empty());
}

// The kernel reports an error only once.
BOOST_FIXTURE_TEST_CASE(includes_an_error, SocketPair) {
    // The client closes its socket without reading.
    BOOST_REQUIRE(socket.send("unread") == 6);
    close_client();
    BOOST_TEST(socket.receive_ahead(space) == 0U);
    std::array<char, 4> buffer{};
    BOOST_TEST(socket.receive(buffer) == -1);
    BOOST_TEST(errno == ECONNRESET);
    BOOST_TEST(receive(4).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
