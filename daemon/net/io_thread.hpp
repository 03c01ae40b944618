// A thread that serves connections, in rounds:
//
//     wait ──► whoever sent something: take up a turn of it ──► flush: all that was decided is
//       ▲                                                      committed and told together
//       └──────────────── send the answers of everybody who has some ◄──────────────┘
//
// So calls that lie in many sockets at the same time share one commit, and an answer costs one
// system call. Each connection is with one thread for its whole life, and needs no lock.
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/fifo.hpp"
#include "base/mutex.hpp"

namespace rocklock {

// Threads:  thread-safe where it says so; the rest is for what runs on the thread itself.
// Lifetime: outlives those it serves, but for what they take to their end with stop().
class IoThread {
public:
    // One that is served: a socket and what is said over it.
    class Served {
    public:
        Served() = default;
        Served(const Served&) = delete;
        Served& operator=(const Served&) = delete;
        virtual ~Served() = default;

        // Its socket can be read or written, or is over: EPOLLIN and so on.
        virtual void ready(std::uint32_t events) = 0;
        // It asked for another turn.
        virtual void go_on() = 0;
        // It has something to send.
        virtual void send() = 0;
        // The time has come that it named.
        virtual void remind() = 0;
    };

    using Time = std::chrono::steady_clock::time_point;
    // Returns after how long it wants to be called again at the latest; none: when asked for; zero:
    // when what it told has been sent.
    using Flush = std::function<std::optional<std::chrono::milliseconds>()>;

    // `flush` is called once a round in which it was asked for.
    explicit IoThread(Flush flush);
    IoThread(const IoThread&) = delete;
    IoThread& operator=(const IoThread&) = delete;
    ~IoThread();

    void start();
    // Ends the thread when it has run what was posted before. Not on the thread itself.
    void stop();

    // The one that this is, if it is one.
    static IoThread* current();
    // Runs something on the thread, soon. Thread-safe.
    void post(std::function<void()> run) ROCKLOCK_EXCLUDES(mutex_);
    // Runs something on the thread after those that are served already have had their turn: at most
    // a few of these in each round. Thread-safe.
    void introduce(std::function<void()> run) ROCKLOCK_EXCLUDES(mutex_);

    // When this round began: the sockets were asked what they have then.
    Time now() const { return now_; }
    // For how long the thread has not asked its sockets for more; zero while it waits for them.
    // Thread-safe.
    std::chrono::nanoseconds unread_for() const {
        const auto began = round_began_.load(std::memory_order_relaxed);
        return began == 0 ? std::chrono::nanoseconds{0}
                          : Time::clock::now().time_since_epoch() - std::chrono::nanoseconds{began};
    }

    // Has the service flush in this round.
    void flush_soon() { flushing_ = true; }

    // Watches a socket, and owns whom it serves, until forget(). `events` as of epoll,
    // level-triggered. False where the kernel has no memory for it: nothing will come.
    bool watch(int fd, const std::shared_ptr<Served>& served, std::uint32_t events);
    void change(int fd, std::uint32_t events);
    void forget(int fd);
    // Calls go_on() in the next round, send() at the end of this one, remind() at that time.
    void go_on_soon(std::shared_ptr<Served> served) { going_on_.push_back(std::move(served)); }
    // Frees what may be much in this round or later ones, as there is time.
    void free_soon(std::shared_ptr<void> left) { left_.push_back(std::move(left)); }
    void send_soon(std::shared_ptr<Served> served) { sending_.push_back(std::move(served)); }
    void remind_at(Time time, const std::shared_ptr<Served>& served) {
        reminders_.emplace(time, served);
    }

private:
    void run();
    void wait();
    bool take_up(std::span<const epoll_event> events);
    std::span<epoll_event> poll(std::span<epoll_event> events, int patience) const;
    int patience() const;
    void round();
    void go_on();
    void free_what_is_left();
    void run_posted();
    void run_introduced();
    void remind();
    bool flush();
    void wake() const;

    const Flush flush_;
    const int poll_;
    const int called_;
    Time now_{};
    // The same in nanoseconds, for other threads; 0 while the thread waits.
    std::atomic<std::int64_t> round_began_{0};
    // The last wait was short.
    bool quick_ = false;
    // Until then others keep the processor from whoever gives way to them.
    Time crowded_until_{};
    bool flushing_ = false;
    std::optional<Time> flush_at_;
    bool stopping_ = false;
    std::unordered_map<int, std::shared_ptr<Served>> served_;
    std::multimap<Time, std::weak_ptr<Served>> reminders_;
    Fifo<std::shared_ptr<Served>> going_on_;
    std::vector<std::shared_ptr<Served>> sending_;
    // Until the end of the round.
    std::vector<std::shared_ptr<Served>> forgotten_;
    // Freed as there is time.
    Fifo<std::shared_ptr<void>> left_;
    // Posted by the thread itself.
    std::vector<std::function<void()>> own_;
    // What is left of those that were introduced.
    Fifo<std::function<void()>> arrived_;
    Mutex mutex_;
    std::vector<std::function<void()>> introduced_ ROCKLOCK_GUARDED_BY(mutex_);
    std::vector<std::function<void()>> posted_ ROCKLOCK_GUARDED_BY(mutex_);
    std::thread thread_;
};

}  // namespace rocklock
