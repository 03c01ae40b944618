#include "daemon/net/io_thread.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t max_events = 128;
// The size of the buffer for input that is received ahead, and the maximum for each socket. Most
// requests are smaller.
constexpr std::size_t input_bytes = 64u << 10;
constexpr std::size_t max_ahead = 4u << 10;
// At most this many new connections are added in one round.
constexpr std::size_t max_introduced = 64;
// The time per round for continue_input(), which continues connections with remaining input, and
// for deferred functions.
constexpr milliseconds max_round_time{2};
// The time per round for destroying objects of free_soon().
constexpr milliseconds max_freeing{1};
// The time for which hang-ups are handled before the round continues.
constexpr milliseconds max_hang_up_time{10};

IoThread*& this_thread() {
    thread_local IoThread* thread = nullptr;
    return thread;
}

}  // namespace

IoThread::IoThread(Flush flush, std::chrono::microseconds max_spin)
    : flush_(std::move(flush)),
      max_spin_(max_spin),
      poll_(::epoll_create1(EPOLL_CLOEXEC)),
      called_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    ROCKLOCK_ASSERT(poll_ >= 0 && called_ >= 0);
    epoll_event event{};
    event.events = EPOLLIN;
    ROCKLOCK_ASSERT(::epoll_ctl(poll_, EPOLL_CTL_ADD, called_, &event) == 0);
}

IoThread::~IoThread() {
    stop();
    ::close(called_);
    ::close(poll_);
}

void IoThread::start() {
    thread_ = std::thread([this] { run(); });
}

void IoThread::stop() {
    if (!thread_.joinable()) return;
    post([this] { stopping_ = true; });
    thread_.join();
}

IoThread* IoThread::current() { return this_thread(); }

void IoThread::post(std::function<void()> run) {
    if (current() == this) return own_.push_back(std::move(run));
    bool first = false;
    {
        MutexLock lock(mutex_);
        first = posted_.empty();
        posted_.push_back(std::move(run));
    }
    if (first) wake();
}

void IoThread::defer(std::function<void()> run) {
    if (current() == this) return deferred_.push_back(std::move(run));
    post([this, run = std::move(run)]() mutable { deferred_.push_back(std::move(run)); });
}

void IoThread::introduce(std::function<void()> run) {
    bool first = false;
    {
        MutexLock lock(mutex_);
        first = introduced_.empty();
        introduced_.push_back(std::move(run));
    }
    if (first) wake();
}

void IoThread::wake() const {
    const std::uint64_t one = 1;
    // If the counter is full, the write fails, but the thread is woken all the same.
    [[maybe_unused]] const auto written = ::write(called_, &one, sizeof one);
}

bool IoThread::watch(int fd, const std::shared_ptr<Served>& served, std::uint32_t events) {
    served_[fd] = served;
    epoll_event event{};
    event.events = events;
    event.data.ptr = served.get();
    return ::epoll_ctl(poll_, EPOLL_CTL_ADD, fd, &event) == 0;
}

void IoThread::change(int fd, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = served_.at(fd).get();
    ::epoll_ctl(poll_, EPOLL_CTL_MOD, fd, &event);
}

// Keeps the object until the end of the round, because fetched events may still point to it.
void IoThread::forget(int fd) {
    ::epoll_ctl(poll_, EPOLL_CTL_DEL, fd, nullptr);
    const auto found = served_.find(fd);
    forgotten_.push_back(std::move(found->second));
    served_.erase(found);
}

void IoThread::run() {
    this_thread() = this;
    while (!stopping_) {
        wait();
        round();
    }
    this_thread() = nullptr;
}

// Returns how long the thread may wait for events, in milliseconds: 0 if there is work, -1 if there
// is no time limit.
int IoThread::patience() const {
    if (!continuing_.empty() || !own_.empty() || !left_.empty() || flushing_) return 0;
    if (!arrived_.empty() || !deferred_.empty()) return 0;
    std::optional<Time> next = flush_at_;
    if (!reminders_.empty()) {
        next = std::min(next.value_or(Time::max()), reminders_.begin()->first);
    }
    if (!next) return -1;
    const auto left = std::chrono::ceil<milliseconds>(*next - steady_clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

std::span<epoll_event> IoThread::poll(std::span<epoll_event> events, int patience) const {
    const int count = ::epoll_wait(poll_, events.data(), static_cast<int>(events.size()), patience);
    // Interrupted by a signal, for example when a stopped process continues: no events.
    return events.first(static_cast<std::size_t>(std::max(count, 0)));
}

// Waits for events. After short waits it spins first.
//
// Many clients send the next request some ten microseconds after a response. Sleeping and being
// woken would double that time. If the last wait was short, the thread therefore polls for up to
// `max_spin` and yields between two polls, unless other programs need the processor (SpinBackoff).
void IoThread::wait() {
    std::array<epoll_event, max_events> space;
    std::span<epoll_event> events;
    const int max_wait = patience();
    round_began_.store(0, std::memory_order_relaxed);
    const Time start = now_ = steady_clock::now();
    if (max_wait != 0 && quick_) {
        now_ = backoff_.spin(start, max_spin_, [&] {
            events = poll(space, 0);
            return !events.empty();
        });
    }
    if (events.empty()) {
        events = poll(space, max_wait);
        now_ = steady_clock::now();
        quick_ = now_ - start < 2 * max_spin_;
    }
    round_began_.store(now_.time_since_epoch().count(), std::memory_order_relaxed);
    while (handle_events(events) && events.size() == max_events &&
           steady_clock::now() - now_ < max_hang_up_time) {
        events = poll(space, 0);
    }
}

// Receives the input of all readable sockets before any of it is processed, as far as the buffer
// has space.
//
// The code that receives, most of it in the kernel, and the code that processes a request do not
// fit into the processor's instruction cache together. If they alternate for every request, each of
// them evicts much of the other from the cache.
void IoThread::receive_ahead(std::span<const epoll_event> events) {
    if (events.size() < 2) return;
    input_.resize(input_bytes);
    std::span<char> space(input_);
    for (const auto& event : events) {
        if (event.data.ptr == nullptr || event.events != EPOLLIN) continue;
        auto& served = *static_cast<Served*>(event.data.ptr);
        space = space.subspan(served.receive_ahead(space.first(max_ahead)));
        if (space.size() < max_ahead) return;
    }
}

// Returns true if all events were hang-ups. If many clients end at the same time, as many of them
// as possible are handled in one round. Otherwise the locks of one would be granted to another that
// has ended as well.
bool IoThread::handle_events(std::span<const epoll_event> events) {
    receive_ahead(events);
    bool only_hang_ups = true;
    for (const auto& event : events) {
        if (event.data.ptr != nullptr) {
            only_hang_ups = only_hang_ups && (event.events & EPOLLHUP) != 0;
            static_cast<Served*>(event.data.ptr)->ready(event.events);
        } else {
            only_hang_ups = false;
            std::uint64_t calls = 0;
            [[maybe_unused]] const auto size = ::read(called_, &calls, sizeof calls);
        }
    }
    return only_hang_ups;
}

// Runs one round. Work that is added meanwhile is left for the next round, except sending.
void IoThread::round() {
    continue_input();
    run_posted();
    run_deferred();
    remind();
    bool more = false;
    do {
        more = flush();
        // Run the functions that the flush has posted to this thread.
        for (auto& run : std::exchange(own_, {})) run();
        // send() may produce more output.
        while (!sending_.empty()) {
            for (const auto& served : std::exchange(sending_, {})) served->send();
        }
    } while (more);
    forgotten_.clear();
    run_introduced();
    free_what_is_left();
}

// Destroys objects with a time limit. Freeing the data of a client with many requests takes as long
// as serving them.
void IoThread::free_what_is_left() {
    const Time start = steady_clock::now();
    while (!left_.empty() && (stopping_ || steady_clock::now() - start < max_freeing)) {
        // The destructor may add further objects.
        const auto left = std::move(left_.front());
        left_.pop_front();
    }
}

// Continues connections with remaining input, in turn and with a time limit. However many there
// are, a new request waits only for some of them.
void IoThread::continue_input() {
    const Time start = steady_clock::now();
    for (std::size_t left = continuing_.size(); left > 0; --left) {
        const auto served = std::move(continuing_.front());
        continuing_.pop_front();
        served->continue_input();
        if (steady_clock::now() - start >= max_round_time) return;
    }
}

void IoThread::run_deferred() {
    if (deferred_.empty()) return;
    const Time start = steady_clock::now();
    do {
        const auto run = std::move(deferred_.front());
        deferred_.pop_front();
        run();
    } while (!deferred_.empty() && steady_clock::now() - start < max_round_time);
}

// Flushes if it was requested or is due. Returns true if it must be repeated after the responses
// were sent.
bool IoThread::flush() {
    const bool due = flush_at_ && now_ >= *flush_at_;
    if (!std::exchange(flushing_, false) && !due) return false;
    const auto again = flush_();
    flush_at_.reset();
    if (again == milliseconds{0}) return flushing_ = true;
    if (again) flush_at_ = steady_clock::now() + *again;
    return false;
}

void IoThread::remind() {
    while (!reminders_.empty() && reminders_.begin()->first <= now_) {
        const auto served = reminders_.begin()->second.lock();
        reminders_.erase(reminders_.begin());
        if (served) served->remind();
    }
}

void IoThread::run_introduced() {
    std::vector<std::function<void()>> introduced;
    {
        MutexLock lock(mutex_);
        introduced.swap(introduced_);
    }
    for (auto& run : introduced) arrived_.push_back(std::move(run));
    for (std::size_t left = max_introduced; left > 0 && !arrived_.empty(); --left) {
        const auto run = std::move(arrived_.front());
        arrived_.pop_front();
        run();
    }
}

void IoThread::run_posted() {
    std::vector<std::function<void()>> posted;
    {
        MutexLock lock(mutex_);
        posted.swap(posted_);
    }
    for (auto& run : posted) run();
}

}  // namespace rocklock
