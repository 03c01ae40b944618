// A thread that serves connections, in rounds:
//
//     wait ──► receive the input of all readable sockets,
//       ▲      then process the input of each connection, ──► flush: commit all decisions as one
//       │      for at most one time slice                     group and complete their calls
//       └─────────────────── send the responses of all connections ◄──────────────┘
//
// Calls that arrive at the same time on many sockets share one commit, and a response costs one
// system call. A connection is always served by the same thread, so its state needs no mutex.
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
#include "shared_memory/spin_backoff.hpp"

namespace rocklock {

// Threads:  the functions whose comments say so are thread-safe. The owner calls start() and
//           stop(). All other functions are called on the thread itself.
// Lifetime: must outlive the objects that it serves. Objects that are still registered after stop()
//           are destroyed by the destructor.
class IoThread {
public:
    // A socket that the thread serves, and the state of its connection.
    class Served {
    public:
        Served() = default;
        Served(const Served&) = delete;
        Served& operator=(const Served&) = delete;
        virtual ~Served() = default;

        // Receives input into `space`, and returns its size. The next call of ready(), in the same
        // round, must process all of it, because `space` is reused in the next round. Returns 0 if
        // there is no input, also after an error, which ready() reports. Called for several
        // readable sockets before ready() is called for any of them.
        virtual std::size_t receive_ahead(std::span<char> /*space*/) { return 0; }
        // Called if the socket is readable, writable or closed. `events` has epoll's flags, such as
        // EPOLLIN.
        virtual void ready(std::uint32_t events) = 0;
        // Called in the round after continue_input_soon().
        virtual void continue_input() = 0;
        // Called at the end of a round after send_soon().
        virtual void send() = 0;
        // Called at the time that was passed to remind_at().
        virtual void remind() = 0;
    };

    using Time = std::chrono::steady_clock::time_point;
    // Returns the maximum time until the function must be called again. Returns nullopt if the
    // function need not be called before the next request. Returns zero if it must be called again
    // in this round, after the responses are sent.
    using Flush = std::function<std::optional<std::chrono::milliseconds>()>;

    // `flush` is called in each round in which flush_soon() was called, and when the time that it
    // returned has passed. If the last wait for events was short, the thread polls for up to
    // `max_spin` before it sleeps.
    static constexpr std::chrono::microseconds default_max_spin{60};
    explicit IoThread(Flush flush, std::chrono::microseconds max_spin = default_max_spin);
    IoThread(const IoThread&) = delete;
    IoThread& operator=(const IoThread&) = delete;
    ~IoThread();

    void start();
    // Runs the functions that were posted before this call, then ends the thread. Must not be
    // called on the thread itself.
    void stop();

    // Returns the IoThread that runs the caller, or null if none does.
    static IoThread* current();
    // Runs a function on the thread in the next round. Thread-safe.
    void post(std::function<void()> run) ROCKLOCK_EXCLUDES(mutex_);
    // Runs a function on the thread in a later round. The deferred functions share a time limit in
    // each round, so that they do not delay calls. If the thread is stopped, it does not run the
    // remaining functions. Thread-safe.
    void defer(std::function<void()> run);
    // Runs a function, which adds a connection, on the thread. In a round, such functions run after
    // the existing connections were served. At most `max_introduced` of these functions run per
    // round. Thread-safe.
    void introduce(std::function<void()> run) ROCKLOCK_EXCLUDES(mutex_);

    // Returns the time at which this round began, when the sockets were polled.
    Time now() const { return now_; }
    // Returns the time since the sockets were polled, or zero while the thread waits for events.
    // Input that has arrived during this time may not have been read yet. Thread-safe.
    std::chrono::nanoseconds unread_for() const {
        const auto began = round_began_.load(std::memory_order_relaxed);
        return began == 0 ? std::chrono::nanoseconds{0}
                          : Time::clock::now().time_since_epoch() - std::chrono::nanoseconds{began};
    }

    // Requests a flush in this round.
    void flush_soon() { flushing_ = true; }

    // Watches a socket for `events` (level-triggered, with the flags of epoll) and owns `served`
    // until forget(). Returns false if the kernel has no memory to watch the socket. In this case,
    // no events are reported.
    bool watch(int fd, const std::shared_ptr<Served>& served, std::uint32_t events);
    void change(int fd, std::uint32_t events);
    void forget(int fd);
    // Schedule calls of `served`: continue_input() in the next round, send() at the end of this
    // round, and remind() at `time`.
    void continue_input_soon(std::shared_ptr<Served> served) {
        continuing_.push_back(std::move(served));
    }
    void send_soon(std::shared_ptr<Served> served) { sending_.push_back(std::move(served)); }
    void remind_at(Time time, const std::shared_ptr<Served>& served) {
        reminders_.emplace(time, served);
    }
    // Destroys an object that may be large, in this round or a later one.
    void free_soon(std::shared_ptr<void> left) { left_.push_back(std::move(left)); }

private:
    void run();
    void wait();
    bool handle_events(std::span<const epoll_event> events);
    void receive_ahead(std::span<const epoll_event> events);
    std::span<epoll_event> poll(std::span<epoll_event> events, int patience) const;
    int patience() const;
    void round();
    void continue_input();
    void free_what_is_left();
    void run_posted();
    void run_introduced();
    void run_deferred();
    void remind();
    bool flush();
    void wake() const;

    const Flush flush_;
    const std::chrono::microseconds max_spin_;
    const int poll_;
    const int called_;
    Time now_{};
    // `now_` in nanoseconds, for other threads; 0 while the thread waits.
    std::atomic<std::int64_t> round_began_{0};
    // The buffer for receive_ahead(); allocated at its first use.
    std::vector<char> input_;
    // Whether the last wait for events was short.
    bool quick_ = false;
    SpinBackoff backoff_;
    bool flushing_ = false;
    std::optional<Time> flush_at_;
    bool stopping_ = false;
    std::unordered_map<int, std::shared_ptr<Served>> served_;
    std::multimap<Time, std::weak_ptr<Served>> reminders_;
    Fifo<std::shared_ptr<Served>> continuing_;
    std::vector<std::shared_ptr<Served>> sending_;
    // Kept until the end of the round, because fetched events may still point to them.
    std::vector<std::shared_ptr<Served>> forgotten_;
    // The objects that were passed to free_soon(). The time for destroying them is limited in each
    // round.
    Fifo<std::shared_ptr<void>> left_;
    // The functions that the thread itself has posted.
    std::vector<std::function<void()>> own_;
    Fifo<std::function<void()>> deferred_;
    // Introduced functions that have not run yet.
    Fifo<std::function<void()>> arrived_;
    Mutex mutex_;
    std::vector<std::function<void()>> introduced_ ROCKLOCK_GUARDED_BY(mutex_);
    std::vector<std::function<void()>> posted_ ROCKLOCK_GUARDED_BY(mutex_);
    std::thread thread_;
};

}  // namespace rocklock
