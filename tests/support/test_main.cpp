// The entry point of every test program.
#define BOOST_TEST_MODULE rocklock
#include <execinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
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

// The sanitizers print their own reports.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// Prints the test case and the functions of the thread that crashed. Boost.Test's own handler
// returns to the test case, which destroys the stack if another thread crashed; it is switched off
// with --catch_system_errors=no.
class CrashReport final : public boost::unit_test::test_observer {
public:
    CrashReport() {
        boost::unit_test::framework::register_observer(*this);
        // The first call loads a library, which a signal handler may not do.
        std::array<void*, 1> function{};
        ::backtrace(function.data(), 1);
        for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
            struct sigaction action {};
            action.sa_handler = report;
            action.sa_flags = static_cast<int>(SA_RESETHAND);
            ::sigaction(signal, &action, nullptr);
        }
    }
    ~CrashReport() override { boost::unit_test::framework::deregister_observer(*this); }
    CrashReport(const CrashReport&) = delete;
    CrashReport& operator=(const CrashReport&) = delete;

    void test_unit_start(const boost::unit_test::test_unit& unit) override {
        const std::string name = unit.full_name();
        const auto size = std::min(name.size(), case_name().size() - 1);
        std::memcpy(case_name().data(), name.data(), size);
        case_name()[size] = '\0';
    }

private:
    static std::array<char, 256>& case_name() {
        static std::array<char, 256> name{};
        return name;
    }
    static void write(const char* text) {
        [[maybe_unused]] const auto size = ::write(STDERR_FILENO, text, std::strlen(text));
    }
    static void report(int signal) {
        write("crash in ");
        write(case_name().data());
        write(::getpid() == ::gettid() ? ", on the main thread:\n" : ", on another thread:\n");
        std::array<void*, 64> functions{};
        const int count = ::backtrace(functions.data(), static_cast<int>(functions.size()));
        ::backtrace_symbols_fd(functions.data(), count, STDERR_FILENO);
        ::raise(signal);
    }
};

BOOST_TEST_GLOBAL_FIXTURE(CrashReport);

#endif

}  // namespace
