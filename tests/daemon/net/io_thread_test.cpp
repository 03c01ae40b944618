#include "daemon/net/io_thread.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace rocklock {
namespace {

using std::chrono::milliseconds;

// A socket that records the calls of the thread. The test has its other end.
class Noted final : public IoThread::Served {
public:
    Noted() { check(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0); }
    Noted(const Noted&) = delete;
    Noted& operator=(const Noted&) = delete;
    ~Noted() override {
        ::close(ends[0]);
        ::close(ends[1]);
        if (gone) gone();
    }

    std::size_t receive_ahead(std::span<char> space) override {
        return on_receive ? on_receive(space) : 0;
    }
    void ready(std::uint32_t events) override {
        if (on_ready) on_ready(events);
    }
    void continue_input() override {
        if (on_continue) on_continue();
    }
    void send() override {
        if (on_send) on_send();
    }
    void remind() override {
        if (on_remind) on_remind();
    }
    void wake() const { check(::write(ends[1], "x", 1) == 1); }
    void drop() const {
        char byte = 0;
        check(::read(ends[0], &byte, 1) == 1);
    }

    int ends[2] = {-1, -1};
    std::function<std::size_t(std::span<char>)> on_receive;
    std::function<void(std::uint32_t)> on_ready;
    std::function<void()> on_continue;
    std::function<void()> on_send;
    std::function<void()> on_remind;
    std::function<void()> gone;

private:
    // May run on any thread; the assertions of Boost.Test may not.
    static void check(bool done) {
        if (!done) throw std::system_error(errno, std::generic_category());
    }
};

IoThread::Flush nothing() {
    return [] { return std::optional<milliseconds>(); };
}

// Runs a function on the thread, and waits for it. Functions posted earlier have then run, too.
// Their round may not be complete, but it is complete after a second call.
void on(IoThread& thread, std::function<void()> run) {
    std::promise<void> done;
    thread.post([&] {
        run();
        done.set_value();
    });
    done.get_future().get();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_thread_that_serves_connections)

BOOST_AUTO_TEST_CASE(runs_posted_functions_in_order_from_any_thread) {
    IoThread thread(nothing());
    std::vector<int> order;
    const IoThread* current = nullptr;
    thread.post([&] {
        order.push_back(1);
        // Runs after the functions that others have posted before.
        thread.post([&] { order.push_back(3); });
        current = IoThread::current();
    });
    thread.post([&] { order.push_back(2); });
    thread.start();
    on(thread, [] {});
    on(thread, [] {});
    BOOST_TEST((order == std::vector{1, 2, 3}));
    BOOST_TEST(current == &thread);
    BOOST_TEST(IoThread::current() == nullptr);
}

BOOST_AUTO_TEST_CASE(receives_the_input_of_all_sockets_before_it_is_processed) {
    IoThread thread(nothing());
    std::string order;
    std::vector<std::span<char>> spaces;
    std::vector<std::shared_ptr<Noted>> sockets;
    for (int i = 0; i < 3; ++i) {
        const auto& socket = sockets.emplace_back(std::make_shared<Noted>());
        socket->on_receive = [&](std::span<char> space) {
            order += 'r';
            spaces.push_back(space);
            return std::size_t{10};
        };
        socket->on_ready = [&, served = socket.get()](std::uint32_t) {
            order += 'p';
            served->drop();
        };
        socket->wake();
    }
    bool watched = true;
    thread.post([&] {
        for (const auto& socket : sockets)
            watched = thread.watch(socket->ends[0], socket, EPOLLIN) && watched;
    });
    thread.start();
    on(thread, [] {});
    on(thread, [] {});
    on(thread, [] {});
    BOOST_TEST(watched);
    BOOST_TEST(order == "rrrppp");
    // The received bytes do not overlap.
    BOOST_REQUIRE(spaces.size() == 3U);
    BOOST_TEST(spaces[1].data() == spaces[0].data() + 10);
    BOOST_TEST(spaces[2].data() == spaces[1].data() + 10);
    on(thread, [&] {
        for (const auto& socket : sockets) thread.forget(socket->ends[0]);
    });
    thread.stop();
}

BOOST_AUTO_TEST_CASE(runs_deferred_functions_for_a_limited_time_per_round) {
    IoThread thread(nothing());
    std::string order;
    const auto defer_one = [&] {
        thread.defer([&] {
            order += 'd';
            // Longer than the limit of a round.
            const auto end = std::chrono::steady_clock::now() + milliseconds{4};
            while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
            thread.post([&] { order += 'p'; });
        });
    };
    thread.start();
    on(thread, [&] {
        for (int i = 0; i < 3; ++i) defer_one();
    });
    std::string seen;
    while (seen.size() < 6) on(thread, [&] { seen = order; });
    BOOST_TEST(seen == "dpdpdp");
    // From another thread.
    defer_one();
    while (seen.size() < 8) on(thread, [&] { seen = order; });
    BOOST_TEST(seen == "dpdpdpdp");
}

BOOST_AUTO_TEST_CASE(flushes_once_a_round_and_then_sends) {
    std::vector<char> order;
    const auto served = std::make_shared<Noted>();
    served->on_send = [&] { order.push_back('s'); };
    IoThread thread([&]() -> std::optional<milliseconds> {
        order.push_back('S');
        return std::nullopt;
    });
    thread.post([&] {
        for (int i = 0; i < 3; ++i) thread.flush_soon();
        thread.send_soon(served);
        order.push_back('a');
    });
    thread.start();
    on(thread, [] {});
    on(thread, [] {});
    BOOST_TEST((order == std::vector{'a', 'S', 's'}));
}

// Responses that need no commit are sent before the thread waits for the commit.
BOOST_AUTO_TEST_CASE(sends_ready_responses_before_it_flushes_the_rest) {
    std::vector<char> order;
    const auto served = std::make_shared<Noted>();
    served->on_send = [&] { order.push_back('s'); };
    IoThread thread([&, times = 0]() mutable -> std::optional<milliseconds> {
        order.push_back('S');
        IoThread::current()->send_soon(served);
        if (++times == 1) return milliseconds{0};
        return std::nullopt;
    });
    thread.post([&] { thread.flush_soon(); });
    thread.start();
    on(thread, [] {});
    on(thread, [] {});
    BOOST_TEST((order == std::vector{'S', 's', 'S', 's'}));
}

BOOST_AUTO_TEST_CASE(flushes_again_at_the_requested_time) {
    std::promise<void> twice;
    IoThread thread([&, times = 0]() mutable -> std::optional<milliseconds> {
        if (++times == 1) return milliseconds{1};
        twice.set_value();
        return std::nullopt;
    });
    thread.start();
    thread.post([&] { thread.flush_soon(); });
    twice.get_future().get();
}

BOOST_AUTO_TEST_CASE(calls_timers_in_order_for_the_remaining_connections) {
    std::vector<int> order;
    std::promise<void> both;
    IoThread thread(nothing());
    const auto first = std::make_shared<Noted>();
    const auto second = std::make_shared<Noted>();
    first->on_remind = [&] { order.push_back(1); };
    second->on_remind = [&] {
        order.push_back(2);
        both.set_value();
    };
    thread.post([&] {
        const auto now = std::chrono::steady_clock::now();
        thread.remind_at(now + milliseconds{2}, second);
        thread.remind_at(now + milliseconds{1}, first);
        auto gone = std::make_shared<Noted>();
        gone->on_remind = [&] { order.push_back(0); };
        thread.remind_at(now, gone);
    });
    thread.start();
    both.get_future().get();
    BOOST_TEST((order == std::vector{1, 2}));
}

BOOST_AUTO_TEST_CASE(continues_a_paused_connection_after_the_others) {
    std::vector<int> order;
    std::promise<void> done;
    IoThread thread(nothing());
    const auto busy = std::make_shared<Noted>();
    busy->on_continue = [&] {
        order.push_back(1);
        if (order.size() < 6) return thread.continue_input_soon(busy);
        done.set_value();
    };
    const auto other = std::make_shared<Noted>();
    other->on_continue = [&] { order.push_back(2); };
    thread.post([&] {
        thread.continue_input_soon(busy);
        thread.continue_input_soon(other);
    });
    thread.start();
    done.get_future().get();
    BOOST_TEST((std::vector(order.begin(), order.begin() + 3) == std::vector{1, 2, 1}));
}

// Both sockets are ready in the same round, and the first handler forgets the other socket. The
// event of the other one, which has already been fetched, must still find its object.
BOOST_AUTO_TEST_CASE(keeps_a_removed_connection_until_the_end_of_the_round) {
    IoThread thread(nothing());
    std::promise<void> gone;
    std::vector<std::shared_ptr<Noted>> both = {std::make_shared<Noted>(),
                                                std::make_shared<Noted>()};
    int ready = 0;
    bool alive = true;
    bool alive_when_forgotten = false;
    for (int i = 0; i < 2; ++i) {
        auto* self = both[static_cast<std::size_t>(i)].get();
        auto* other = both[static_cast<std::size_t>(1 - i)].get();
        self->on_ready = [&, self, other](std::uint32_t) {
            if (++ready > 1) return;
            self->drop();
            other->gone = [&] {
                alive = false;
                gone.set_value();
            };
            thread.forget(other->ends[0]);
            alive_when_forgotten = alive;
        };
    }
    both[0]->wake();
    both[1]->wake();
    thread.post([&] {
        for (const auto& one : both) thread.watch(one->ends[0], one, EPOLLIN);
        both.clear();
    });
    thread.start();
    gone.get_future().get();
    BOOST_TEST(alive_when_forgotten);
    BOOST_TEST(!alive);
}

BOOST_AUTO_TEST_CASE(closes_all_connections_at_its_end) {
    bool gone = false;
    {
        IoThread thread(nothing());
        thread.start();
        on(thread, [&] {
            const auto served = std::make_shared<Noted>();
            served->gone = [&] { gone = true; };
            thread.watch(served->ends[0], served, EPOLLIN);
        });
        BOOST_TEST(!gone);
    }
    BOOST_TEST(gone);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
