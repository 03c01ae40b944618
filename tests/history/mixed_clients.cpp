#include "history/mixed_clients.hpp"

#include <array>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include <rocklock/clock.hpp>

#include "client/remote_service.hpp"
#include "history/http_line.hpp"
#include "support/observed_answer.hpp"
#include "wire/call_json.hpp"

namespace rocklock::proof {
namespace {

using LockVerb = Operation::Verb;
using Observed = Operation::Result;
using History = std::vector<Operation>;
using std::chrono::milliseconds;

constexpr std::uint32_t resources = 3;

enum class Interface : std::uint8_t { frames, http_on_unix, http_on_tcp };
constexpr std::array<Interface, 3> interfaces{Interface::frames, Interface::http_on_unix,
                                              Interface::http_on_tcp};

// The time after which a request that is repeated must have an answer, and the pause between two
// attempts.
constexpr std::chrono::seconds repeat_timeout{60};
constexpr milliseconds repeat_pause{2};
// A client of frames does not show that it has repeated a request after a takeover. A call that
// takes no longer than this was not repeated: the node must first notice that its link or the
// manager has ended, and connect to the manager.
constexpr milliseconds max_call_without_repeat{20};

bool is_lost(const Error& error) {
    return error.code == ErrorCode::unreachable || error.code == ErrorCode::indeterminate ||
           error.code == ErrorCode::closing || error.code == ErrorCode::not_the_manager;
}

// A client's connections, one of each kind.
class Connections {
public:
    Connections(DaemonAddress address, const MixedRun& run)
        : address_(std::move(address)),
          kills_(run.kills),
          takeovers_(run.takeovers),
          repeats_(run.kills != nullptr || run.takeovers) {}

    // Closes a connection after all of its responses were read. The next call connects again.
    void drop(Interface which) {
        if (which == Interface::frames) frames_.reset();
        lines_[static_cast<std::size_t>(which)].reset();
    }

    // Opens a session over frames, whose client then knows the secret.
    SessionInfo open_session(const std::string& principal) {
        OpenSession request;
        request.principal = principal;
        request.lease = std::chrono::hours{1};
        request.request_id = principal;
        SessionInfo session;
        until_answered([&] {
            if (!connect_frames()) return false;
            const auto opened = frames_->call(request);
            if (!opened && is_lost(opened.error())) return false;
            if (!opened) throw std::runtime_error(opened.error().message);
            session = std::get<SessionInfo>(*opened);
            return true;
        });
        known_ = session.id;
        return session;
    }

    // Returns whether the request may have been sent several times. A client of frames also repeats
    // requests by itself.
    template <typename Body>
    bool call(Operation& operation, const SessionInfo& session, const Body& body, Interface over) {
        operation.called = moment();
        bool repeated = call_once(operation, session, body, over, false);
        if (!repeats_ || is_durable(operation)) return repeated;
        if (takeovers_) {
            await_durability(session, body);
            operation.returned = moment();
            return repeated;
        }
        while (!confirm()) repeated = call_once(operation, session, body, over, true);
        operation.returned = moment();
        return repeated;
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
        until_answered([&] {
            const auto answer = post(over, std::string(dynamodb_target) + "PutItem", body, headers);
            if (!answer) return false;
            operation.returned = moment();
            if (answer->status == 200) {
                operation.result = Observed::done;
            } else if (answer->body.find("StaleTokenException") != std::string::npos ||
                       answer->body.find("belongs to another session") != std::string::npos) {
                operation.result = Observed::not_held;
            } else {
                throw std::runtime_error("unexpected: " + answer->body);
            }
            return true;
        });
    }

private:
    unsigned kills() const { return kills_ != nullptr ? kills_->load() : 0; }

    // As call(). `again` is true if the request was answered before.
    template <typename Body>
    bool call_once(Operation& operation, const SessionInfo& session, const Body& body,
                   Interface over, bool again) {
        kills_before_ = kills();
        const auto began = std::chrono::steady_clock::now();
        const auto repeated = [&](int attempts) {
            return again || attempts > 1 || kills_before_ % 2 == 1 || kills() != kills_before_ ||
                   (takeovers_ && over == Interface::frames &&
                    std::chrono::steady_clock::now() - began > max_call_without_repeat);
        };
        int attempts = 0;
        until_answered([&] {
            ++attempts;
            // A client of frames knows the secrets of the sessions that it has opened.
            if (over == Interface::frames && frames_ != nullptr && known_ == session.id) {
                const auto reply = frames_->call(body);
                if (!reply && is_lost(reply.error())) return false;
                enter_answer(operation, reply, repeated(attempts));
                return true;
            }
            const Call call{body, session.secret, std::nullopt, false};
            const auto answer =
                post(over, std::string(target_prefix) + std::string(verb_name(call.body)),
                     write_call(call), {});
            if (!answer) return false;
            const Result<Reply> reply = answer->status == 200
                                            ? read_reply(call.body, answer->body)
                                            : Result<Reply>(read_error(answer->body));
            enter_answer(operation, reply, repeated(attempts));
            return true;
        });
        return repeated(attempts);
    }

    // A release and a close can be undone if the manager dies within about a millisecond
    // (docs/semantics.md, "Durability").
    static bool is_durable(const Operation& operation) {
        return operation.verb != LockVerb::release && operation.verb != LockVerb::close;
    }

    // Writes an item, which makes all earlier decisions of the manager durable.
    void write_confirmation() {
        until_answered([&] {
            return post(Interface::http_on_unix, std::string(dynamodb_target) + "PutItem",
                        R"({"TableName":"orders","Item":{"k":{"S":"confirmed"}}})", {})
                .has_value();
        });
    }

    // Repeats a release or a close until the response shows that an earlier request had its effect,
    // although a write was confirmed in between. If a manager that was replaced has lost the
    // effect, the next manager reports that it has released the grant or closed the session now.
    template <typename Body>
    void await_durability(const SessionInfo& session, const Body& body) {
        const Call call{body, session.secret, std::nullopt, false};
        for (bool had_effect = false; !had_effect;) {
            write_confirmation();
            until_answered([&] {
                const auto answer =
                    post(Interface::http_on_unix,
                         std::string(target_prefix) + std::string(verb_name(call.body)),
                         write_call(call), {});
                if (!answer) return false;
                const Result<Reply> reply = answer->status == 200
                                                ? read_reply(call.body, answer->body)
                                                : Result<Reply>(read_error(answer->body));
                const auto* released = reply ? std::get_if<Released>(&*reply) : nullptr;
                had_effect =
                    !reply || (released != nullptr && released->outcome != Outcome::released);
                return true;
            });
        }
    }

    // Returns whether no daemon was killed since the last call.
    bool confirm() {
        write_confirmation();
        return kills_before_ % 2 == 0 && kills() == kills_before_;
    }

    // Records the answer. If the request was sent several times, an earlier one can have waited,
    // released the grant or closed the session.
    template <typename Answer>
    static void enter_answer(Operation& operation, const Result<Answer>& reply, bool repeated) {
        const bool waits = operation.waits;
        enter(operation, reply);
        if (!repeated) return;
        operation.waits = waits;
        const auto* released = reply ? std::get_if<Released>(&*reply) : nullptr;
        const bool was_released =
            released != nullptr && released->outcome == Outcome::already_released;
        const bool was_closed =
            operation.verb == LockVerb::close && operation.result == Observed::withdrawn;
        if (was_released || was_closed) operation.result = Observed::done;
    }

    // Calls `attempt` until it returns true, which means that it got an answer.
    template <typename Attempt>
    void until_answered(const Attempt& attempt) {
        const auto give_up = std::chrono::steady_clock::now() + repeat_timeout;
        while (!attempt()) {
            if (!repeats_) throw std::runtime_error("the daemon closed a connection");
            if (std::chrono::steady_clock::now() > give_up) {
                throw std::runtime_error("a request got no answer");
            }
            for (const Interface which : interfaces) drop(which);
            std::this_thread::sleep_for(repeat_pause);
        }
    }

    bool connect_frames() {
        if (frames_ != nullptr) return true;
        auto connected = RemoteService::connect(address_.socket, system_clock());
        if (!connected) return false;
        frames_ = *std::move(connected);
        known_ = {};
        return true;
    }

    // Returns nullopt if the request has no answer, or one that does not say whether the request
    // was executed.
    std::optional<HttpAnswer> post(Interface over, const std::string& target,
                                   const std::string& body, const std::string& headers) {
        HttpLine* const connection = line(over);
        if (connection == nullptr) return std::nullopt;
        auto answer = connection->post(target, body, headers);
        if (repeats_ && answer && answer->status >= 500) return std::nullopt;
        return answer;
    }

    // Returns null if no daemon listens.
    HttpLine* line(Interface over) {
        if (over == Interface::frames) over = Interface::http_on_unix;
        auto& line = lines_[static_cast<std::size_t>(over)];
        if (line) return line.get();
        if (over == Interface::http_on_unix) {
            line = std::make_unique<HttpLine>(connect_in_time(address_.socket));
            return line.get();
        }
        try {
            line = std::make_unique<HttpLine>(connect_to_port(address_.port),
                                              "127.0.0.1:" + std::to_string(address_.port));
        } catch (const std::runtime_error&) {
            if (!repeats_) throw;
        }
        return line.get();
    }

    DaemonAddress address_;
    const std::atomic<unsigned>* kills_;
    bool takeovers_;
    bool repeats_;
    // The number of kills at the beginning of the last call.
    unsigned kills_before_ = 0;
    std::unique_ptr<RemoteService> frames_;
    // The session whose secret `frames_` knows.
    SessionId known_;
    std::array<std::unique_ptr<HttpLine>, interfaces.size()> lines_;
};

// The state that the clients share.
struct Shared {
    const MixedRun& run;
    std::atomic<std::size_t>& done;
    std::atomic<std::uint32_t> next_session{1};
    // A token of each resource, presented by clients that do not hold it.
    std::array<std::atomic<std::uint64_t>, resources> seen{};
};

class MixedClient {
public:
    MixedClient(Shared& shared, std::size_t number)
        : shared_(shared),
          random_(shared.run.seed + static_cast<unsigned>(number)),
          connections_(shared.run.addresses[number % shared.run.addresses.size()], shared.run) {
        open();
    }

    History run(std::size_t operations) {
        while (history_.size() < operations && !stopped()) step();
        close();
        return std::move(history_);
    }

private:
    struct Mine {
        std::uint64_t grant = 0;
        std::uint64_t token = 0;
        Mode mode = Mode::write;
    };

    bool stopped() const { return shared_.run.stop != nullptr && *shared_.run.stop; }
    unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
    bool one_in(unsigned limit) { return below(limit) == 0; }
    Mode any_mode() { return one_in(2) ? Mode::read : one_in(2) ? Mode::write : Mode::exclusive; }
    Interface any_interface() { return interfaces[below(interfaces.size())]; }

    void open() {
        number_ = shared_.next_session++;
        session_ = connections_.open_session("client" + std::to_string(number_));
    }

    void close() {
        Operation operation = begin(LockVerb::close, 0);
        connections_.call(operation, session_, CloseSession{session_.id}, any_interface());
        for (operation.resource = 0; operation.resource < resources; ++operation.resource) {
            record(operation);
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

    Operation begin(LockVerb verb, std::uint32_t resource) const {
        Operation operation;
        operation.verb = verb;
        operation.resource = resource;
        operation.session = number_;
        return operation;
    }

    // The id lets a client that repeats a request get the result of the first one.
    std::string request_id() {
        return shared_.run.kills != nullptr || shared_.run.takeovers ? std::to_string(++requests_)
                                                                     : std::string();
    }

    void acquire(std::uint32_t resource) {
        Operation operation = begin(LockVerb::acquire, resource);
        operation.mode = any_mode();
        operation.waits = one_in(2);
        Acquire request;
        request.session = session_.id;
        request.locks.resize(1);
        request.locks[0].resource = "order#" + std::to_string(resource);
        request.locks[0].mode = operation.mode;
        request.patience = milliseconds{operation.waits ? 1 + below(5) : 0};
        request.request_id = request_id();
        const bool repeated = connections_.call(operation, session_, request, any_interface());
        keep(operation);
        if (repeated && operation.result != Observed::done) expect_late_effect(operation);
    }

    void convert(std::uint32_t resource) {
        Operation operation = begin(LockVerb::convert, resource);
        operation.grant = mine_[resource]->grant;
        operation.mode = any_mode();
        operation.waits = one_in(2);
        Convert request;
        request.session = session_.id;
        request.grant = GrantId{operation.grant};
        request.mode = operation.mode;
        request.patience = milliseconds{operation.waits ? 1 + below(5) : 0};
        request.request_id = request_id();
        const bool repeated = connections_.call(operation, session_, request, any_interface());
        keep(operation);
        if (repeated) expect_late_effect(operation);
    }

    // A request whose answer was lost can still be on its way, and take effect after a repetition
    // was answered, but not after its session has ended.
    void expect_late_effect(Operation late) {
        late.result = Observed::open;
        late.token = 0;
        if (late.verb == LockVerb::acquire) late.grant = 0;
        close();
        late.returned = history_.back().returned;
        record(late);
        open();
    }

    void release(std::uint32_t resource) {
        const Mine mine = *mine_[resource];
        Operation operation = begin(LockVerb::release, resource);
        operation.grant = mine.grant;
        connections_.call(operation, session_, Release{session_.id, GrantId{mine.grant}},
                          any_interface());
        record(operation);
        mine_[resource].reset();
        if (one_in(4)) put(resource, mine.grant, mine.token);
    }

    void put_with_foreign_token(std::uint32_t resource) {
        const std::uint64_t token = shared_.seen[resource];
        if (token != 0) put(resource, token, token);
    }

    void put(std::uint32_t resource, std::uint64_t grant, std::uint64_t token) {
        Operation operation = begin(LockVerb::write, resource);
        operation.grant = grant;
        operation.token = token;
        connections_.put(operation, session_, any_interface());
        record(operation);
    }

    void keep(const Operation& operation) {
        record(operation);
        if (operation.result != Observed::done) return;
        mine_[operation.resource] = Mine{operation.grant, operation.token, operation.mode};
        shared_.seen[operation.resource] = operation.token;
    }

    void record(const Operation& operation) {
        history_.push_back(operation);
        ++shared_.done;
    }

    Shared& shared_;
    std::mt19937 random_;
    Connections connections_;
    SessionInfo session_;
    std::uint32_t number_ = 0;
    std::uint64_t requests_ = 0;
    std::array<std::optional<Mine>, resources> mine_;
    History history_;
};

}  // namespace

void make_orders_table(const TableDaemon& daemon) {
    call_daemon(daemon.socket(), "CreateTable",
                R"({"TableName":"orders","BillingMode":"PAY_PER_REQUEST",)"
                R"("AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"}],)"
                R"("KeySchema":[{"AttributeName":"k","KeyType":"HASH"}]})");
}

std::vector<Operation> run_mixed_clients(const MixedRun& run, std::atomic<std::size_t>& done) {
    Shared shared{run, done};
    std::vector<History> histories(run.clients);
    std::mutex mutex;
    std::exception_ptr failure;
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < run.clients; ++i) {
            threads.emplace_back([&, i] {
                try {
                    MixedClient client(shared, i);
                    histories[i] = client.run(run.operations / run.clients);
                } catch (...) {
                    const std::lock_guard lock(mutex);
                    failure = std::current_exception();
                }
            });
        }
    }
    if (failure) std::rethrow_exception(failure);
    History all;
    for (const History& history : histories) {
        all.insert(all.end(), history.begin(), history.end());
    }
    return all;
}

}  // namespace rocklock::proof
