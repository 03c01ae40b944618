// The entry point of every test program.
#define BOOST_TEST_MODULE rocklock
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <boost/test/tree/observer.hpp>
#include <boost/test/unit_test.hpp>

namespace {

// Ends the program at an assertion on another thread than the one that runs the test cases.
// Boost.Test keeps the state of an assertion without a lock, so two at once corrupt its memory:
// a callback or a thread of a test has to hand its results to the thread of the test case.
class AssertionsOnOneThread final : public boost::unit_test::test_observer {
public:
    AssertionsOnOneThread() { boost::unit_test::framework::register_observer(*this); }
    ~AssertionsOnOneThread() override { boost::unit_test::framework::deregister_observer(*this); }
    AssertionsOnOneThread(const AssertionsOnOneThread&) = delete;
    AssertionsOnOneThread& operator=(const AssertionsOnOneThread&) = delete;

    void assertion_result(boost::unit_test::assertion_result) override {
        if (std::this_thread::get_id() == thread_) return;
        std::fprintf(stderr, "%s: an assertion ran on another thread than its test case\n",
                     boost::unit_test::framework::current_test_case().full_name().c_str());
        std::_Exit(EXIT_FAILURE);
    }

private:
    std::thread::id thread_ = std::this_thread::get_id();
};

BOOST_TEST_GLOBAL_FIXTURE(AssertionsOnOneThread);

}  // namespace
