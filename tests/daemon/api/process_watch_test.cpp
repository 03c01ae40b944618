#include "daemon/api/process_watch.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include "service/process_id.hpp"

using rocklock::ProcessId;
using rocklock::ProcessWatch;
using rocklock::SessionId;

namespace {

SessionId session(std::uint8_t number) {
    SessionId id;
    id.bytes.front() = number;
    return id;
}

// A process that runs until it is killed.
class Child {
public:
    Child() : pid_(::fork()) {
        if (pid_ == 0) {
            while (true) ::pause();
        }
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() { end(); }

    ProcessId process() const { return rocklock::find_process(pid_).value(); }
    void end() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }

private:
    pid_t pid_;
};

struct Watching {
    boost::asio::io_context context;
    std::vector<SessionId> closed;
    ProcessWatch watch{context.get_executor(),
                       [this](const SessionId& session) { closed.push_back(session); }};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(a_process_watch)

BOOST_AUTO_TEST_CASE(ends_a_session_with_the_last_of_its_processes) {
    Watching watching;
    Child first;
    Child second;
    watching.watch.watch(session(1), {first.process(), second.process()});
    first.end();
    watching.context.run_one();
    BOOST_TEST(watching.closed.empty());
    second.end();
    watching.context.run_one();
    BOOST_TEST((watching.closed == std::vector{session(1)}));
}

// If a session is opened after the list of sessions was requested, forget() must not remove it.
BOOST_AUTO_TEST_CASE(forgets_only_sessions_that_have_ended) {
    Watching watching;
    Child first;
    Child second;
    watching.watch.watch(session(1), {first.process()});
    const auto ended = watching.watch.sessions();
    watching.watch.watch(session(2), {second.process()});
    watching.watch.forget(ended);
    BOOST_TEST((watching.watch.sessions() == std::set{session(2)}));
    first.end();
    second.end();
    watching.context.run();
    BOOST_TEST((watching.closed == std::vector{session(2)}));
}

// Sessions come and go while their process keeps running.
BOOST_AUTO_TEST_CASE(closes_the_descriptors_of_forgotten_processes) {
    Watching watching;
    Child child;
    const auto descriptors = [] {
        using Iterator = std::filesystem::directory_iterator;
        return std::distance(Iterator("/proc/self/fd"), Iterator());
    };
    // The first watch also opens the descriptors that all watches share.
    watching.watch.watch(session(1), {child.process()});
    watching.watch.forget({session(1)});
    const auto before = descriptors();
    for (std::uint8_t number = 1; number < 10; ++number) {
        watching.watch.watch(session(number), {child.process()});
        BOOST_TEST(descriptors() == before + 1);
        watching.watch.forget({session(number)});
        BOOST_TEST(descriptors() == before);
    }
    watching.watch.watch(session(1), {child.process()});
    child.end();
    watching.context.run();
    BOOST_TEST(watching.closed.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
