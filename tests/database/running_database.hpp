// A database with its own threads, and a record of its events.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>

#include "database/simulated_database.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing::running {

// Counts events from other threads, and waits for them.
class Events {
public:
    void happen(std::string what) {
        const std::scoped_lock lock(mutex_);
        seen_.push_back(std::move(what));
        changed_.notify_all();
    }
    // Waits up to ten seconds. Returns whether at least `count` events have happened.
    bool wait_for(std::size_t count) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, 10s, [&] { return seen_.size() >= count; });
    }
    std::vector<std::string> seen() {
        const std::scoped_lock lock(mutex_);
        return seen_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> seen_;
};

struct RunningDatabase {
    Hosted host{system_clock(), {}};
    Database database = host.connect_or_open({});

    // Waits until `count` requests are queued.
    void until_waiting(std::uint64_t count) {
        const auto give_up = std::chrono::steady_clock::now() + 10s;
        while (database.statistics().waiting < count) {
            BOOST_REQUIRE((std::chrono::steady_clock::now() < give_up));
            std::this_thread::yield();
        }
    }
};

inline SessionOptions short_lease(bool renew) {
    SessionOptions options;
    options.lease = 300ms;
    options.renew = renew;
    return options;
}

// Returns the options of a session that is renewed every second. Over a socket, the responses to
// renewals report requests of other sessions for its locks.
inline SessionOptions often_renewed() {
    SessionOptions options;
    options.lease = 3s;
    return options;
}

}  // namespace rocklock::testing::running
