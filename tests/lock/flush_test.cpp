// A server that enqueues several requests before it flushes them.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/clock.hpp>
#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/faulty_storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "lock/manager/lock_manager.hpp"

namespace rocklock {
BOOST_AUTO_TEST_SUITE(enqueued_requests)

namespace {

using testing::FaultyStorage;
using testing::SimulatedClock;

// A manager with its background thread, and a session with a lease that outlasts the test.
struct Server {
    explicit Server(std::unique_ptr<Storage> used, const LockManagerOptions& options = {},
                    Clock& clock = system_clock())
        : storage(std::move(used)) {
        manager = LockManager::open(*storage, clock, options).value();
        session = open("ann");
    }

    SessionId open(const std::string& principal) {
        OpenSession request;
        request.principal = principal;
        request.lease = std::chrono::hours{1};
        return manager->ask(request).value().id;
    }

    void acquire(const std::string& resource, std::chrono::milliseconds patience = {}) {
        Acquire request;
        request.session = session;
        request.locks = {{.resource = resource}};
        request.patience = patience;
        enqueue(std::move(request));
    }
    void enqueue(Request request) {
        const auto number = count++;
        manager->enqueue(std::move(request), [this, number](Result<Answer> answer) {
            const std::lock_guard lock(mutex);
            delivering_threads.insert(std::this_thread::get_id());
            if (answers.size() <= number) answers.resize(number + 1);
            answers[number] = std::move(answer);
            ++answered;
            changed.notify_all();
        });
    }
    // Flushes until flush() no longer asks to be called again at once.
    void flush() const {
        while (manager->flush() == std::chrono::milliseconds{0}) {
        }
    }
    // Waits until all requests are answered. Fails after a minute.
    void until_answered() {
        std::unique_lock lock(mutex);
        BOOST_REQUIRE(
            changed.wait_for(lock, std::chrono::minutes{1}, [&] { return answered == count; }));
    }
    Grant granted(std::size_t number) {
        const std::lock_guard lock(mutex);
        return std::get<Grant>(answers.at(number)->value());
    }

    // Declared before the manager, because its thread uses them until it is destroyed.
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::optional<Result<Answer>>> answers;
    std::set<std::thread::id> delivering_threads;
    std::size_t count = 0;
    std::size_t answered = 0;
    std::unique_ptr<Storage> storage;
    std::unique_ptr<LockManager> manager;
    SessionId session;
};

// A device that counts the waits of the flushing thread. Each wait advances the clock by `takes`.
class Device final : public Storage {
public:
    explicit Device(SimulatedClock* clock = nullptr, std::chrono::milliseconds takes = {})
        : clock_(clock), takes_(takes) {}

    CommitNumber enqueue(Batch batch, Durability durability, Verdict* verdict) override {
        if (durability == Durability::durable) ++durable_commits;
        return inner_.enqueue(std::move(batch), durability, verdict);
    }
    Result<void> wait(CommitNumber number, Durability durability) override {
        std::unique_lock others_lock(others, std::defer_lock);
        if (std::this_thread::get_id() != flusher_) others_lock.lock();
        if (!inner_.done(number, durability)) {
            if (std::this_thread::get_id() == flusher_) ++waits_of_flusher;
            if (clock_ != nullptr) clock_->advance(takes_);
        }
        return inner_.wait(number, durability);
    }
    bool done(CommitNumber number, Durability durability) const override {
        return inner_.done(number, durability);
    }
    std::unique_ptr<Snapshot> snapshot() const override { return inner_.snapshot(); }
    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        return inner_.get(family, key);
    }
    std::optional<Error> failure() const override { return inner_.failure(); }
    bool suspect() const override { return inner_.suspect(); }
    Result<void> mark_sound() override { return inner_.mark_sound(); }
    Result<void> close() override { return inner_.close(); }

    std::size_t queued() const { return inner_.queued(); }
    // The waits of the thread that constructed the device.
    int waits_of_flusher = 0;
    // Commits that must be synced, by any thread.
    std::atomic<int> durable_commits{0};
    // While a test holds this mutex, the waits of all other threads block.
    std::mutex others;

private:
    FaultyStorage inner_{system_clock()};
    SimulatedClock* const clock_;
    const std::chrono::milliseconds takes_;
    const std::thread::id flusher_ = std::this_thread::get_id();
};

// A server that calls flush() in its own thread whenever the manager asks for it.
struct FlushingServer : Server {
    explicit FlushingServer(std::unique_ptr<Device> used, Clock& clock = system_clock(),
                            const LockManagerOptions& options = {})
        : Server(std::move(used), options, clock) {
        manager->on_flush_needed([this] {
            const std::lock_guard lock(mutex);
            flush_needed = true;
            changed.notify_all();
        });
    }
    Device& device() { return static_cast<Device&>(*storage); }
    std::size_t delivered_now() {
        const std::lock_guard lock(mutex);
        return answered;
    }
    // Flushes until all requests are answered. Fails after a minute.
    void flush_all() {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes{1};
        auto again = manager->flush();
        while (delivered_now() < count) {
            std::unique_lock lock(mutex);
            if (again != std::chrono::milliseconds{0}) {
                BOOST_REQUIRE(changed.wait_until(lock, deadline, [&] { return flush_needed; }));
            }
            flush_needed = false;
            lock.unlock();
            again = manager->flush();
        }
    }

    bool flush_needed = false;
};

void delivers_all(Server& server) {
    server.acquire("a");
    server.acquire("b");
    server.acquire("a");
    server.flush();
    server.until_answered();
    const Grant first = server.granted(0);
    BOOST_TEST((server.granted(1).id > first.id));
    BOOST_TEST((server.answers[2]->error().code == ErrorCode::already_held));

    server.enqueue(Release{server.session, first.id});
    server.acquire("a");
    server.flush();
    server.until_answered();
    BOOST_TEST((server.granted(4).id > first.id));
    BOOST_TEST(server.manager->statistics().held == 2U);
}

// Acquires `a` for ann and opens a session for bob, which later requests use. Returns ann's
// session.
SessionId hand_to_bob(Server& server) {
    server.acquire("a");
    server.flush();
    server.until_answered();
    return std::exchange(server.session, server.open("bob"));
}

}  // namespace

BOOST_AUTO_TEST_CASE(are_delivered_by_flush_if_no_commit_waits) {
    Server server(make_memory_storage(system_clock()));
    BOOST_TEST(!server.storage->syncs());
    delivers_all(server);
}

BOOST_AUTO_TEST_CASE(are_delivered_by_the_thread_if_commits_need_a_sync) {
    Server server(std::make_unique<FaultyStorage>(system_clock()));
    BOOST_TEST(server.storage->syncs());
    delivers_all(server);
}

BOOST_AUTO_TEST_CASE(are_delivered_in_a_store_that_does_not_sync) {
    LockManagerOptions options;
    options.durability = Durability::written;
    // With such a small reserve nearly every acquire reserves numbers, and so is synced.
    options.table.reserve = 8;
    Server server(std::make_unique<FaultyStorage>(system_clock()), options);
    for (int i = 0; i < 200; ++i) {
        server.acquire(std::to_string(i));
        if (i % 3 == 0) server.flush();
    }
    server.flush();
    server.until_answered();
    BOOST_TEST(server.manager->statistics().held == 200U);
}

BOOST_AUTO_TEST_CASE(that_wait_are_delivered_by_the_flush_after_the_release) {
    Server server(make_memory_storage(system_clock()));
    const auto ann = hand_to_bob(server);
    server.acquire("a", no_limit);
    server.flush();
    server.enqueue(Release{ann, server.granted(0).id});
    server.flush();
    server.until_answered();
    BOOST_TEST((server.granted(1).id > server.granted(0).id));
}

BOOST_AUTO_TEST_CASE(that_wait_are_completed_when_the_manager_closes) {
    Server server(make_memory_storage(system_clock()));
    hand_to_bob(server);
    for (int i = 0; i < 1000; ++i) server.acquire("a", no_limit);
    BOOST_TEST(server.manager->statistics().waiting == 1000U);
    BOOST_TEST((server.manager->close().has_value()));
    server.until_answered();
    BOOST_TEST((server.answers.back()->error().code == ErrorCode::closing));
}

BOOST_AUTO_TEST_CASE(need_no_flush_if_there_are_none) {
    Server server(make_memory_storage(system_clock()));
    server.flush();
    delivers_all(server);
    server.flush();
    BOOST_TEST((server.manager->close().has_value()));
    server.flush();
    server.acquire("late");
    server.until_answered();
    BOOST_TEST((server.answers.back()->error().code == ErrorCode::closing));
}

BOOST_AUTO_TEST_CASE(that_are_few_are_synced_by_the_flushing_thread) {
    // The simulated clock never makes the device look slow, whatever the load of this machine.
    SimulatedClock clock;
    FlushingServer server(std::make_unique<Device>(&clock), clock);
    const std::lock_guard alone(server.device().others);
    for (int i = 0; i < 100; ++i) {
        const int before = server.device().waits_of_flusher;
        server.acquire(std::to_string(i));
        server.manager->flush();
        BOOST_TEST(server.delivered_now() == server.count);
        BOOST_TEST(server.device().waits_of_flusher > before);
    }
    BOOST_TEST((server.delivering_threads == std::set{std::this_thread::get_id()}));
}

BOOST_AUTO_TEST_CASE(wait_for_no_sync_in_a_store_that_only_writes) {
    LockManagerOptions options;
    options.durability = Durability::written;
    options.table.reserve = 4'000;
    FlushingServer server(std::make_unique<Device>(), system_clock(), options);
    const auto ask = [&](int rounds) {
        for (int i = 0; i < rounds; ++i) {
            server.acquire(std::to_string(server.count));
            server.flush_all();
        }
    };
    const int before = server.device().durable_commits;
    // The manager's thread cannot sync meanwhile. More than half of the reserved numbers are used,
    // but not all of them.
    {
        const std::lock_guard alone(server.device().others);
        ask(1'200);
        BOOST_TEST(server.device().durable_commits == before);
        BOOST_TEST(server.delivered_now() == server.count);
    }
    // With these requests the reserved numbers run out, so a sync is necessary.
    ask(10'000);
    BOOST_TEST(server.delivered_now() == server.count);
    BOOST_TEST(server.manager->statistics().held == 11'200U);
    BOOST_TEST(!server.manager->failure().has_value());
}

BOOST_AUTO_TEST_CASE(are_synced_if_numbers_run_out_before_their_reservation_is_durable) {
    LockManagerOptions options;
    options.durability = Durability::written;
    options.table.reserve = 400;
    FlushingServer server(std::make_unique<Device>(), system_clock(), options);
    const int before = server.device().durable_commits;
    const std::lock_guard alone(server.device().others);
    for (int i = 0; i < 1'000; ++i) {
        server.acquire(std::to_string(i));
        server.manager->flush();
    }
    BOOST_TEST(server.delivered_now() == server.count);
    BOOST_TEST(server.device().durable_commits > before);
}

BOOST_AUTO_TEST_CASE(that_need_no_commit_are_delivered_before_the_sync) {
    SimulatedClock clock;
    FlushingServer server(std::make_unique<Device>(&clock), clock);
    const std::lock_guard alone(server.device().others);
    server.acquire("a");
    server.manager->flush();
    server.enqueue(Release{server.session, server.granted(0).id});
    server.acquire("b");
    BOOST_TEST((server.manager->flush() == std::chrono::milliseconds{0}));
    BOOST_TEST(server.delivered_now() == 2U);
    BOOST_TEST((server.manager->flush() != std::chrono::milliseconds{0}));
    BOOST_TEST(server.delivered_now() == 3U);
}

BOOST_AUTO_TEST_CASE(that_are_many_are_synced_by_the_managers_thread_and_delivered_by_flush) {
    FlushingServer server(std::make_unique<Device>());
    const int before = server.device().waits_of_flusher;
    for (int round = 0; round < 100; ++round) {
        for (int i = 0; i < 8; ++i) server.acquire(std::to_string(round) + "/" + std::to_string(i));
        server.flush_all();
    }
    BOOST_TEST(server.device().waits_of_flusher == before);
    BOOST_TEST((server.delivering_threads == std::set{std::this_thread::get_id()}));
    BOOST_TEST(server.manager->statistics().held == 800U);
}

BOOST_AUTO_TEST_CASE(are_left_to_the_thread_while_the_device_is_slow) {
    SimulatedClock clock;
    FlushingServer server(std::make_unique<Device>(&clock, std::chrono::milliseconds{10}), clock);
    // Until the manager has measured that the device is slow.
    for (int i = 0; i < 8; ++i) {
        server.acquire("first/" + std::to_string(i));
        server.flush_all();
    }
    const int before = server.device().waits_of_flusher;
    for (int i = 0; i < 5; ++i) {
        server.acquire("then/" + std::to_string(i));
        server.flush_all();
    }
    BOOST_TEST(server.device().waits_of_flusher == before);
    // After a while the flushing thread syncs again.
    clock.advance(std::chrono::seconds{1});
    server.acquire("at last");
    server.flush_all();
    BOOST_TEST(server.device().waits_of_flusher > before);
}

BOOST_AUTO_TEST_CASE(with_deferred_writes_have_them_written_soon) {
    SimulatedClock clock;
    FlushingServer server(std::make_unique<Device>(&clock), clock);
    server.acquire("a");
    server.manager->flush();
    BOOST_TEST(server.device().queued() == 0U);
    server.enqueue(Release{server.session, server.granted(0).id});
    const auto again = server.manager->flush();
    BOOST_TEST(server.delivered_now() == 2U);
    BOOST_TEST(server.device().queued() == 1U);
    BOOST_REQUIRE((again && *again > std::chrono::milliseconds{0}));
    clock.advance(*again);
    BOOST_TEST(!server.manager->flush());
    BOOST_TEST(server.device().queued() == 0U);
    BOOST_TEST(!server.manager->flush());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
