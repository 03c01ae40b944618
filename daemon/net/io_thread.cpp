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

constexpr std::chrono::microseconds max_spin{60};
// Who gave way for longer has lost his turn to somebody who wants the processor for himself; for so
// long he does not give way again.
constexpr milliseconds lost_turn{1};
constexpr milliseconds crowded_for{1'000};
constexpr std::size_t max_events = 128;
// At most this many new connections are taken up in one round.
constexpr std::size_t max_introduced = 64;
// For so long, and a turn more, those whose turn it is again are served in one round.
constexpr milliseconds max_round_time{2};
// So long what was left is freed.
constexpr milliseconds max_freeing{1};
// For so long those who hung up are taken up before the round goes on.
constexpr milliseconds max_farewell{10};

IoThread*& this_thread() {
    thread_local IoThread* thread = nullptr;
    return thread;
}

}  // namespace

IoThread::IoThread(Flush flush)
    : flush_(std::move(flush)),
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
    // A full counter wakes as well.
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

// Events that were fetched already may still name it, until the round is over.
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

// How long nothing is to be done but what comes, in milliseconds; -1: for ever.
int IoThread::patience() const {
    if (!going_on_.empty() || !own_.empty() || !left_.empty() || flushing_) return 0;
    if (!arrived_.empty()) return 0;
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
    // Interrupted, as when the process goes on that was stopped: nothing has come.
    return events.first(static_cast<std::size_t>(std::max(count, 0)));
}

// Clients whose answers take some ten microseconds come back about as soon, and to fall asleep and
// be woken takes as long again. So where waits were short it looks again for a moment first, and
// lets others run in between. Not where they keep the processor: who gives way to them has it back
// after milliseconds, who sleeps as soon as he is woken.
void IoThread::wait() {
    static const bool has_others = std::thread::hardware_concurrency() > 1;
    std::array<epoll_event, max_events> space;
    std::span<epoll_event> events;
    const int most = patience();
    round_began_.store(0, std::memory_order_relaxed);
    const Time start = now_ = steady_clock::now();
    const bool looks = most != 0 && quick_ && has_others && start >= crowded_until_;
    while (looks && events.empty() && now_ - start < max_spin) {
        std::this_thread::yield();
        events = poll(space, 0);
        const Time before = std::exchange(now_, steady_clock::now());
        if (now_ - before > lost_turn) crowded_until_ = now_ + crowded_for;
    }
    if (events.empty()) {
        events = poll(space, most);
        now_ = steady_clock::now();
        quick_ = now_ - start < 2 * max_spin;
    }
    round_began_.store(now_.time_since_epoch().count(), std::memory_order_relaxed);
    while (take_up(events) && events.size() == max_events &&
           steady_clock::now() - now_ < max_farewell) {
        events = poll(space, 0);
    }
}

// Whether all of them were clients that hung up. Of many who die at once as many as can be are seen
// off in one round, so that little of what they leave is given to one of them.
bool IoThread::take_up(std::span<const epoll_event> events) {
    bool farewells = true;
    for (const auto& event : events) {
        if (event.data.ptr != nullptr) {
            farewells = farewells && (event.events & EPOLLHUP) != 0;
            static_cast<Served*>(event.data.ptr)->ready(event.events);
        } else {
            farewells = false;
            std::uint64_t calls = 0;
            [[maybe_unused]] const auto size = ::read(called_, &calls, sizeof calls);
        }
    }
    return farewells;
}

// What they add meanwhile is for the next round, but for what is to be sent.
void IoThread::round() {
    go_on();
    run_posted();
    remind();
    bool more = false;
    do {
        more = flush();
        // What was told on the way.
        for (auto& run : std::exchange(own_, {})) run();
        // Who is answered may be answered more at once.
        while (!sending_.empty()) {
            for (const auto& served : std::exchange(sending_, {})) served->send();
        }
    } while (more);
    forgotten_.clear();
    run_introduced();
    free_what_is_left();
}

// What a client leaves that has asked for very much takes as long to free as to serve.
void IoThread::free_what_is_left() {
    const Time start = steady_clock::now();
    while (!left_.empty() && (stopping_ || steady_clock::now() - start < max_freeing)) {
        // It may leave more behind.
        const auto left = std::move(left_.front());
        left_.pop_front();
    }
}

// Those who have asked for much take turns. However many they are, who asks for something meanwhile
// waits for no more than a part of them.
void IoThread::go_on() {
    const Time start = steady_clock::now();
    for (std::size_t left = going_on_.size(); left > 0; --left) {
        const auto served = std::move(going_on_.front());
        going_on_.pop_front();
        served->go_on();
        if (steady_clock::now() - start >= max_round_time) return;
    }
}

// Whether it wants to go on when what it told is sent.
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
