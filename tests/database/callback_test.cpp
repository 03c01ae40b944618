// The replaceable callbacks of sessions.
#include "database/callback.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include <boost/test/unit_test.hpp>

namespace rocklock {
namespace {

using namespace std::chrono_literals;

// Counts its copies. Destroying a copy takes a while on other threads than that of the test.
class Counted {
public:
    explicit Counted(std::atomic<int>& copies) : copies_(copies) { ++copies_; }
    Counted(const Counted& other) : copies_(other.copies_), test_(other.test_) { ++copies_; }
    Counted& operator=(const Counted&) = delete;
    ~Counted() {
        if (std::this_thread::get_id() != test_) std::this_thread::sleep_for(50ms);
        --copies_;
    }

private:
    std::atomic<int>& copies_;
    const std::thread::id test_ = std::this_thread::get_id();
};

BOOST_AUTO_TEST_SUITE(a_callback)

BOOST_AUTO_TEST_CASE(is_destroyed_when_its_replacement_returns) {
    std::atomic<int> copies{0};
    std::promise<void> called;
    Callback<int> callback;
    callback.set([counted = Counted(copies), &called](int) {
        called.set_value();
        std::this_thread::sleep_for(20ms);
    });
    std::thread caller([&] { callback(1); });
    called.get_future().wait();
    callback.set({});
    BOOST_TEST(copies == 0);
    caller.join();
}

BOOST_AUTO_TEST_CASE(can_be_removed_within_its_call) {
    Callback<int> callback;
    int calls = 0;
    callback.set([&](int) {
        ++calls;
        callback.set({});
    });
    callback(1);
    callback(2);
    BOOST_TEST(calls == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace rocklock
