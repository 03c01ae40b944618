// Searches for processes of other hosts, which their relays answer.
#include "daemon/server/remote_processes.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "daemon/net/io_thread.hpp"
#include "daemon/peer/tls.hpp"

namespace rocklock {
namespace {

using FoundProcess = SessionWatch::FoundProcess;

const ClientHost web1{"web1", "boot"};
const ClientHost web2{"web2", "boot"};
const ProcessId process{4242, 987'654};

// The manager's ends of links. They are not started, so no frame is sent; the test answers.
struct Links {
    Links() { thread.start(); }
    Links(const Links&) = delete;
    Links& operator=(const Links&) = delete;
    ~Links() {
        for (const int end : ends) ::close(end);
        thread.stop();
    }

    std::shared_ptr<FramedLink> make() {
        int pair[2] = {-1, -1};
        BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
        ends.push_back(pair[1]);
        return std::make_shared<FramedLink>(pair[0], tls->accept(pair[0]), thread);
    }

    IoThread thread{[] { return std::nullopt; }};
    std::shared_ptr<const TlsContext> tls = TlsContext::for_manager({}).value();
    std::vector<int> ends;
};

struct Hosts : Links {
    Hosts() { processes.add_link(web1, link); }

    // Searches for a process of web1. The number of the query is that of the call, beginning
    // with 1.
    void search() {
        processes.find(web1, 1000, process.pid, [this](const Result<FoundProcess>& found) {
            answers.push_back(found ? found->process ? "process" : "none"
                                    : std::string(error_name(found.error())));
        });
    }
    static std::string error_name(const Error& error) {
        switch (error.code) {
            case ErrorCode::unreachable:
                return "unreachable";
            case ErrorCode::limit_exceeded:
                return "limit_exceeded";
            case ErrorCode::closing:
                return "closing";
            default:
                return error.message;
        }
    }
    std::vector<std::string> taken() { return std::exchange(answers, {}); }

    std::vector<std::string> answers;
    std::shared_ptr<FramedLink> link = make();
    RemoteProcesses processes{[](const SessionId&) {}};
};

using Answers = std::vector<std::string>;

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_search_for_a_process_of_another_host, Hosts)

BOOST_AUTO_TEST_CASE(is_answered_once_by_the_relay_of_the_host) {
    search();
    search();
    BOOST_TEST(taken().empty());
    processes.found(web2, {1, process, false});
    processes.found(web1, {9, process, false});
    BOOST_TEST(taken().empty());
    processes.found(web1, {2, {}, false});
    BOOST_TEST((taken() == Answers{"none"}));
    processes.found(web1, {1, process, false});
    processes.found(web1, {1, process, false});
    BOOST_TEST((taken() == Answers{"process"}));
}

BOOST_AUTO_TEST_CASE(fails_if_no_relay_of_the_host_is_connected) {
    processes.remove_link(web1, link.get());
    search();
    BOOST_TEST((taken() == Answers{"unreachable"}));
}

BOOST_AUTO_TEST_CASE(fails_if_its_link_is_lost) {
    const auto second = make();
    processes.add_link(web1, second);
    search();
    processes.remove_link(web1, second.get());
    BOOST_TEST(taken().empty());
    processes.remove_link(web1, link.get());
    BOOST_TEST((taken() == Answers{"unreachable"}));
    processes.found(web1, {1, process, false});
    BOOST_TEST(taken().empty());
}

BOOST_AUTO_TEST_CASE(fails_if_the_relay_does_not_answer_in_time) {
    search();
    const auto now = std::chrono::steady_clock::now();
    processes.end_old_queries(now + RemoteProcesses::max_query_time / 2);
    BOOST_TEST(taken().empty());
    processes.end_old_queries(now + RemoteProcesses::max_query_time);
    BOOST_TEST((taken() == Answers{"unreachable"}));
}

BOOST_AUTO_TEST_CASE(is_one_of_a_limited_number) {
    for (std::size_t i = 0; i < RemoteProcesses::max_queries; ++i) search();
    BOOST_TEST(taken().empty());
    search();
    BOOST_TEST((taken() == Answers{"limit_exceeded"}));
    processes.found(web1, {1, process, false});
    BOOST_TEST((taken() == Answers{"process"}));
    search();
    BOOST_TEST(taken().empty());
}

BOOST_AUTO_TEST_CASE(ends_with_the_server) {
    search();
    processes.stop();
    BOOST_TEST((taken() == Answers{"closing"}));
    search();
    BOOST_TEST((taken() == Answers{"closing"}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
