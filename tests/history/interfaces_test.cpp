// One history over all interfaces of a daemon: frames, HTTP over the Unix socket and over TCP, and
// writes of DynamoDB's API that present a lock. Each client sends every operation over an interface
// that is chosen at random, all for the same session, and closes connections after answers.
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/clock.hpp>

#include "client/remote_service.hpp"
#include "history/daemon_table_access.hpp"
#include "history/http_line.hpp"
#include "support/linearizability.hpp"
#include "support/observed_answer.hpp"
#include "support/temporary_directory.hpp"
#include "wire/call_json.hpp"

namespace rocklock::proof {

namespace {

using Verb = Operation::Verb;
using Observed = Operation::Result;
using History = std::vector<Operation>;
using std::chrono::milliseconds;

constexpr std::uint32_t resources = 3;

enum class Interface : std::uint8_t { frames, http_on_unix, http_on_tcp };
constexpr std::array<Interface, 3> interfaces{Interface::frames, Interface::http_on_unix,
                                              Interface::http_on_tcp};

struct Address {
    std::string socket;
    std::uint16_t port = 0;
};

// A client's connections, one of each kind.
class Connections {
public:
    Connections(Address address) : address_(std::move(address)) { connect_frames(); }

    // Closes a connection after all of its responses were read. The next call connects again.
    void drop(Interface which) {
        if (which == Interface::frames) return connect_frames();
        lines_[static_cast<std::size_t>(which)].reset();
    }

    // Opens a session over frames, whose client then knows the secret.
    SessionInfo open_session(const std::string& principal) {
        OpenSession request;
        request.principal = principal;
        request.lease = std::chrono::hours{1};
        const auto opened = frames_->call(std::move(request));
        if (!opened) throw std::runtime_error(opened.error().message);
        return std::get<SessionInfo>(*opened);
    }

    template <typename Body>
    void call(Operation& operation, const SessionInfo& session, Body body, Interface over) {
        operation.called = moment();
        // A client of frames knows the secrets of the sessions that it has opened.
        if (over == Interface::frames && knows_ == session.id) {
            enter(operation, frames_->call(std::move(body)));
            return;
        }
        const Call call{std::move(body), session.secret, std::nullopt, false};
        const auto answer = line(over).post(
            std::string(target_prefix) + std::string(verb_name(call.body)), write_call(call));
        if (!answer) throw std::runtime_error("the daemon closed a connection");
        if (answer->status == 200) {
            enter(operation, read_reply(call.body, answer->body));
        } else {
            enter(operation, Result<Reply>(read_error(answer->body)));
        }
    }

    // A PutItem that presents a grant.
    void put(Operation& operation, const SessionInfo& session, Interface over) {
        const std::string headers =
            "X-Rocklock-Session: " + to_string(session.id) + ":" + to_string(session.secret) +
            "\r\nX-Rocklock-Token: " + std::to_string(operation.token) + "\r\n";
        const std::string body = R"({"TableName":"orders","Item":{"k":{"S":"order#)" +
                                 std::to_string(operation.resource) + R"("},"by":{"N":")" +
                                 std::to_string(operation.session) + R"("}}})";
        operation.called = moment();
        const auto answer =
            line(over).post(std::string(dynamodb_target) + "PutItem", body, headers);
        operation.returned = moment();
        if (!answer) throw std::runtime_error("the daemon closed a connection");
        if (answer->status == 200) {
            operation.result = Observed::done;
        } else if (answer->body.find("StaleTokenException") != std::string::npos ||
                   answer->body.find("belongs to another session") != std::string::npos) {
            operation.result = Observed::not_held;
        } else {
            throw std::runtime_error("unexpected: " + answer->body);
        }
    }

    void knows(const SessionId& session) { knows_ = session; }

private:
    void connect_frames() {
        frames_.reset();
        auto connected = RemoteService::connect(address_.socket, system_clock());
        if (!connected) throw std::runtime_error(connected.error().message);
        frames_ = *std::move(connected);
        knows_ = {};
    }

    HttpLine& line(Interface over) {
        if (over == Interface::frames) over = Interface::http_on_unix;
        auto& line = lines_[static_cast<std::size_t>(over)];
        if (!line && over == Interface::http_on_unix) {
            line = std::make_unique<HttpLine>(connect_in_time(address_.socket));
        } else if (!line) {
            line = std::make_unique<HttpLine>(connect_to_port(address_.port),
                                              "127.0.0.1:" + std::to_string(address_.port));
        }
        return *line;
    }

    Address address_;
    std::unique_ptr<RemoteService> frames_;
    SessionId knows_;
    std::array<std::unique_ptr<HttpLine>, interfaces.size()> lines_;
};

// The state that the clients share.
struct Shared {
    Address address;
    std::atomic<std::uint32_t> next_session{1};
    // A token of each resource, presented by clients that do not hold it.
    std::array<std::atomic<std::uint64_t>, resources> seen{};
};

class MixedClient {
public:
    MixedClient(Shared& shared, unsigned seed)
        : shared_(shared), random_(seed), connections_(shared.address) {
        open();
    }

    History run(std::size_t operations) {
        while (history_.size() < operations) step();
        close();
        return std::move(history_);
    }

private:
    struct Mine {
        std::uint64_t grant = 0;
        std::uint64_t token = 0;
        Mode mode = Mode::write;
    };

    unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
    bool one_in(unsigned limit) { return below(limit) == 0; }
    Mode any_mode() { return one_in(2) ? Mode::read : one_in(2) ? Mode::write : Mode::exclusive; }
    Interface any_interface() { return interfaces[below(interfaces.size())]; }

    void open() {
        number_ = shared_.next_session++;
        session_ = connections_.open_session("client" + std::to_string(number_));
        connections_.knows(session_.id);
    }

    void close() {
        Operation operation = begin(Verb::close, 0);
        connections_.call(operation, session_, CloseSession{session_.id}, any_interface());
        for (operation.resource = 0; operation.resource < resources; ++operation.resource) {
            history_.push_back(operation);
            mine_[operation.resource].reset();
        }
    }

    void step() {
        if (one_in(300)) {
            close();
            open();
        }
        const std::uint32_t resource = below(resources);
        if (!mine_[resource]) {
            one_in(15) ? put_with_foreign_token(resource) : acquire(resource);
        } else if (one_in(20)) {
            acquire(resource);
        } else if (one_in(4)) {
            convert(resource);
        } else if (mine_[resource]->mode != Mode::read && one_in(2)) {
            put(resource, mine_[resource]->grant, mine_[resource]->token);
        } else {
            release(resource);
        }
        // Every response was read, so closing the connection must not end a grant.
        if (one_in(10)) connections_.drop(any_interface());
    }

    Operation begin(Verb verb, std::uint32_t resource) const {
        Operation operation;
        operation.verb = verb;
        operation.resource = resource;
        operation.session = number_;
        return operation;
    }

    void acquire(std::uint32_t resource) {
        Operation operation = begin(Verb::acquire, resource);
        operation.mode = any_mode();
        operation.waits = one_in(2);
        Acquire request;
        request.session = session_.id;
        request.locks.resize(1);
        request.locks[0].resource = "order#" + std::to_string(resource);
        request.locks[0].mode = operation.mode;
        request.patience = milliseconds{operation.waits ? 1 + below(5) : 0};
        connections_.call(operation, session_, std::move(request), any_interface());
        keep(operation);
    }

    void convert(std::uint32_t resource) {
        Operation operation = begin(Verb::convert, resource);
        operation.grant = mine_[resource]->grant;
        operation.mode = any_mode();
        operation.waits = one_in(2);
        Convert request;
        request.session = session_.id;
        request.grant = GrantId{operation.grant};
        request.mode = operation.mode;
        request.patience = milliseconds{operation.waits ? 1 + below(5) : 0};
        connections_.call(operation, session_, std::move(request), any_interface());
        keep(operation);
    }

    void release(std::uint32_t resource) {
        const Mine mine = *mine_[resource];
        Operation operation = begin(Verb::release, resource);
        operation.grant = mine.grant;
        connections_.call(operation, session_, Release{session_.id, GrantId{mine.grant}},
                          any_interface());
        history_.push_back(operation);
        mine_[resource].reset();
        if (one_in(4)) put(resource, mine.grant, mine.token);
    }

    void put_with_foreign_token(std::uint32_t resource) {
        const std::uint64_t token = shared_.seen[resource];
        if (token != 0) put(resource, token, token);
    }

    void put(std::uint32_t resource, std::uint64_t grant, std::uint64_t token) {
        Operation operation = begin(Verb::write, resource);
        operation.grant = grant;
        operation.token = token;
        connections_.put(operation, session_, any_interface());
        history_.push_back(operation);
    }

    void keep(const Operation& operation) {
        history_.push_back(operation);
        if (operation.result != Observed::done) return;
        mine_[operation.resource] = Mine{operation.grant, operation.token, operation.mode};
        shared_.seen[operation.resource] = operation.token;
    }

    Shared& shared_;
    std::mt19937 random_;
    Connections connections_;
    SessionInfo session_;
    std::uint32_t number_ = 0;
    std::array<std::optional<Mine>, resources> mine_;
    History history_;
};

History run(const Address& address, std::size_t clients, std::size_t operations, unsigned seed) {
    Shared shared;
    shared.address = address;
    std::vector<History> histories(clients);
    std::atomic<bool> failed = false;
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < clients; ++i) {
            threads.emplace_back([&, i] {
                try {
                    MixedClient client(shared, seed + static_cast<unsigned>(i));
                    histories[i] = client.run(operations / clients);
                } catch (const std::exception& error) {
                    failed = true;
                    std::cerr << error.what() << '\n';
                }
            });
        }
    }
    BOOST_TEST_REQUIRE(!failed);
    History all;
    for (const History& history : histories) {
        all.insert(all.end(), history.begin(), history.end());
    }
    return all;
}

std::size_t count(const History& history, Verb verb, Observed observed) {
    return static_cast<std::size_t>(
        std::count_if(history.begin(), history.end(), [&](const Operation& operation) {
            return operation.verb == verb && operation.result == observed;
        }));
}

void judge(const History& history, unsigned seed) {
    const auto wrong = find_contradiction(history);
    BOOST_TEST(!wrong, "seed " << seed << ": " << wrong.value_or(""));
    const auto disorder = find_token_disorder(history);
    BOOST_TEST(!disorder, "seed " << seed << ": " << disorder.value_or(""));
}

void make_table(const TableDaemon& daemon) {
    call_daemon(daemon.socket(), "CreateTable",
                R"({"TableName":"orders","BillingMode":"PAY_PER_REQUEST",)"
                R"("AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"}],)"
                R"("KeySchema":[{"AttributeName":"k","KeyType":"HASH"}]})");
}

std::size_t operations_wanted() {
    const char* text = std::getenv("ROCKLOCK_INTERFACE_OPERATIONS");
    if (text == nullptr) return 0;
    const std::string_view view(text);
    std::size_t wanted = 0;
    std::from_chars(view.data(), view.data() + view.size(), wanted);
    return wanted;
}

boost::test_tools::assertion_result long_run_of_interfaces(boost::unit_test::test_unit_id) {
    boost::test_tools::assertion_result asked(operations_wanted() > 0);
    asked.message() << "takes minutes: run scripts/linearize --interfaces";
    return asked;
}

const std::vector<std::string> with_tcp{"--http", "127.0.0.1:0"};

}  // namespace

BOOST_AUTO_TEST_SUITE(clients_of_all_interfaces_see_one_order, *boost::unit_test::label("rocksdb"))

// P7: one order explains the answers of all interfaces.
BOOST_AUTO_TEST_CASE(of_locks_and_guarded_writes) {
    const testing::TemporaryDirectory directory;
    TableDaemon daemon(directory.path().string(), with_tcp);
    make_table(daemon);
    const History history = run({daemon.socket(), daemon.port()}, 6, 9'000, 1);
    judge(history, 1);
    for (const Observed observed : {Observed::done, Observed::refused, Observed::already_held}) {
        BOOST_TEST(count(history, Verb::acquire, observed) > 0U);
    }
    BOOST_TEST(count(history, Verb::convert, Observed::done) > 0U);
    BOOST_TEST(count(history, Verb::write, Observed::done) > 0U);
    BOOST_TEST(count(history, Verb::write, Observed::not_held) > 0U);
    // An answered grant that was revoked when a connection closed would show here.
    BOOST_TEST(count(history, Verb::release, Observed::not_held) == 0U);
}

BOOST_AUTO_TEST_CASE(in_a_long_run, *boost::unit_test::precondition(long_run_of_interfaces)) {
    const std::size_t goal = operations_wanted();
    const testing::TemporaryDirectory directory;
    TableDaemon daemon(directory.path().string(), with_tcp);
    make_table(daemon);
    std::map<std::pair<Verb, Observed>, std::size_t> totals;
    std::size_t operations = 0;
    for (std::size_t round = 0; operations < goal; ++round) {
        const unsigned seed = std::random_device{}();
        constexpr std::array<std::size_t, 3> clients{4, 8, 16};
        const History history =
            run({daemon.socket(), daemon.port()}, clients[round % clients.size()], 20'000, seed);
        judge(history, seed);
        operations += history.size();
        for (const Operation& operation : history) ++totals[{operation.verb, operation.result}];
    }
    const auto total = [&](Verb verb, Observed observed) { return totals[{verb, observed}]; };
    std::cout << operations << " operations over frames, HTTP on Unix and TCP, and guarded writes: "
              << total(Verb::acquire, Observed::done) << " acquired, "
              << total(Verb::acquire, Observed::refused) << " refused, "
              << total(Verb::convert, Observed::done) << " converted, "
              << total(Verb::release, Observed::done) << " released, "
              << total(Verb::write, Observed::done) << " written, "
              << total(Verb::write, Observed::not_held) << " writes without the lock refused\n";
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
