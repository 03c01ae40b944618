// What only a connection can do: break, come back, be slow, and leave somebody in doubt.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>
#include <rocklock/items/table.hpp>
#include <rocklock/storage/maintenance.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "client/unix_socket.hpp"
#include "database/orders.hpp"
#include "database/served_database.hpp"
#include "database/simulated_database.hpp"
#include "support/in_child.hpp"
#include "support/temporary_directory.hpp"
#include "wire/call_frame.hpp"

namespace rocklock::testing {
namespace {

ConnectOptions soon() {
    ConnectOptions options;
    options.patience = 30s;
    return options;
}

// A store that is served, and a program that has connected to it.
struct Connected {
    Database store = Database::in_memory().value();
    std::optional<ServedDatabase> server{std::in_place, store, system_clock(), false};
    Database database = Database::connect(server->path(), soon()).value();

    void until_waiting(std::uint64_t count) {
        const auto give_up = std::chrono::steady_clock::now() + 30s;
        while (store.statistics().waiting != count) {
            BOOST_REQUIRE((std::chrono::steady_clock::now() < give_up));
            std::this_thread::yield();
        }
    }
};

// A daemon that does what a test says: one connection after the other.
class ScriptedDaemon {
public:
    explicit ScriptedDaemon(std::function<void(ScriptedDaemon&)> script) {
        const auto address = unix_address(path_).value();
        listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        BOOST_REQUIRE(
            ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
        BOOST_REQUIRE(::listen(listener_, 16) == 0);
        thread_ = std::jthread([this, script = std::move(script)] {
            script(*this);
            hang_up();
        });
    }
    ScriptedDaemon(const ScriptedDaemon&) = delete;
    ScriptedDaemon& operator=(const ScriptedDaemon&) = delete;
    ~ScriptedDaemon() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
    }

    const std::string& path() const { return path_; }

    void accept() {
        connection_ = ::accept(listener_, nullptr, nullptr);
        bytes_.clear();
        send(std::string(frame_greeting));
        while (connection_ >= 0 && bytes_.size() < frame_greeting.size()) receive();
        bytes_.erase(0, frame_greeting.size());
    }
    // The greeting is exchanged, and the first Ping answered.
    void welcome() {
        accept();
        answer(Pong{});
    }
    // The next call; none when the client has gone.
    std::optional<Call> next() {
        while (connection_ >= 0) {
            std::string_view rest = bytes_;
            const auto frame = take_frame(rest, max_call_frame_bytes);
            if (!frame) return std::nullopt;
            if (!*frame) {
                receive();
                continue;
            }
            number_ = (*frame)->number;
            std::optional<Call> call;
            if ((*frame)->kind == FrameKind::call) {
                call = read_call_frame((*frame)->body).value();
            }
            bytes_.erase(0, bytes_.size() - rest.size());
            if (call) return call;
        }
        return std::nullopt;
    }
    void reply(const Reply& with, milliseconds held = {}) { reply_to(number_, with, held); }
    // Of the last call.
    std::uint64_t number() const { return number_; }
    void reply_to(std::uint64_t number, const Reply& reply, milliseconds held = {}) {
        std::string bytes;
        append_reply(bytes, number, held, reply);
        send(bytes);
    }
    void refuse(const Error& error) const {
        std::string bytes;
        append_refusal(bytes, number_, error);
        send(bytes);
    }
    std::optional<Call> answer(const Reply& with) {
        auto call = next();
        if (call) reply(with);
        return call;
    }
    // As a daemon that has too many connections.
    void turn_away() {
        connection_ = ::accept(listener_, nullptr, nullptr);
        send("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
        ::shutdown(connection_, SHUT_WR);
        while (connection_ >= 0) receive();
    }
    void hang_up() {
        if (connection_ >= 0) ::close(connection_);
        connection_ = -1;
    }

private:
    void send(const std::string& bytes) const {
        [[maybe_unused]] const auto size =
            ::send(connection_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    void receive() {
        char buffer[4096];
        const auto size = ::recv(connection_, buffer, sizeof buffer, 0);
        if (size <= 0) return hang_up();
        bytes_.append(buffer, static_cast<std::size_t>(size));
    }

    const TemporaryDirectory directory_;
    const std::string path_ = directory_ / "socket";
    int listener_ = -1;
    int connection_ = -1;
    std::uint64_t number_ = 0;
    std::string bytes_;
    std::jthread thread_;
};

// What a daemon says of a session whose lease is 30 s; its own clock is of no interest.
SessionInfo thirty_seconds() {
    SessionInfo session;
    session.id.bytes[0] = 1;
    session.secret.bytes[0] = 2;
    session.lease = session.remaining = 30s;
    session.deadline = BootTime{std::chrono::hours{1'000'000}};
    return session;
}

Grant grant_of(std::uint64_t id, std::string resource) {
    Grant grant;
    grant.id = GrantId{id};
    grant.token = Token{id};
    grant.session = thirty_seconds().id;
    grant.locks = {{std::move(resource), Mode::write, false, 0, {}}};
    grant.remaining = 30s;
    grant.deadline = BootTime{std::chrono::hours{1'000'000}};
    return grant;
}

SessionInfo one_of(std::uint8_t number, milliseconds lease) {
    auto session = thirty_seconds();
    session.id.bytes[0] = number;
    session.lease = session.remaining = lease;
    return session;
}

// Three sessions that renew themselves, of a program without threads of its own.
struct Three {
    SimulatedClock clock;
    Database database;
    std::vector<Session> sessions;
    std::vector<int> warnings{0, 0, 0};

    Three(const ScriptedDaemon& daemon, milliseconds lease) : database(connect(daemon, clock)) {
        SessionOptions options;
        options.lease = lease;
        for (int& count : warnings) {
            sessions.push_back(database.open_session("ann", options).value());
            sessions.back().on_warning([&count](milliseconds) { ++count; });
        }
    }
    Three(const Three&) = delete;
    Three& operator=(const Three&) = delete;
    ~Three() {
        for (Session& session : sessions) session.detach();
    }
    static Database connect(const ScriptedDaemon& daemon, Clock& clock) {
        ConnectOptions options = soon();
        options.clock = &clock;
        options.background = false;
        return Database::connect(daemon.path(), options).value();
    }
};

SessionOptions by_hand() {
    SessionOptions options;
    options.renew = false;
    return options;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(connecting)

// They are reached by whoever speaks DynamoDB's API.
BOOST_AUTO_TEST_CASE(has_no_tables_of_its_own) {
    Connected connected;
    const auto tables = connected.database.tables();
    BOOST_TEST_REQUIRE(!tables);
    BOOST_TEST((tables.error().code == ErrorCode::invalid_argument));
    BOOST_TEST(tables.error().message.find("over HTTP") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(to_nobody_is_unreachable) {
    const TemporaryDirectory directory;
    BOOST_TEST(failure_of(Database::connect(directory / "none")) == "unreachable");
    BOOST_TEST(failure_of(Database::connect(std::string(200, 'x'))) == "unreachable");
}

BOOST_AUTO_TEST_CASE(to_somebody_who_hangs_up_is_unreachable) {
    ScriptedDaemon daemon([](ScriptedDaemon& its) {
        its.accept();
        its.hang_up();
    });
    BOOST_TEST(failure_of(Database::connect(daemon.path())) == "unreachable");
}

BOOST_AUTO_TEST_CASE(to_a_crowded_daemon_is_tried_again) {
    ScriptedDaemon daemon([](ScriptedDaemon& its) {
        its.turn_away();
        its.turn_away();
        its.welcome();
        while (its.next()) its.reply(Pong{});
    });
    BOOST_TEST(Database::connect(daemon.path(), soon()).has_value());
}

BOOST_AUTO_TEST_CASE(to_a_daemon_that_stays_crowded_is_unreachable) {
    ScriptedDaemon daemon([](ScriptedDaemon& its) {
        for (int i = 0; i < 3; ++i) its.turn_away();
    });
    ConnectOptions options;
    options.patience = 150ms;
    const auto database = Database::connect(daemon.path(), options);
    BOOST_TEST(failure_of(database) == "unreachable");
    BOOST_TEST(database.error().message.find("--max-connections") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(gives_no_storage) {
    Connected world;
    Batch batch;
    batch.writes.push_back({Family::meta, "key", "value"});
    const auto committed = world.database.storage().commit(std::move(batch));
    BOOST_TEST(!committed.has_value());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_connection_that_breaks, Connected)

BOOST_AUTO_TEST_CASE(comes_back_and_nothing_is_lost) {
    Session session = database.open_session("ann").value();
    Guard guard = session.acquire("a").value();
    for (int round = 0; round < 5; ++round) {
        server->drop_connections();
        BOOST_TEST(session.acquire("b" + std::to_string(round)).has_value());
        BOOST_TEST(guard.valid());
        BOOST_TEST(session.renew().has_value());
    }
    BOOST_TEST((guard.release().value().outcome == Outcome::released));
    BOOST_TEST(session.close().has_value());
    BOOST_TEST(store.statistics().held == 0U);
}

BOOST_AUTO_TEST_CASE(leaves_a_waiter_waiting) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    Guard held = ann.acquire("a").value();
    std::optional<Result<Guard>> answer;
    std::jthread waiter([&] {
        AcquireOptions patient;
        patient.patience = no_limit;
        answer = bob.acquire("a", patient);
    });
    until_waiting(1);
    const auto waits = store.statistics().waits;
    server->drop_connections();
    // It left the queue with the connection, and is in it again.
    const auto give_up = std::chrono::steady_clock::now() + 30s;
    while (store.statistics().waits == waits) {
        BOOST_REQUIRE((std::chrono::steady_clock::now() < give_up));
        std::this_thread::yield();
    }
    held.release().value();
    waiter.join();
    BOOST_TEST(answer->has_value());
}

BOOST_AUTO_TEST_CASE(gives_every_call_one_answer) {
    Session session = database.open_session("ann").value();
    std::atomic<int> answers{0};
    constexpr int calls = 200;
    for (int i = 0; i < calls; ++i) {
        session.async_acquire({lock_of(std::to_string(i))}, {}, [&](Result<Guard> answer) {
            BOOST_TEST(failure_of(answer) == "");
            if (answer) answer->detach();
            ++answers;
        });
        if (i % 50 == 25) server->drop_connections();
    }
    const auto give_up = std::chrono::steady_clock::now() + 30s;
    while (answers < calls) {
        BOOST_REQUIRE((std::chrono::steady_clock::now() < give_up));
        std::this_thread::yield();
    }
    BOOST_TEST(store.statistics().held == static_cast<std::uint64_t>(calls));
}

BOOST_AUTO_TEST_CASE(and_does_not_come_back_is_unreachable) {
    ConnectOptions impatient;
    impatient.patience = 50ms;
    Database gone = Database::connect(server->path(), impatient).value();
    Session session = gone.open_session("ann", by_hand()).value();
    const Guard guard = session.acquire("a").value();
    server.reset();
    const auto refused = failure_of(session.acquire("b"));
    BOOST_TEST((refused == "unreachable" || refused == "indeterminate"));
    // What is held is held until its lease ends.
    BOOST_TEST(guard.valid());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(an_answer_that_is_lost)

BOOST_AUTO_TEST_CASE(is_asked_for_again_under_the_same_request_id) {
    std::string first;
    std::string second;
    ScriptedDaemon daemon([&](ScriptedDaemon& its) {
        its.welcome();
        its.answer(thirty_seconds());
        first = std::get<Acquire>(its.next()->body).request_id;
        its.hang_up();
        its.accept();
        second = std::get<Acquire>(its.next()->body).request_id;
        its.reply(grant_of(5, "a"));
        while (its.next()) its.reply(Released{});
    });
    {
        Database database = Database::connect(daemon.path(), soon()).value();
        Session session = database.open_session("ann", by_hand()).value();
        Guard guard = session.acquire("a").value();
        BOOST_TEST((guard.id() == GrantId{5}));
        guard.detach();
        session.detach();
    }
    BOOST_TEST(!first.empty());
    BOOST_TEST(first == second);
}

BOOST_AUTO_TEST_CASE(of_what_cannot_be_repeated_leaves_one_in_doubt) {
    ScriptedDaemon daemon([](ScriptedDaemon& its) {
        its.welcome();
        its.next();
        its.hang_up();
        its.accept();
        while (its.next()) its.reply(Pong{});
    });
    Database database = Database::connect(daemon.path(), soon()).value();
    BOOST_TEST(failure_of(database.break_grant(GrantId{1}, "root", "why")) == "indeterminate");
}

BOOST_AUTO_TEST_CASE(to_what_cannot_be_repeated_is_not_in_doubt_where_nobody_read_it) {
    std::optional<Call> asked;
    std::latch away{1};
    ScriptedDaemon daemon([&](ScriptedDaemon& its) {
        its.welcome();
        its.hang_up();
        its.turn_away();
        away.count_down();
        its.turn_away();
        its.accept();
        asked = its.next();
        its.reply(Released{});
        while (its.next()) its.reply(Pong{});
    });
    Database database = Database::connect(daemon.path(), soon()).value();
    away.wait();
    BOOST_TEST(failure_of(database.break_grant(GrantId{1}, "root", "why")) == "");
    BOOST_TEST((asked && std::holds_alternative<Break>(asked->body)));
}

BOOST_AUTO_TEST_CASE(of_a_daemon_that_started_again_does_not_unbind_a_session_from_its_connection) {
    std::vector<bool> rebinds;
    ScriptedDaemon daemon([&](ScriptedDaemon& its) {
        auto other = thirty_seconds();
        other.id.bytes[0] = 9;
        its.welcome();
        its.answer(thirty_seconds());
        its.answer(other);
        while (auto call = its.next()) {
            if (std::holds_alternative<RenewSession>(call->body)) rebinds.push_back(call->rebind);
            its.reply(thirty_seconds());
        }
    });
    {
        Database database = Database::connect(daemon.path(), soon()).value();
        LockService& service = database.service();
        OpenSession open;
        open.principal = "ann";
        open.bound = Bound::connection;
        const SessionInfo bound = service.ask(open).value();
        open.bound = Bound::none;
        const SessionInfo free = service.ask(open).value();
        service.ask(RenewSession{bound.id, {}, {}, {}, {}}).value();
        service.ask(RenewSession{free.id, {}, {}, {}, {}}).value();
    }
    BOOST_TEST((rebinds == std::vector<bool>{true, false}));
}

BOOST_AUTO_TEST_CASE(of_a_renewal_does_not_hide_what_was_lost) {
    ScriptedDaemon daemon([](ScriptedDaemon& its) {
        its.welcome();
        its.answer(thirty_seconds());
        its.answer(grant_of(5, "a"));
        its.answer(grant_of(6, "b"));
        its.next();
        its.hang_up();
        its.accept();
        // The renewal comes again, and then the question what is left.
        its.answer(thirty_seconds());
        its.answer(SessionDetail{thirty_seconds(), {grant_of(6, "b")}});
        while (its.next()) its.reply(SessionDetail{thirty_seconds(), {grant_of(6, "b")}});
    });
    Database database = Database::connect(daemon.path(), soon()).value();
    Session session = database.open_session("ann", by_hand()).value();
    std::atomic<int> told{0};
    session.on_lost([&](const LostNotice& notice) {
        BOOST_TEST((notice.grant.id == GrantId{5}));
        ++told;
    });
    Guard lost = session.acquire("a").value();
    Guard kept = session.acquire("b").value();
    BOOST_TEST(session.renew().has_value());
    const auto give_up = std::chrono::steady_clock::now() + 30s;
    while (told == 0) {
        BOOST_REQUIRE((std::chrono::steady_clock::now() < give_up));
        std::this_thread::yield();
    }
    BOOST_TEST(!lost.valid());
    BOOST_TEST(kept.valid());
    lost.detach();
    kept.detach();
    session.detach();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_lease_over_a_socket)

BOOST_AUTO_TEST_CASE(is_counted_from_before_the_request) {
    SimulatedClock clock;
    ScriptedDaemon daemon([&](ScriptedDaemon& its) {
        its.welcome();
        its.next();
        clock.advance(5s);
        its.reply(thirty_seconds());
        its.next();
        clock.advance(2s);
        // It lay there for a second and a half at most before it was decided.
        auto grant = grant_of(5, "a");
        grant.cap = grant.deadline - 20s;
        its.reply(grant, 1500ms);
        its.next();
        clock.advance(4s);
        its.reply(thirty_seconds());
        while (its.next()) its.reply(SessionDetail{thirty_seconds(), {grant_of(5, "a")}});
    });
    ConnectOptions options = soon();
    options.clock = &clock;
    options.background = false;
    Database database = Database::connect(daemon.path(), options).value();
    Session session = database.open_session("ann", by_hand()).value();
    BOOST_TEST((session.remaining() == 22s));  // 30 less the 5 on the way and a margin of 3.
    Guard guard = session.acquire("a").value();
    BOOST_TEST((session.remaining() == 26500ms));
    // Its own end comes ten seconds after it was decided.
    BOOST_TEST((guard.remaining() == 6500ms));
    BOOST_TEST(session.renew().has_value());
    BOOST_TEST((session.remaining() == 23s));
    clock.advance(23s);
    BOOST_TEST(!session.valid());
    guard.detach();
    session.detach();
}

BOOST_AUTO_TEST_CASE(ends_when_the_daemon_is_silent) {
    SimulatedClock clock;
    ScriptedDaemon daemon([&](ScriptedDaemon& its) {
        its.welcome();
        its.answer(thirty_seconds());
        while (its.next()) {
        }
    });
    ConnectOptions options;
    options.patience = 20ms;
    options.clock = &clock;
    options.background = false;
    Database database = Database::connect(daemon.path(), options).value();
    Session session = database.open_session("ann").value();
    std::vector<milliseconds> warnings;
    session.on_warning([&](milliseconds left) { warnings.push_back(left); });
    clock.advance(21s);
    database.tick();
    BOOST_TEST(session.valid());
    BOOST_TEST(warnings.size() == 1U);
    clock.advance(6s);
    BOOST_TEST(!session.valid());
    session.detach();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(renewals_that_are_due_together)

// The daemon answers none before it has all, and then the last one first.
BOOST_AUTO_TEST_CASE(are_asked_for_together_and_each_gets_its_own_answer) {
    std::atomic<int> together{0};
    ScriptedDaemon daemon([&](ScriptedDaemon& its) {
        its.welcome();
        for (std::uint8_t one = 1; one <= 3; ++one) its.answer(one_of(one, 30s));
        std::vector<std::pair<std::uint64_t, SessionInfo>> answers;
        while (answers.size() < 3) {
            const auto call = its.next();
            if (!call) return;
            const auto one = std::get<RenewSession>(call->body).session.bytes[0];
            answers.emplace_back(its.number(), one_of(one, one * 10s));
            ++together;
        }
        std::reverse(answers.begin(), answers.end());
        for (const auto& [number, session] : answers) its.reply_to(number, session);
        while (its.next()) its.reply(Pong{});
    });
    Three three(daemon, 30s);
    three.clock.advance(10s);
    three.database.tick();
    BOOST_TEST(together == 3);
    // A lease less its margin of 3 s.
    BOOST_TEST((three.sessions[0].remaining() == 7s));
    BOOST_TEST((three.sessions[1].remaining() == 17s));
    BOOST_TEST((three.sessions[2].remaining() == 27s));
}

BOOST_AUTO_TEST_CASE(fail_each_by_itself) {
    std::atomic<int> asked{0};
    ScriptedDaemon daemon([&](ScriptedDaemon& its) {
        its.welcome();
        for (std::uint8_t one = 1; one <= 3; ++one) its.answer(one_of(one, 30s));
        while (const auto call = its.next()) {
            ++asked;
            const auto one = std::get<RenewSession>(call->body).session.bytes[0];
            if (one == 2) {
                its.refuse(Error(ErrorCode::session_expired, "it is over"));
            } else if (one == 3) {
                its.refuse(Error(ErrorCode::io_error, "not now"));
            } else {
                its.reply(one_of(one, 30s));
            }
        }
    });
    Three three(daemon, 30s);
    three.clock.advance(10s);
    three.database.tick();
    BOOST_TEST(asked == 3);
    BOOST_TEST((three.sessions[0].remaining() == 27s));
    BOOST_TEST(!three.sessions[1].valid());
    BOOST_TEST((three.sessions[2].remaining() == 17s));
    // The third is tried again soon, and the others are not.
    three.clock.advance(3s);
    three.database.tick();
    BOOST_TEST(asked == 4);
}

BOOST_AUTO_TEST_CASE(are_given_up_together_by_a_daemon_that_is_silent) {
    ScriptedDaemon daemon([](ScriptedDaemon& its) {
        its.welcome();
        for (std::uint8_t one = 1; one <= 3; ++one) its.answer(one_of(one, 600ms));
        while (its.next()) {
        }
    });
    Three three(daemon, 600ms);
    three.clock.advance(410ms);
    three.database.tick();
    BOOST_TEST((three.warnings == std::vector<int>{1, 1, 1}));
    for (const Session& session : three.sessions) BOOST_TEST(session.valid());
    three.clock.advance(200ms);
    three.database.tick();
    for (const Session& session : three.sessions) BOOST_TEST(!session.valid());
    BOOST_TEST((three.warnings == std::vector<int>{1, 1, 1}));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(what_a_renewal_tells)

BOOST_AUTO_TEST_CASE(is_told_once) {
    ScriptedDaemon daemon([](ScriptedDaemon& its) {
        its.welcome();
        its.answer(thirty_seconds());
        its.answer(grant_of(5, "a"));
        auto news = thirty_seconds();
        news.lost = {{GrantId{5}, {Outcome::stolen, "bob", "why", WallTime{}}},
                     {GrantId{4}, {Outcome::stolen, "bob", "not ours", WallTime{}}}};
        its.answer(news);
        its.answer(news);
        while (its.next()) its.reply(ClosedSession{});
    });
    ConnectOptions options = soon();
    options.background = false;
    Database database = Database::connect(daemon.path(), options).value();
    Session session = database.open_session("ann", by_hand()).value();
    Told told;
    told.listen(session);
    Guard guard = session.acquire("a").value();
    session.renew().value();
    session.renew().value();
    database.tick();
    BOOST_REQUIRE(told.lost.size() == 1U);
    BOOST_TEST(told.lost[0].ending.by == "bob");
    BOOST_TEST(told.lost[0].grant.locks.at(0).resource == "a");
    BOOST_TEST(!guard.valid());
    guard.detach();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_binding_over_a_socket)

BOOST_FIXTURE_TEST_CASE(is_that_of_the_daemons_table, Connected) {
    TableService& tables = *store.tables().value();
    create_orders(tables);
    const TableBinding bound{"orders", "orders/{id}", true};
    BOOST_TEST((database.bind_table(bound).value() == bound));
    BOOST_TEST((tables.list_bindings().value() == std::vector{bound}));
    BOOST_TEST((database.bindings().value() == std::vector{bound}));
    BOOST_TEST((store.bindings().value() == std::vector{bound}));
    BOOST_TEST(failure_of(database.bind_table({"orders", "{text}", false})) == "invalid_argument");
    BOOST_TEST(failure_of(database.bind_table({"nothing", "x", false})) == "resource_not_found");
    BOOST_TEST((database.unbind_table("orders").value() == bound));
    BOOST_TEST(failure_of(database.unbind_table("orders")) == "invalid_argument");
    BOOST_TEST(tables.list_bindings().value().empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_backup_over_a_socket)

BOOST_AUTO_TEST_CASE(lies_where_the_program_says, *boost::unit_test::label("rocksdb")) {
    const TemporaryDirectory directory;
    Database store = Database::open(directory / "store").value();
    const ServedDatabase server(store, system_clock(), false);
    Database database = Database::connect(server.path(), soon()).value();
    Session session = database.open_session("ann", by_hand()).value();
    session.acquire("a").value().detach();
    BOOST_TEST(failure_of(database.backup(directory / "copy")) == "");
    const StoreReport report = check_store(directory / "copy").value();
    BOOST_TEST(report.problems.empty());
    BOOST_TEST(report.facts.grants == 1U);
    BOOST_TEST(report.facts.copy);
    // What the storage says is said here too.
    BOOST_TEST(failure_of(database.backup(directory / "copy")) == "invalid_argument");
    BOOST_TEST(failure_of(database.backup(directory / "no/such")) == "invalid_argument");
    // A relative path is this program's, not the daemon's.
    const auto relative = std::filesystem::relative(directory / "another").string();
    BOOST_TEST(relative.front() != '/');
    BOOST_TEST(failure_of(database.backup(relative)) == "");
    BOOST_TEST(std::filesystem::exists(directory / "another"));
    session.detach();
}

BOOST_FIXTURE_TEST_CASE(of_a_store_in_memory_is_refused, Connected) {
    BOOST_TEST(failure_of(database.backup("/nowhere")) == "invalid_argument");
    BOOST_TEST(failure_of(database.backup("")) == "invalid_argument");
}

// It may take longer than a daemon is waited for, and is not made a second time.
BOOST_AUTO_TEST_CASE(is_waited_for_and_asked_for_once) {
    std::atomic<int> backups{0};
    std::atomic<bool> hangs_up{false};
    ScriptedDaemon daemon([&](ScriptedDaemon& its) {
        its.welcome();
        const auto count = [&](const std::optional<Call>& call) {
            if (call && std::holds_alternative<Backup>(call->body)) ++backups;
            return call.has_value();
        };
        count(its.next());
        its.next();
        while (!hangs_up) std::this_thread::yield();
        its.hang_up();
        its.accept();
        LockStatistics counts;
        counts.sessions = 7;
        while (count(its.next())) its.reply(counts);
    });
    ConnectOptions impatient;
    impatient.patience = 50ms;
    Database database = Database::connect(daemon.path(), impatient).value();
    std::atomic<bool> over{false};
    std::string answer;
    std::jthread copier([&] {
        answer = failure_of(database.backup("/copy"));
        over = true;
    });
    const auto give_up = std::chrono::steady_clock::now() + 30s;
    const auto wait_until = [&](const std::function<bool()>& so) {
        while (!so()) {
            BOOST_REQUIRE((std::chrono::steady_clock::now() < give_up));
            std::this_thread::yield();
        }
    };
    wait_until([&] { return backups == 1; });
    // Another call is given up meanwhile.
    BOOST_TEST(failure_of(database.show("a")) == "indeterminate");
    BOOST_TEST(!over);
    hangs_up = true;
    copier.join();
    BOOST_TEST(answer == "indeterminate");
    wait_until([&] { return database.statistics().sessions == 7; });
    BOOST_TEST(backups == 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_child_of_the_process, Connected)

BOOST_AUTO_TEST_CASE(has_no_right_to_the_connection) {
    Session session = database.open_session("ann").value();
    Guard guard = session.acquire("a").value();
    const int status = in_child([&] {
        const bool refused = failure_of(database.open_session("bob")) == "store_in_use" &&
                             failure_of(session.acquire("b")) == "store_in_use" &&
                             failure_of(database.show("a")) == "store_in_use" && !guard.valid();
        return refused ? 0 : 1;
    });
    BOOST_TEST(status == 0);
    BOOST_TEST(guard.valid());
    BOOST_TEST(store.service().holds(session.id(), "a", Mode::write));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
