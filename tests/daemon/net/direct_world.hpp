// A lock manager and a dispatcher for tests of direct calls (lib/service/direct_call.hpp), without
// a socket. Responses must wait for the next flush().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/clock.hpp>
#include <rocklock/testing/faulty_storage.hpp>

#include "lock/manager/lock_manager.hpp"
#include "service/dispatcher.hpp"

namespace rocklock::testing {

// Counts the replies to Acquires.
class AcquireObserver final : public CallObserver {
public:
    Started begin(const Call& call, const Caller& /*caller*/) override {
        return {call.body.index(), true, std::chrono::steady_clock::now(), nullptr};
    }
    void end(const Started& started, Result<Reply>&& reply, const Done& done) override {
        count(started, reply ? nullptr : &reply.error());
        done(std::move(reply));
    }
    void end(const Started& started, const Error* error,
             std::chrono::steady_clock::time_point /*now*/) override {
        count(started, error);
    }

    int replies(std::optional<ErrorCode> error) const {
        const std::lock_guard lock(mutex_);
        const auto found = replies_.find(error);
        return found != replies_.end() ? found->second : 0;
    }

private:
    void count(const Started& started, const Error* error) {
        static const std::size_t acquire_verb = CallBody(Acquire()).index();
        if (started.verb != acquire_verb) return;
        const std::lock_guard lock(mutex_);
        ++replies_[error != nullptr ? std::optional(error->code) : std::nullopt];
    }

    mutable std::mutex mutex_;
    std::map<std::optional<ErrorCode>, int> replies_;
};

struct DirectWorld {
    // Without this function, the manager's thread could deliver responses before flush().
    DirectWorld() {
        manager->on_flush_needed([] {});
    }
    // Delivers the responses that were not flushed, while their observer exists.
    ~DirectWorld() { std::ignore = manager->close(); }
    DirectWorld(const DirectWorld&) = delete;
    DirectWorld& operator=(const DirectWorld&) = delete;

    FaultyStorage storage{system_clock()};
    std::unique_ptr<LockManager> manager = LockManager::open(storage, system_clock(), {}).value();
    AcquireObserver observer;
    Dispatcher dispatcher{*manager, nullptr, options()};

    DispatcherOptions options() {
        DispatcherOptions made;
        made.observer = &observer;
        made.flush_soon = [] {};
        return made;
    }
    // Waits until `count` calls have ended with this error. Fails after a minute.
    void await_calls(int count, ErrorCode error) const {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes{1};
        while (calls(error) < count) {
            BOOST_REQUIRE(std::chrono::steady_clock::now() < deadline);
            std::this_thread::yield();
        }
        BOOST_TEST(calls(error) == count);
    }
    void flush() const {
        while (manager->flush() == std::chrono::milliseconds{0}) {
        }
    }
    int calls(std::optional<ErrorCode> error = {}) const { return observer.replies(error); }
    std::uint64_t held() const { return manager->statistics().held; }
};

// Threads that flush until the object is destroyed.
class Flushers {
public:
    explicit Flushers(const DirectWorld& world) {
        for (int i = 0; i < 2; ++i) {
            threads_.emplace_back([&world](const std::stop_token& stop) {
                while (!stop.stop_requested()) {
                    world.flush();
                    std::this_thread::yield();
                }
            });
        }
    }

private:
    std::vector<std::jthread> threads_;
};

}  // namespace rocklock::testing
