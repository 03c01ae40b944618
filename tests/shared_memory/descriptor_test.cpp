// Tests that descriptors are passed over a Unix socket.
#include "shared_memory/descriptor.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace rocklock {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

struct Sockets {
    Sockets() {
        std::array<int, 2> ends{};
        BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
        first = Descriptor(ends[0]);
        second = Descriptor(ends[1]);
    }
    Descriptor first;
    Descriptor second;
};

BOOST_AUTO_TEST_SUITE(descriptor)

BOOST_AUTO_TEST_CASE(a_descriptor_is_closed_once) {
    int number = -1;
    {
        Descriptor first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        number = first.get();
        Descriptor second(std::move(first));
        BOOST_TEST(!first);
        BOOST_TEST(second.get() == number);
        first = std::move(second);
        BOOST_TEST(first.get() == number);
        BOOST_TEST(is_open(number));
    }
    BOOST_TEST(!is_open(number));
}

BOOST_AUTO_TEST_CASE(descriptors_arrive_with_the_first_byte) {
    Sockets sockets;
    Sockets passed;
    const std::array sent = {passed.first.get()};
    BOOST_TEST(::send(sockets.first.get(), "abc", 3, 0) == 3);
    BOOST_TEST(send_with_descriptors(sockets.first.get(), "defg", sent) == 4);
    passed.first.close();

    std::vector<Descriptor> received;
    std::array<char, 16> buffer;
    std::string bytes;
    while (bytes.size() < 7) {
        const auto size = receive_with_descriptors(sockets.second.get(), buffer, received);
        BOOST_TEST_REQUIRE(size > 0);
        bytes.append(buffer.data(), static_cast<std::size_t>(size));
    }
    BOOST_TEST(bytes == "abcdefg");
    BOOST_TEST_REQUIRE(received.size() == 1);
    BOOST_TEST((::fcntl(received[0].get(), F_GETFD) & FD_CLOEXEC) != 0);
    BOOST_TEST(::send(received[0].get(), "x", 1, 0) == 1);
    BOOST_TEST(::recv(passed.second.get(), buffer.data(), buffer.size(), 0) == 1);
}

BOOST_AUTO_TEST_CASE(a_receiver_of_bytes_alone_discards_descriptors) {
    Sockets sockets;
    Sockets passed;
    const std::array sent = {passed.first.get()};
    BOOST_TEST(send_with_descriptors(sockets.first.get(), "a", sent) == 1);
    passed.first.close();
    std::array<char, 16> buffer;
    BOOST_TEST(::recv(sockets.second.get(), buffer.data(), buffer.size(), 0) == 1);
    // The other end of the discarded socket is closed.
    BOOST_TEST(::recv(passed.second.get(), buffer.data(), buffer.size(), 0) == 0);
}

BOOST_AUTO_TEST_CASE(errors_and_the_end_of_the_input_are_reported) {
    Sockets sockets;
    std::vector<Descriptor> received;
    std::array<char, 16> buffer;
    BOOST_TEST(receive_with_descriptors(sockets.second.get(), buffer, received) == -1);
    BOOST_TEST(errno == EAGAIN);
    sockets.first.close();
    BOOST_TEST(receive_with_descriptors(sockets.second.get(), buffer, received) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace rocklock
