// Tests both ends of a shared connection in one process, each with its own mapping of the memory.
#include "shared_memory/shared_connection.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace rocklock {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

// Returns the descriptors that the client gets.
std::vector<Descriptor> passed(const SharedDaemonEnd& daemon) {
    std::vector<Descriptor> descriptors;
    for (const int fd : daemon.offer()) {
        descriptors.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    }
    return descriptors;
}

struct Ends {
    std::unique_ptr<SharedDaemonEnd> daemon = SharedDaemonEnd::create();
    std::shared_ptr<SharedClientEnd> client = SharedClientEnd::attach(passed(*daemon));
};

// Waits for the daemon's event as an IoThread does.
class DaemonWait {
public:
    explicit DaemonWait(const SharedDaemonEnd& daemon) : poll_(::epoll_create1(EPOLL_CLOEXEC)) {
        epoll_event event{};
        event.events = EPOLLIN | EPOLLET;
        BOOST_REQUIRE(::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, daemon.event(), &event) == 0);
    }
    bool wait(milliseconds timeout) {
        epoll_event event{};
        return ::epoll_wait(poll_.get(), &event, 1, static_cast<int>(timeout.count())) == 1;
    }

private:
    Descriptor poll_;
};

template <typename End>
std::string received(End& end) {
    std::array<char, 100'000> buffer;
    const auto size = end.receive(buffer);
    return size > 0 ? std::string(buffer.data(), static_cast<std::size_t>(size)) : std::string();
}

BOOST_AUTO_TEST_SUITE(shared_connection)

BOOST_AUTO_TEST_CASE(bytes_arrive_in_both_directions) {
    Ends ends;
    BOOST_TEST(ends.daemon->attached());
    BOOST_TEST(ends.client->send("call") == 4);
    BOOST_TEST(received(*ends.daemon) == "call");
    BOOST_TEST(ends.daemon->send("response") == 8);
    BOOST_TEST(ends.daemon->unread() == 8);
    BOOST_TEST(!ends.daemon->was_read());
    BOOST_TEST(received(*ends.client) == "response");
    BOOST_TEST(ends.daemon->unread() == 0);
    BOOST_TEST(ends.daemon->was_read());
}

BOOST_AUTO_TEST_CASE(the_daemon_does_not_use_the_memory_before_the_client_attaches_it) {
    auto daemon = SharedDaemonEnd::create();
    BOOST_TEST(!daemon->attached());
    auto offer = passed(*daemon);
    daemon->close_offer();
    offer.pop_back();
    const auto client = SharedClientEnd::attach(std::move(offer));
    BOOST_TEST(client == nullptr);
    BOOST_TEST(!daemon->attached());
}

BOOST_AUTO_TEST_CASE(other_descriptors_are_not_attached) {
    std::vector<Descriptor> wrong;
    for (int i = 0; i < 3; ++i) wrong.emplace_back(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const auto client = SharedClientEnd::attach(std::move(wrong));
    BOOST_TEST(client == nullptr);
}

BOOST_AUTO_TEST_CASE(a_client_cannot_change_the_size_of_the_memory) {
    const auto daemon = SharedDaemonEnd::create();
    const auto offer = daemon->offer();
    BOOST_TEST(::ftruncate(offer[0], 0) == -1);
    BOOST_TEST(errno == EPERM);
    BOOST_TEST(::ftruncate(offer[0], 1 << 20) == -1);
    BOOST_TEST((::fcntl(offer[0], F_GET_SEALS) & F_SEAL_SEAL) != 0);
}

BOOST_AUTO_TEST_CASE(a_client_cannot_block_the_daemon_when_it_wakes_the_client) {
    Ends ends;
    const auto [memory, wakes_client, wakes_daemon] = ends.daemon->offer();
    ends.client->always_wake();
    // The client does what it can to its descriptors: it makes them blocking, and fills the
    // counters. attach() has already filled the first one.
    BOOST_TEST(::fcntl(wakes_client, F_SETFL, 0) == 0);
    BOOST_TEST(::fcntl(wakes_daemon, F_SETFL, 0) == 0);
    constexpr std::uint64_t full = UINT64_MAX - 1;
    BOOST_TEST(::write(wakes_daemon, &full, sizeof full) == sizeof full);
    for (int i = 0; i < 1000; ++i) {
        BOOST_TEST_REQUIRE(ends.daemon->send("x") == 1);
        BOOST_TEST_REQUIRE(received(*ends.daemon).empty());
    }
    BOOST_TEST(received(*ends.client) == std::string(1000, 'x'));
}

BOOST_AUTO_TEST_CASE(a_waiting_client_is_woken) {
    Ends ends;
    std::jthread daemon([&ends] {
        std::this_thread::sleep_for(milliseconds{20});
        ends.daemon->send("x");
    });
    const auto start = Steady::now();
    while (!ends.client->has_input()) ends.client->wait(milliseconds{10'000});
    BOOST_TEST((Steady::now() - start < milliseconds{5'000}));
    BOOST_TEST(received(*ends.client) == "x");
}

BOOST_AUTO_TEST_CASE(a_wait_ends_after_its_timeout_or_for_a_watched_descriptor) {
    Ends ends;
    const Descriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    BOOST_TEST(ends.client->watch(event.get()));
    BOOST_TEST(ends.client->wait(milliseconds{1}) == -1);
    constexpr std::uint64_t one = 1;
    BOOST_TEST(::write(event.get(), &one, sizeof one) == sizeof one);
    BOOST_TEST(ends.client->wait(milliseconds{10'000}) == event.get());
}

// Both ends send more bytes than the memory has space for, and wait for space and for input.
BOOST_AUTO_TEST_CASE(long_messages_pass_in_both_directions) {
    constexpr std::size_t total = 5'000'000;
    Ends ends;
    std::string calls(total, '\0');
    std::string responses(total, '\0');
    for (std::size_t i = 0; i < total; ++i) {
        calls[i] = static_cast<char>(i * 7 / 3);
        responses[i] = static_cast<char>(i * 11 / 5);
    }
    std::string got_calls;
    std::string got_responses;
    const auto exchange = [](auto& end, std::string_view out, std::string& in, auto wait) {
        while (!out.empty() || in.size() < total) {
            const auto sent = out.empty() ? 0 : end.send(out);
            if (sent > 0) out.remove_prefix(static_cast<std::size_t>(sent));
            const auto bytes = received(end);
            in += bytes;
            if (sent <= 0 && bytes.empty()) wait();
        }
    };
    const auto start = Steady::now();
    {
        DaemonWait waits(*ends.daemon);
        std::jthread daemon([&] {
            exchange(*ends.daemon, responses, got_calls, [&] { waits.wait(milliseconds{5'000}); });
        });
        exchange(*ends.client, calls, got_responses,
                 [&] { ends.client->wait(milliseconds{5'000}); });
    }
    BOOST_TEST((got_calls == calls));
    BOOST_TEST((got_responses == responses));
    // A lost wake-up takes five seconds.
    BOOST_TEST((Steady::now() - start < milliseconds{4'000}));
}

// A client and a daemon that alternate, so that each of them waits most of the time.
BOOST_AUTO_TEST_CASE(no_wake_up_is_lost) {
    constexpr int rounds = 5'000;
    Ends ends;
    const auto start = Steady::now();
    DaemonWait waits(*ends.daemon);
    std::jthread daemon([&] {
        for (int i = 0; i < rounds;) {
            const auto bytes = received(*ends.daemon);
            if (bytes.empty()) {
                waits.wait(milliseconds{30'000});
            } else {
                ends.daemon->send(bytes);
                ++i;
            }
        }
    });
    for (int i = 0; i < rounds; ++i) {
        BOOST_TEST_REQUIRE(ends.client->send("x") == 1);
        while (received(*ends.client).empty()) ends.client->wait(milliseconds{30'000});
    }
    BOOST_TEST((Steady::now() - start < milliseconds{25'000}));
}

BOOST_AUTO_TEST_CASE(the_daemon_can_watch_when_the_client_reads) {
    Ends ends;
    DaemonWait waits(*ends.daemon);
    BOOST_TEST(ends.daemon->send("x") == 1);
    BOOST_TEST(received(*ends.client) == "x");
    BOOST_TEST(!waits.wait(milliseconds{1}));
    BOOST_TEST(ends.daemon->send("y") == 1);
    ends.daemon->watch_reads();
    BOOST_TEST(received(*ends.client) == "y");
    BOOST_TEST(waits.wait(milliseconds{5'000}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace rocklock
