#include "daemon/drive.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace rocklock::bench {
namespace {

using Steady = std::chrono::steady_clock;

void drive_share(const std::vector<const Work*>& share, const std::atomic<bool>& stop) {
    const int poll = ::epoll_create1(EPOLL_CLOEXEC);
    std::size_t active = 0;
    for (const auto* work : share) {
        epoll_event event{};
        event.events = EPOLLIN | EPOLLET;
        event.data.ptr = const_cast<Work*>(work);
        ::epoll_ctl(poll, EPOLL_CTL_ADD, work->client->event(), &event);
        if (work->proceed(false)) ++active;
    }
    std::vector<epoll_event> events(share.size());
    while (active > 0) {
        const int count =
            ::epoll_wait(poll, events.data(), static_cast<int>(events.size()), 10'000);
        if (count <= 0) give_up("a server does not answer");
        for (int i = 0; i < count; ++i) {
            const auto& work =
                *static_cast<const Work*>(events[static_cast<std::size_t>(i)].data.ptr);
            if (work.client->on_readable() && !work.proceed(stop)) --active;
        }
    }
    ::close(poll);
}

}  // namespace

double drive(const std::vector<Work>& all, std::size_t threads,
             std::chrono::milliseconds duration) {
    const std::size_t count = std::min(threads, all.size());
    std::vector<std::vector<const Work*>> shares(count);
    for (std::size_t i = 0; i < all.size(); ++i) shares[i % count].push_back(&all[i]);
    std::atomic<bool> stop{false};
    const auto begin = Steady::now();
    std::vector<std::jthread> running;
    for (const auto& share : shares) {
        running.emplace_back([&stop, &share] { drive_share(share, stop); });
    }
    std::this_thread::sleep_for(duration);
    stop = true;
    running.clear();
    return std::chrono::duration<double>(Steady::now() - begin).count();
}

}  // namespace rocklock::bench
