// Lists of locks while other threads acquire and release.
#include <atomic>
#include <set>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "database/running_database.hpp"

namespace rocklock::testing {

using namespace running;

namespace {

// Acquires and releases the resources of one set until its destruction.
class ChangingSet {
public:
    explicit ChangingSet(Database& database)
        : session_(database.open_session("changes").value()), thread_([this] { run(); }) {}
    ~ChangingSet() {
        stop_ = true;
        thread_.join();
    }
    ChangingSet(const ChangingSet&) = delete;
    ChangingSet& operator=(const ChangingSet&) = delete;

    std::uint64_t rounds() const { return rounds_; }

private:
    void run() {
        while (!stop_) {
            const auto set = session_.acquire({lock_of("first"), lock_of("second")});
            if (!set) return;
            ++rounds_;
        }
    }

    Session session_;
    std::atomic<bool> stop_{false};
    std::atomic<std::uint64_t> rounds_{0};
    std::thread thread_;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_list, RunningDatabase)

// A4: a list of at most 2,048 locks shows one instant, so it has all locks of a set or none.
BOOST_AUTO_TEST_CASE(of_few_locks_shows_one_instant) {
    const ChangingSet set(database);
    std::size_t with = 0;
    std::size_t without = 0;
    const auto give_up = std::chrono::steady_clock::now() + 20s;
    while ((with < 20 || without < 20) && std::chrono::steady_clock::now() < give_up) {
        const LockPage page = database.list({}).value();
        BOOST_REQUIRE((page.locks.empty() || page.locks.size() == 2));
        if (!page.locks.empty()) {
            BOOST_REQUIRE((page.locks[0].grant == page.locks[1].grant));
        }
        ++(page.locks.empty() ? without : with);
    }
    BOOST_TEST(with >= 20U);
    BOOST_TEST(without >= 20U);
}

// A4: a longer list has every lock that was held during the whole query.
BOOST_AUTO_TEST_CASE(of_many_locks_has_all_that_were_held_meanwhile) {
    Session holder = database.open_session("holder").value();
    std::vector<Guard> guards;
    for (int first = 0; first < 3'000; first += 100) {
        std::vector<LockRequest> locks;
        for (int i = first; i < first + 100; ++i) {
            locks.push_back(lock_of("held/" + std::to_string(i)));
        }
        guards.push_back(holder.acquire(std::move(locks)).value());
    }
    const ChangingSet set(database);
    for (int round = 0; round < 5; ++round) {
        const auto before = set.rounds();
        std::set<std::string> held;
        ListLocks request;
        do {
            const LockPage page = database.list(request).value();
            for (const Holder& lock : page.locks) {
                if (!lock.resource.starts_with("held/")) continue;
                BOOST_REQUIRE(held.insert(lock.resource).second);
            }
            request.next = page.next;
        } while (!request.next.empty());
        BOOST_TEST(held.size() == 3'000U);
        while (set.rounds() == before) std::this_thread::yield();
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
