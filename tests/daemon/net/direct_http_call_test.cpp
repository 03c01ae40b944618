// Direct calls as JSON over HTTP, without a socket. direct_call_test.cpp tests those in frames.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>

#include "daemon/http/known_heads.hpp"
#include "daemon/http/usual_request.hpp"
#include "daemon/net/http_conversation.hpp"
#include "direct_world.hpp"
#include "service/client_session.hpp"

namespace {

using namespace rocklock;
using testing::DirectWorld;
using testing::FaultyStorage;
using namespace std::chrono_literals;

struct Response {
    int status = 0;
    boost::json::object body;

    std::string name() const {
        return body.contains("__type") ? std::string(body.at("__type").as_string()) : "";
    }
    std::uint64_t grant() const { return body.at("Grant").to_number<std::uint64_t>(); }
    std::vector<std::string> members() const {
        std::vector<std::string> names;
        for (const auto& member : body) names.emplace_back(member.key());
        return names;
    }
};

// Functions that a conversation has posted. Shared, because the conversation may call post() after
// its DirectHttpLine is destroyed.
struct Posted {
    void post(std::function<void()> run) {
        const std::lock_guard lock(mutex);
        functions.push_back(std::move(run));
    }
    void run_all() {
        for (;;) {
            std::unique_lock lock(mutex);
            if (functions.empty()) return;
            const auto run = std::move(functions.front());
            functions.pop_front();
            lock.unlock();
            run();
        }
    }

    std::mutex mutex;
    std::deque<std::function<void()>> functions;
    // The number of calls of `answers_ready`.
    std::atomic<int> ready{0};
};

// A connection with a session that it has proved to own.
class DirectHttpLine {
public:
    explicit DirectHttpLine(DirectWorld& world, const HttpServices& services = {})
        : world_(world),
          session_(std::make_shared<ClientSession>(world.dispatcher, Caller{4711, 42})),
          conversation_(std::make_shared<HttpConversation>(
              session_,
              [posted = posted](std::function<void()> run) { posted->post(std::move(run)); },
              [posted = posted] { ++posted->ready; }, [] {}, services)) {
        send("OpenSession", R"({"Principal":"ann","LeaseMs":3600000,"Bound":"none"})");
        const Response opened = await();
        proof = R"("Session":")" + std::string(opened.body.at("Session").as_string()) +
                R"(","Secret":")" + std::string(opened.body.at("Secret").as_string()) + '"';
        // The first call proves the session.
        send("RenewSession", "{" + proof + "}");
        await();
        learn_heads();
    }

    // The heads of direct calls must be known.
    static void learn_heads() {
        for (const std::string_view verb : {"Acquire", "Release"}) learn_head(request(verb, "{}"));
    }
    static void learn_head(const std::string& bytes) {
        HttpRequest read;
        BOOST_REQUIRE(read_usual_request(bytes, read).has_value());
        const std::string_view all = bytes;
        KnownHeads::of_this_thread().add(all.substr(0, bytes.size() - read.body.size()), read);
    }

    static std::string request(std::string_view verb, const std::string& body) {
        return "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
               "X-Amz-Target: Rocklock_20261121." +
               std::string(verb) + "\r\nContent-Length: " + std::to_string(body.size()) +
               "\r\n\r\n" + body;
    }
    void send(std::string_view verb, const std::string& body) {
        conversation_->receive(request(verb, body));
    }
    std::string acquire_body(const std::string& resource, const std::string& more = "") const {
        return "{" + proof + R"(,"Locks":[{"Resource":")" + resource + R"("}])" + more + "}";
    }
    void acquire(const std::string& resource, const std::string& more = "") {
        send("Acquire", acquire_body(resource, more));
    }
    void release(std::uint64_t grant) {
        send("Release", "{" + proof + R"(,"Grant":)" + std::to_string(grant) + "}");
    }
    // Collects the responses, and returns the next one, or nullopt if there is none.
    std::optional<Response> next() {
        posted->run_all();
        conversation_->collect();
        const std::string output = conversation_->take_output();
        conversation_->output_sent(output.size());
        conversation_->output_taken();
        received_ += output;
        const auto end_of_head = received_.find("\r\n\r\n");
        if (end_of_head == received_.npos) return std::nullopt;
        constexpr std::string_view length_header = "Content-Length: ";
        const auto at = received_.find(length_header) + length_header.size();
        const std::size_t size = std::stoul(received_.substr(at));
        const auto begin = end_of_head + 4;
        Response response;
        response.status = std::stoi(received_.substr(std::string_view("HTTP/1.1 ").size()));
        response.body = boost::json::parse(received_.substr(begin, size)).as_object();
        received_.erase(0, begin + size);
        return response;
    }
    // Flushes, and returns the next response. The manager's thread may make the sync, so this can
    // take some time. Fails after a minute.
    Response await() {
        const auto deadline = std::chrono::steady_clock::now() + 1min;
        for (;;) {
            world_.flush();
            if (auto response = next()) return *std::move(response);
            BOOST_REQUIRE(std::chrono::steady_clock::now() < deadline);
            std::this_thread::yield();
        }
    }
    std::uint64_t granted() {
        const Response response = await();
        BOOST_REQUIRE(response.status == 200);
        return response.grant();
    }
    HttpConversation& conversation() { return *conversation_; }
    ClientSession& client_session() { return *session_; }
    void destroy() { conversation_.reset(); }

    const std::shared_ptr<Posted> posted = std::make_shared<Posted>();
    // The members that prove the session.
    std::string proof;

private:
    DirectWorld& world_;
    std::shared_ptr<ClientSession> session_;
    std::shared_ptr<HttpConversation> conversation_;
    std::string received_;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_direct_call_over_http, DirectWorld)

BOOST_AUTO_TEST_CASE(is_answered_after_the_next_flush) {
    DirectHttpLine line(*this);
    line.acquire("orders/1");
    BOOST_TEST(held() == 1U);
    BOOST_TEST(line.conversation().outstanding() == 1U);
    BOOST_TEST(!line.next().has_value());
    const int ready = line.posted->ready;
    flush();
    // A call on the general path would have posted its response.
    BOOST_TEST(line.posted->ready == ready + 1);
    const auto grant = line.granted();
    BOOST_TEST(line.conversation().outstanding() == 0U);
    line.release(grant);
    BOOST_TEST(!line.next().has_value());
    const Response released = line.await();
    BOOST_TEST(released.status == 200);
    BOOST_TEST(released.body.at("Outcome").as_string() == "released");
    BOOST_TEST(held() == 0U);
    BOOST_TEST(calls() == 1);
}

// A body with "Held" is not a direct call.
BOOST_AUTO_TEST_CASE(has_the_same_response_as_other_calls) {
    DirectHttpLine line(*this);
    line.acquire("a");
    const int ready = line.posted->ready;
    const Response direct = line.await();
    BOOST_TEST(line.posted->ready == ready + 1);
    line.acquire("b", R"(,"Held":"refuse")");
    const Response other = line.await();
    BOOST_TEST(line.posted->ready == ready + 1);
    BOOST_TEST(direct.members() == other.members(), boost::test_tools::per_element());
    BOOST_TEST(direct.body.at("Session").as_string() == other.body.at("Session").as_string());
    BOOST_TEST(boost::json::serialize(direct.body.at("Locks")) ==
               R"([{"Resource":"a","Mode":"write"}])");

    line.acquire("a");
    const Response refused = line.await();
    line.acquire("a", R"(,"Held":"refuse")");
    const Response refused_too = line.await();
    BOOST_TEST(refused.status == refused_too.status);
    BOOST_TEST(refused.name() == "rocklock#AlreadyHeldException");
    BOOST_TEST(boost::json::serialize(refused.body) == boost::json::serialize(refused_too.body));
}

// A known head does not permit what the rules for requests over TCP forbid.
BOOST_AUTO_TEST_CASE(is_refused_over_tcp_if_it_names_another_host) {
    HttpServices services;
    services.tcp = true;
    DirectHttpLine line(*this, services);
    line.acquire("a");
    line.granted();
    auto foreign = DirectHttpLine::request("Acquire", line.acquire_body("b"));
    foreign.replace(foreign.find("localhost"), 9, "evil.example");
    DirectHttpLine::learn_head(foreign);
    line.conversation().receive(foreign);
    BOOST_TEST(line.await().status == 403);
    BOOST_TEST(held() == 1U);
}

BOOST_AUTO_TEST_CASE(is_refused_if_there_is_no_room_for_its_response) {
    UserBuffers::Account account(4711, 1'000);
    HttpServices services;
    services.buffers = &account;
    DirectHttpLine line(*this, services);
    {
        const CountedBytes others(&account, 1'000);
        line.acquire("a");
        BOOST_TEST(line.await().status == 503);
        BOOST_TEST(held() == 0U);
    }
    line.acquire("a");
    line.granted();
    line.destroy();
    BOOST_TEST(account.bytes() == 0U);
}

BOOST_AUTO_TEST_CASE(that_conflicts_gets_all_facts) {
    std::deque<DirectHttpLine> readers;
    const std::string note(4'000, 'n');
    for (int i = 0; i < 30; ++i) {
        readers.emplace_back(*this).send("Acquire",
                                         "{" + readers.back().proof + R"(,"Note":")" + note +
                                             R"(","Locks":[{"Resource":"a","Mode":"read"}]})");
        readers.back().granted();
    }
    DirectHttpLine line(*this);
    line.acquire("a");
    const Response direct = line.await();
    line.acquire("a", R"(,"Held":"refuse")");
    const Response other = line.await();
    BOOST_TEST(direct.status == other.status);
    BOOST_TEST(direct.name() == "rocklock#LockConflictException");
    BOOST_TEST(direct.members() == other.members(), boost::test_tools::per_element());
    const auto& blockers = direct.body.at("Blockers").as_array();
    BOOST_TEST(blockers.size() == 30U);
    BOOST_TEST(blockers.at(0).as_object().at("Note").as_string() == note);
    BOOST_TEST(calls(ErrorCode::conflict) == 2);
}

BOOST_AUTO_TEST_CASE(keeps_the_members_of_its_request_only) {
    DirectHttpLine line(*this);
    line.acquire("a", R"(,"Note":"for the audit","RequestId":"r1","PatienceMs":5)");
    const auto grant = line.granted();
    line.acquire("b");
    line.granted();
    const auto note_of = [&](const std::string& name) {
        return manager->show(name).value().holders.at(0).note;
    };
    BOOST_TEST(note_of("a") == "for the audit");
    BOOST_TEST(note_of("b") == "");
    // The second call had no request id: it is not taken for a repetition.
    line.acquire("a", R"(,"RequestId":"r1")");
    BOOST_TEST(line.granted() == grant);
    DirectHttpLine other(*this);
    other.acquire("a");
    BOOST_TEST(other.await().name() == "rocklock#LockConflictException");
}

BOOST_AUTO_TEST_CASE(is_answered_in_the_order_of_the_requests) {
    DirectHttpLine line(*this);
    line.acquire("a");
    line.send("Ping", "{}");
    line.acquire("a");
    line.acquire("b");
    BOOST_TEST(line.conversation().outstanding() == 4U);
    const auto first = line.granted();
    BOOST_TEST(line.await().body.contains("Pid"));
    BOOST_TEST(line.await().name() == "rocklock#AlreadyHeldException");
    BOOST_TEST(line.granted() > first);
    BOOST_TEST(calls() == 2);
    BOOST_TEST(calls(ErrorCode::already_held) == 1);
}

BOOST_AUTO_TEST_CASE(that_waits_is_answered_later) {
    DirectHttpLine holder(*this);
    DirectHttpLine line(*this);
    holder.acquire("a");
    const auto first = holder.granted();
    line.acquire("a", R"(,"PatienceMs":-1)");
    flush();
    BOOST_TEST(!line.next().has_value());
    BOOST_TEST(line.conversation().outstanding() == 1U);
    holder.release(first);
    holder.await();
    const Response response = line.await();
    BOOST_TEST(response.body.at("Waited").as_bool());
    BOOST_TEST(calls() == 2);
}

BOOST_AUTO_TEST_CASE(that_waits_is_undone_if_its_client_hangs_up) {
    DirectHttpLine holder(*this);
    DirectHttpLine line(*this);
    holder.acquire("a");
    const auto first = holder.granted();
    line.acquire("a", R"(,"PatienceMs":-1)");
    line.client_session().hang_up(0);
    dispatcher.release_disconnected();
    holder.release(first);
    holder.await();
    BOOST_TEST(held() == 0U);
}

// More than 32 responses to direct calls are not held for one connection.
BOOST_AUTO_TEST_CASE(is_answered_like_other_calls_if_many_are_outstanding) {
    DirectHttpLine line(*this);
    constexpr int count = 100;
    std::string requests;
    for (int i = 0; i < count; ++i) {
        requests += DirectHttpLine::request("Acquire", line.acquire_body("r" + std::to_string(i)));
    }
    line.conversation().receive(requests);
    while (line.conversation().paused()) line.conversation().receive({});
    BOOST_TEST(line.conversation().outstanding() == 100U);
    for (int i = 0; i < count; ++i) {
        const Response response = line.await();
        const auto& lock = response.body.at("Locks").as_array().at(0).as_object();
        BOOST_TEST(lock.at("Resource").as_string() == "r" + std::to_string(i));
    }
    BOOST_TEST(calls() == count);
    BOOST_TEST(line.conversation().outstanding() == 0U);
}

BOOST_AUTO_TEST_CASE(is_refused_if_its_commit_fails) {
    DirectHttpLine line(*this);
    storage.fail_nth(FaultyStorage::Call::write, 1);
    line.acquire("a");
    const Response response = line.await();
    BOOST_TEST(response.status == 500);
    BOOST_TEST(response.body.at("Cause").as_string() == "io_error");
    BOOST_TEST(calls() == 0);
    await_calls(1, ErrorCode::io_error);
    BOOST_TEST(!line.client_session().has_unconfirmed());
    // Afterwards, all calls fail in the same way.
    line.acquire("b");
    BOOST_TEST(line.await().status == 500);
}

BOOST_AUTO_TEST_CASE(needs_the_secret_and_a_live_session) {
    DirectHttpLine line(*this);
    const std::string right = line.proof;
    // The third character from the end has no unused bits.
    char& digit = line.proof[line.proof.size() - 4];
    digit = digit == 'A' ? 'B' : 'A';
    line.acquire("a");
    BOOST_TEST(line.await().name() == "rocklock#NotOwnerException");
    line.proof = right;
    line.send("CloseSession", "{" + line.proof + "}");
    line.await();
    line.acquire("a");
    BOOST_TEST(line.await().name() == "rocklock#SessionExpiredException");
    BOOST_TEST(held() == 0U);
}

BOOST_AUTO_TEST_CASE(of_a_client_that_hangs_up_is_undone) {
    DirectHttpLine line(*this);
    line.acquire("a");
    line.acquire("b", R"(,"RequestId":"can be repeated")");
    line.client_session().hang_up(0);
    line.destroy();
    dispatcher.release_disconnected();
    flush();
    BOOST_TEST(held() == 1U);
    BOOST_TEST(manager->show("a").value().holders.empty());
}

BOOST_AUTO_TEST_CASE(that_was_read_is_not_undone) {
    DirectHttpLine line(*this);
    line.acquire("a");
    line.granted();
    BOOST_TEST(line.client_session().has_unconfirmed());
    line.client_session().hang_up(1U << 20);
    dispatcher.release_disconnected();
    flush();
    BOOST_TEST(held() == 1U);
}

BOOST_AUTO_TEST_CASE(is_confirmed_by_a_later_request) {
    DirectHttpLine line(*this);
    line.acquire("a");
    line.granted();
    line.acquire("b");
    line.granted();
    line.client_session().hang_up(0);
    dispatcher.release_disconnected();
    flush();
    BOOST_TEST(manager->show("a").value().holders.size() == 1U);
    BOOST_TEST(manager->show("b").value().holders.empty());
}

BOOST_AUTO_TEST_CASE(is_answered_after_the_end_of_the_input) {
    DirectHttpLine line(*this);
    line.acquire("a");
    line.conversation().end_of_input();
    BOOST_TEST(!line.conversation().ended());
    line.granted();
    BOOST_TEST(line.conversation().ended());
}

BOOST_AUTO_TEST_CASE(is_answered_once_while_other_threads_flush) {
    std::optional<testing::Flushers> flushers(*this);
    DirectHttpLine line(*this);
    for (int round = 0; round < 300; ++round) {
        constexpr int at_once = 4;
        std::string requests;
        for (int i = 0; i < at_once; ++i) {
            const auto name = std::to_string(round) + "/" + std::to_string(i);
            requests += DirectHttpLine::request("Acquire", line.acquire_body(name));
        }
        line.conversation().receive(requests);
        const auto deadline = std::chrono::steady_clock::now() + 1min;
        int answered = 0;
        while (answered < at_once) {
            BOOST_REQUIRE(std::chrono::steady_clock::now() < deadline);
            if (line.conversation().paused()) line.conversation().receive({});
            const auto response = line.next();
            if (!response) continue;
            BOOST_TEST(response->status == 200);
            ++answered;
        }
        BOOST_REQUIRE(line.conversation().outstanding() == 0U);
    }
    flushers.reset();
    BOOST_TEST(held() == 1'200U);
    BOOST_TEST(calls() == 1'200);
}

BOOST_AUTO_TEST_SUITE_END()
