// HTTP without a socket: bytes in and bytes out, on a store in memory.
#include "daemon/net/http_conversation.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>

#include "service/edit_endpoint.hpp"

BOOST_AUTO_TEST_SUITE(a_conversation)

namespace {

using namespace rocklock;

DatabaseOptions with_threads(bool background) {
    DatabaseOptions options;
    options.background = background;
    return options;
}

struct World {
    // With `flush_soon`, calls are completed by flush() and not earlier, many together, as in the
    // daemon. The database then has no background threads, which could complete calls earlier.
    explicit World(std::function<void()> flush_soon = {})
        : database(*Database::in_memory(with_threads(!flush_soon))),
          dispatcher(*server_service(database.service()), nullptr,
                     {.store = "memory",
                      .durability = "durable",
                      .administrator = 4711,
                      .flush_soon = std::move(flush_soon)}) {}
    void flush() { BOOST_REQUIRE(database.tick()); }

    Database database;
    Dispatcher dispatcher;
};

// A connection. Its responses are collected on the thread of the test.
class Line {
public:
    explicit Line(World& world, const Caller& caller = {4711, 42},
                  const HttpServices& services = {})
        : session_(std::make_shared<ClientSession>(world.dispatcher, caller)),
          conversation_(std::make_shared<HttpConversation>(
              session_, [this](std::function<void()> run) { post(std::move(run)); },
              [this] { post([this] { conversation_->collect(); }); }, [] {}, services)) {}

    void send(const std::string& verb, const std::string& body) {
        conversation_->receive("POST / HTTP/1.1\r\nX-Amz-Target: Rocklock_20261121." + verb +
                               "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                               body);
    }
    HttpConversation& conversation() { return *conversation_; }
    // The client has disconnected without reading anything.
    void hang_up() { session_->hang_up(0); }

    // Returns the responses when at most `outstanding` requests are unanswered, or after a minute.
    std::string answers(std::size_t outstanding = 0) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes{1};
        while (conversation_->outstanding() > outstanding) {
            std::unique_lock lock(mutex_);
            if (!arrived_.wait_until(lock, deadline, [this] { return !posted_.empty(); })) break;
            auto run = std::move(posted_.front());
            posted_.pop_front();
            lock.unlock();
            run();
        }
        return conversation_->take_output();
    }

    std::string call(const std::string& verb, const std::string& body) {
        send(verb, body);
        return answers();
    }

private:
    void post(std::function<void()> run) {
        const std::lock_guard lock(mutex_);
        posted_.push_back(std::move(run));
        arrived_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable arrived_;
    std::deque<std::function<void()>> posted_;
    std::shared_ptr<ClientSession> session_;
    std::shared_ptr<HttpConversation> conversation_;
};

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(answers_a_call) {
    World world;
    Line line(world);
    const auto answer = line.call("Acquire", R"({"Principal":"ann","Locks":[{"Resource":"a"}]})");
    BOOST_TEST(
        answer.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\n"));
    BOOST_TEST(has(answer, R"("Locks":[{"Resource":"a","Mode":"write"}])"));
}

BOOST_AUTO_TEST_CASE(answers_in_the_order_of_the_requests) {
    World world;
    Line holder(world);
    holder.call("Acquire", R"({"Principal":"ann","Locks":[{"Resource":"a"}]})");
    Line line(world);
    line.send("Acquire", R"({"Principal":"bob","PatienceMs":50,"Locks":[{"Resource":"a"}]})");
    line.send("Ping", "{}");
    const auto answers = line.answers();
    const auto first = answers.find("PatienceExpiredException");
    BOOST_REQUIRE(first != std::string::npos);
    BOOST_TEST(answers.find("Pid\":", first) != std::string::npos);
    BOOST_TEST(has(answers, "\"Blockers\":[{\"Resource\":\"a\""));
}

BOOST_AUTO_TEST_CASE(continues_after_a_refusal) {
    World world;
    Line line(world);
    BOOST_TEST(has(line.call("Acquire", "{"), "HTTP/1.1 400 "));
    BOOST_TEST(has(line.call("Nonsense", "{}"), "rocklock#UnknownOperationException"));
    BOOST_TEST(has(line.call("Ping", ""), "HTTP/1.1 200 "));
}

BOOST_AUTO_TEST_CASE(ends_after_bytes_that_are_not_http) {
    World world;
    Line line(world);
    line.conversation().receive("nonsense\r\n\r\n");
    BOOST_TEST(has(line.conversation().take_output(), "HTTP/1.1 400 "));
    BOOST_TEST(line.conversation().broken());
    BOOST_TEST(line.conversation().ended());
}

BOOST_AUTO_TEST_CASE(refuses_a_large_request_while_the_limit_of_its_user_is_exceeded) {
    World world;
    UserBuffers::Account account(4711, 300'000);
    const HttpServices services{false, nullptr, &account};
    const std::string head = "POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n";
    {
        Line first(world, {4711, 42}, services);
        Line second(world, {4711, 42}, services);
        first.conversation().receive(head + std::string(200'000, ' '));
        BOOST_TEST(first.answers(1).empty());
        second.conversation().receive(head + std::string(200'000, ' '));
        const auto refused = second.answers();
        BOOST_TEST(has(refused, "HTTP/1.1 503 "));
        BOOST_TEST(has(refused, "max-user-buffer-bytes"));
        BOOST_TEST(has(refused, "\"Limit\":300000"));
        BOOST_TEST(second.conversation().ended());
        // The refused request is not kept.
        BOOST_TEST(account.bytes() < 250'000U);
        // Small requests are still accepted, and a complete request no longer counts.
        Line third(world, {4711, 42}, services);
        BOOST_TEST(has(third.call("Ping", "{}"), "HTTP/1.1 200 "));
        first.conversation().receive(std::string(800'000, ' '));
        BOOST_TEST(has(first.answers(), "HTTP/1.1 400 "));
    }
    BOOST_TEST(account.bytes() == 0U);
}

BOOST_AUTO_TEST_CASE(counts_an_incomplete_request_of_64_kb) {
    World world;
    UserBuffers::Account account(4711, 100'000);
    const HttpServices services{false, nullptr, &account};
    const std::string part =
        "POST / HTTP/1.1\r\nContent-Length: 65536\r\n\r\n" + std::string(60'000, ' ');
    Line first(world, {4711, 42}, services);
    first.conversation().receive(part);
    BOOST_TEST(account.bytes() >= 60'000U);
    Line second(world, {4711, 42}, services);
    second.conversation().receive(part);
    BOOST_TEST(has(second.answers(), "HTTP/1.1 503 "));
}

BOOST_AUTO_TEST_CASE(counts_a_response_until_it_is_sent) {
    World world;
    UserBuffers::Account account(4711, 1'000'000);
    const HttpServices services{false, nullptr, &account};
    Line line(world, {4711, 42}, services);
    for (int i = 0; i < 30; ++i) {
        line.call("Acquire", R"({"Principal":"ann","Locks":[{"Resource":")" + std::to_string(i) +
                                 R"("}],"Note":")" + std::string(4000, 'x') + "\"}");
        line.conversation().output_taken();
    }
    BOOST_TEST(account.bytes() == 0U);
    const auto list = line.call("ListLocks", "{}");
    BOOST_TEST(list.size() > 120'000U);
    BOOST_TEST(account.bytes() == list.size());
    // More than 64 KB are not sent, although they were taken.
    BOOST_TEST(!line.conversation().has_room());
    line.conversation().output_taken();
    BOOST_TEST(account.bytes() == 0U);
    BOOST_TEST(line.conversation().has_room());
}

BOOST_AUTO_TEST_CASE(answers_only_what_needs_no_room_while_buffers_are_full) {
    World world;
    UserBuffers::Account account(4711, 1'000);
    const HttpServices services{false, nullptr, &account};
    Line line(world, {4711, 42}, services);
    const auto ask = [&](const std::string& verb, const std::string& members) {
        auto text = line.call(verb, members);
        line.conversation().output_taken();
        return text;
    };
    const auto session = [&] {
        const auto text = ask("OpenSession", R"({"Principal":"ann","Bound":"none"})");
        const auto value = [&](const std::string& name) {
            const auto at = text.find("\"" + name + "\":\"");
            const auto begin = at + name.size() + 4;
            return "\"" + name + "\":\"" + text.substr(begin, text.find('"', begin) - begin) + "\"";
        };
        return value("Session") + "," + value("Secret");
    }();
    {
        const CountedBytes others(&account, 1'000);
        BOOST_TEST(has(ask("Acquire", "{" + session + R"(,"Locks":[{"Resource":"a"}]})"),
                       "HTTP/1.1 503 "));
        BOOST_TEST(has(ask("ListLocks", "{}"), "LimitExceededException"));
        BOOST_TEST(has(ask("RenewSession", "{" + session + "}"), "HTTP/1.1 200 "));
        BOOST_TEST(has(ask("Ping", "{}"), "HTTP/1.1 200 "));
    }
    BOOST_TEST(
        has(ask("Acquire", "{" + session + R"(,"Locks":[{"Resource":"a"}]})"), "HTTP/1.1 200 "));
}

BOOST_AUTO_TEST_CASE(refuses_a_query_whose_response_does_not_fit) {
    World world;
    UserBuffers::Account account(4711, 10'000);
    const HttpServices services{false, nullptr, &account};
    Line line(world, {4711, 42}, services);
    for (int i = 0; i < 3; ++i) {
        line.call("Acquire", R"({"Principal":"ann","Locks":[{"Resource":")" + std::to_string(i) +
                                 R"("}],"Note":")" + std::string(4000, 'x') + "\"}");
        line.conversation().output_taken();
    }
    const auto refused = line.call("ListLocks", "{}");
    BOOST_TEST(has(refused, "HTTP/1.1 503 "));
    BOOST_TEST(has(refused, "user 4711 has "));
    BOOST_TEST(has(line.call("ListLocks", R"({"Limit":1})"), "HTTP/1.1 200 "));
}

// Returns the members of an answer that prove its session, in JSON.
std::string proof_in(const std::string& text) {
    const auto value = [&](const std::string& name) {
        const auto begin = text.find("\"" + name + "\":\"") + name.size() + 4;
        return "\"" + name + "\":\"" + text.substr(begin, text.find('"', begin) - begin) + "\"";
    };
    return value("Session") + "," + value("Secret");
}

// Sends a call on 20 connections of a user before the first of them is answered. Each answer
// contains a grant of about 100 KB.
void check_burst(const std::string& verb, const std::string& more, std::size_t expected) {
    World world([] {});
    UserBuffers::Account account(4711, 300'000);
    const HttpServices services{false, nullptr, &account};
    Line opener(world, {4711, 42}, services);
    opener.send("OpenSession", R"({"Principal":"ann","Bound":"none"})");
    world.flush();
    const auto session = proof_in(opener.answers());
    std::string locks;
    for (int i = 100; i < 200; ++i) {
        locks += (i > 100 ? R"(,{"Resource":")" : R"({"Resource":")") + std::to_string(i) +
                 std::string(1000, 'x') + "\"}";
    }
    opener.send("Acquire", "{" + session + R"(,"Locks":[)" + locks + R"(],"Held":"count"})");
    world.flush();
    const auto granted = opener.answers();
    BOOST_TEST(has(granted, "HTTP/1.1 200 "));
    opener.conversation().output_taken();
    BOOST_TEST(account.bytes() == 0U);
    const auto grant = granted.substr(granted.find("\"Grant\":"));
    // Only Convert names the grant.
    const auto members = (verb == "Convert" ? "," + grant.substr(0, grant.find(',')) : "") + more;

    std::deque<Line> lines;
    for (int i = 0; i < 20; ++i) {
        lines.emplace_back(world, Caller{4711, 42}, services);
        lines.back().send(verb, "{" + session + members + "}");
        BOOST_TEST(account.bytes() < 300'000U + (200U << 10) + 1);
    }
    world.flush();
    std::size_t answered = 0;
    for (Line& line : lines) {
        const auto answer = line.answers();
        if (has(answer, "HTTP/1.1 200 ")) ++answered;
        if (!has(answer, "HTTP/1.1 200 ")) {
            BOOST_TEST(has(answer, "LimitExceededException"), answer.substr(0, 600));
        }
    }
    BOOST_TEST(answered == expected);
    // One answer may exceed the limit.
    BOOST_TEST(account.bytes() < 450'000U);
    lines.clear();
    BOOST_TEST(account.bytes() == 0U);
    // Only the successful calls have incremented the count.
    if (verb == "Acquire" && has(members, "count")) {
        opener.send("Acquire", "{" + session + members + "}");
        world.flush();
        const auto counted = opener.answers();
        BOOST_TEST(has(counted, "\"Count\":" + std::to_string(expected + 1)),
                   counted.substr(0, 500) << counted.substr(counted.size() - 300));
    }
}

BOOST_AUTO_TEST_CASE(counts_large_grants_of_a_burst_before_they_are_made) {
    const std::string lock = R"(,"Locks":[{"Resource":"100)" + std::string(1000, 'x') + "\"}]";
    // 200 KB are reserved for each.
    check_burst("Convert", R"(,"Mode":"write")", 2);
    check_burst("Acquire", lock + R"(,"Held":"count")", 2);
    // The answer is discarded if it does not fit, so nothing is reserved.
    check_burst("Acquire", lock + R"(,"Held":"join")", 2);
}

BOOST_AUTO_TEST_CASE(gives_the_grant_of_an_edit_without_items_back_only_once) {
    World world;
    auto& tables = *world.database.tables().value();
    CreateTable table;
    table.table = "bound";
    table.attributes = {{"id", AttributeType::string}};
    table.key = {{"id", KeyType::hash}};
    table.billing = BillingMode::pay_per_request;
    BOOST_REQUIRE(tables.create_table(table));
    BOOST_REQUIRE(tables.bind_table({"bound", "bound/{id}"}));
    EditEndpoint edits(tables, world.database.service(), {});
    UserBuffers::Account account(4711, 10'000);
    HttpServices services{false, nullptr, &account};
    services.edits = &edits;

    Line holder(world, {4711, 42}, services);
    const auto session =
        proof_in(holder.call("OpenSession", R"({"Principal":"ann","Bound":"none"})"));
    const auto acquire = "{" + session + R"(,"Locks":[{"Resource":"bound/1"}],"Held":"count"})";
    BOOST_TEST(has(holder.call("Acquire", acquire), "HTTP/1.1 200 "));
    BOOST_TEST(has(holder.call("Acquire", acquire), "\"Count\":1"));
    {
        Line editor(world, {4711, 42}, services);
        editor.send("BeginEdit", "{" + session +
                                     R"(,"Held":"count","Items":[{"TableName":"bound",)"
                                     R"("Key":{"id":{"S":"1"}}}]})");
        // The call is made by answers(), so there is no room for the items any more.
        const CountedBytes others(&account, 10'000);
        BOOST_TEST(has(editor.answers(), "HTTP/1.1 503 "));
        editor.hang_up();
    }
    BOOST_TEST(has(holder.call("Acquire", acquire), "\"Count\":2"));
}

BOOST_AUTO_TEST_CASE(reads_long_bodies_in_the_background_and_continues_after_them) {
    World world;
    std::deque<std::function<void()>> background;
    HttpServices services;
    services.background = [&](std::function<void()> read) {
        background.push_back(std::move(read));
    };
    Line line(world, {4711, 42}, services);
    line.send("Acquire",
              R"({"Principal":"ann","Locks":[{"Resource":"a"}]})" + std::string(100'000, ' '));
    line.send("ShowLock", R"({"Resource":"a"})");
    BOOST_REQUIRE(background.size() == 1U);
    BOOST_TEST(line.conversation().outstanding() == 1U);
    background.front()();
    BOOST_TEST(has(line.answers(), "HTTP/1.1 200 "));
    // Processes the input that was deferred.
    line.conversation().receive("");
    BOOST_TEST(has(line.answers(), R"("Principal":"ann")"));

    line.send("Acquire", "{" + std::string(100'000, ' '));
    BOOST_REQUIRE(background.size() == 2U);
    background.back()();
    BOOST_TEST(has(line.answers(), "HTTP/1.1 400 "));
    BOOST_TEST(line.conversation().has_room());
}

BOOST_AUTO_TEST_CASE(answers_a_long_body_although_the_client_has_closed_its_input) {
    World world;
    std::function<void()> background;
    HttpServices services;
    services.background = [&](std::function<void()> read) { background = std::move(read); };
    Line line(world, {4711, 42}, services);
    line.send("Ping", "{}" + std::string(100'000, ' '));
    line.conversation().end_of_input();
    BOOST_TEST(!line.conversation().ended());
    background();
    BOOST_TEST(has(line.answers(), "HTTP/1.1 200 "));
    BOOST_TEST(line.conversation().ended());
}

// Returns the number of occurrences of `part` in `text`.
std::size_t count_of(const std::string& text, std::string_view part) {
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

BOOST_AUTO_TEST_CASE(pauses_if_its_client_does_not_read) {
    World world;
    Line line(world);
    std::string locks;
    for (int i = 0; i < 100; ++i) locks += R"({"Resource":"r)" + std::to_string(i) + R"("},)";
    line.call("Acquire", R"({"Principal":"ann","Locks":[)" + locks + R"({"Resource":"last"}]})");
    line.call("Acquire", R"({"Principal":"ann","Note":")" + std::string(1000, 'n') +
                             R"(","Locks":[)" + locks.substr(0, locks.size() - 1) + "]}");
    const std::string body = R"({"Resource":"r1"})";
    const std::string request =
        "POST / HTTP/1.1\r\nX-Amz-Target: Rocklock_20261121.ShowLock\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    std::string requests;
    for (int i = 0; i < 200; ++i) requests += request;

    line.conversation().receive(requests);
    std::size_t answered = 0;
    std::size_t rounds = 0;
    while (answered < 200 && ++rounds < 1000) {
        BOOST_TEST(line.conversation().outstanding() < 100U);
        const bool paused = line.conversation().paused();
        const auto answers = line.answers();
        BOOST_TEST(answers.size() < 2 * max_unsent);
        answered += count_of(answers, "HTTP/1.1 200 ");
        BOOST_TEST(paused == (answered < 200));
        BOOST_TEST(line.conversation().has_room());
        line.conversation().receive({});
    }
    BOOST_TEST(answered == 200U);
    BOOST_TEST(rounds > 2U);
}

BOOST_AUTO_TEST_CASE(executes_one_search_at_a_time) {
    World world;
    Line line(world);
    line.send("ListLocks", "{}");
    line.send("Acquire", R"({"Principal":"ann","Locks":[{"Resource":"a"}]})");
    BOOST_TEST(line.conversation().outstanding() == 1U);
    BOOST_TEST(has(line.answers(), R"({"Locks":[]})"));
    BOOST_TEST(line.conversation().has_room());
    line.conversation().receive({});
    BOOST_TEST(has(line.answers(), R"("Resource":"a")"));
    BOOST_TEST(!line.conversation().paused());
}

BOOST_AUTO_TEST_CASE(withdraws_its_wait_when_the_client_hangs_up) {
    World world;
    Line holder(world);
    holder.call("Acquire", R"({"Principal":"ann","Locks":[{"Resource":"a"}]})");
    Line line(world);
    line.send("Acquire", R"({"Principal":"bob","PatienceMs":-1,"Locks":[{"Resource":"a"}]})");
    BOOST_TEST(world.database.statistics().waiting == 1U);
    line.conversation().end_of_input();
    BOOST_TEST(has(line.answers(), "CancelledException"));
    BOOST_TEST(world.database.statistics().waiting == 0U);
    BOOST_TEST(line.conversation().ended());
}

BOOST_AUTO_TEST_CASE(releases_a_grant_that_was_not_read) {
    World world;
    const auto client_session = std::make_shared<ClientSession>(world.dispatcher, Caller{4711, 42});
    Line other(world);
    for (const bool unread : {false, true}) {
        const auto next = std::make_shared<ClientSession>(world.dispatcher, Caller{4711, 42});
        Acquire acquire;
        acquire.opens.emplace();
        acquire.opens->principal = "ann";
        acquire.locks.emplace_back();
        acquire.locks.back().resource = unread ? "unread" : "read";
        std::mutex mutex;
        std::condition_variable done;
        bool granted = false;
        const auto number = next->next_number();
        next->ask(Call{acquire, {}, {}}, number, [&](const Result<Reply>& reply) {
            const std::lock_guard lock(mutex);
            granted = reply.has_value();
            done.notify_all();
        });
        std::unique_lock lock(mutex);
        BOOST_REQUIRE(done.wait_for(lock, std::chrono::minutes{1}, [&] { return granted; }));
        lock.unlock();
        next->placed(number, 100);
        next->hang_up(unread ? 0 : 100);
    }
    BOOST_TEST(has(other.call("ShowLock", R"({"Resource":"read"})"), "\"Principal\":\"ann\""));
    BOOST_TEST(has(other.call("ShowLock", R"({"Resource":"unread"})"), "\"Holders\":[]"));
}

BOOST_AUTO_TEST_CASE(allows_only_an_administrator_to_break_a_grant) {
    World world;
    Line line(world, {1000, 42});
    line.call("Acquire", R"({"Principal":"ann","Locks":[{"Resource":"a"}]})");
    BOOST_TEST(has(line.call("Break", R"({"Grant":1,"Reason":"x"})"), "AccessDeniedException"));
    Line root(world, {0, 42});
    BOOST_TEST(!has(root.call("Break", R"({"Grant":1,"Reason":"x"})"), "AccessDeniedException"));
}

BOOST_AUTO_TEST_CASE(binds_no_session_to_a_process_in_another_pid_namespace) {
    World world;
    Line line(world, {1000, 0});
    const auto answer = line.call("OpenSession", R"({"Principal":"ann","Bound":"process"})");
    BOOST_TEST(has(answer, "another pid namespace"));
}

BOOST_AUTO_TEST_SUITE_END()
