#include "history/table_clients.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.hpp"

namespace rocklock::proof {

namespace {

using Verb = TableRequest::Verb;
using Result = TableReply::Result;

constexpr std::uint32_t max_keys = 32;
constexpr std::size_t max_published = 4;

std::int64_t moment() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

struct Attempt {
    TableRequest request;
    TableReply reply;
    std::int64_t called = 0;
    std::int64_t returned = 0;
};

// The state that the clients share.
struct Meeting {
    explicit Meeting(const ClientsOptions& wanted) : options(wanted) {}

    const ClientsOptions options;
    std::atomic<std::uint64_t> next_number{1};
    // The last known version of each item, so that some conditions are met.
    std::array<std::atomic<std::uint64_t>, max_keys> heard{};

    Mutex mutex{};
    // Transactions with an idempotency token; other clients send them again.
    std::vector<TableRequest> published ROCKLOCK_GUARDED_BY(mutex){};
    std::string problem ROCKLOCK_GUARDED_BY(mutex){};
    std::atomic<bool> over{false};
};

class TableClient {
public:
    TableClient(Meeting& meeting, TableAccess& access, std::uint32_t seed)
        : meeting_(meeting), access_(access), random_(seed) {}

    void run(std::size_t requests) {
        while (attempts_.size() < requests && !meeting_.over) step();
    }
    void read_all() {
        TableRequest request = request_of(Verb::transact_get);
        for (std::uint32_t key = 0; key < meeting_.options.keys; ++key) {
            request.actions.push_back({key});
        }
        ask(request);
    }
    std::vector<Attempt> take() { return std::move(attempts_); }

private:
    std::uint32_t below(std::uint32_t limit) {
        return static_cast<std::uint32_t>(random_() % limit);
    }
    bool percent(std::uint32_t share) { return below(100) < share; }

    TableRequest request_of(Verb verb) {
        TableRequest request;
        request.verb = verb;
        request.number = meeting_.next_number++;
        return request;
    }

    void step();
    void read(Verb verb, std::size_t keys);
    void write();
    void transact();
    std::optional<TableRequest> published();
    void send(const TableRequest& request);

    std::vector<std::uint32_t> any_keys(std::size_t count);
    Effect any_effect();
    // Returns a condition that holds if the item is still in its last known version.
    Demand likely(std::uint32_t key);
    Result ask(const TableRequest& request);
    void hear(const TableRequest& request, const TableReply& reply);

    Meeting& meeting_;
    TableAccess& access_;
    std::mt19937 random_;
    std::vector<Attempt> attempts_;
};

void TableClient::step() {
    const std::uint32_t dice = below(100);
    if (dice < 12) return read(Verb::get, 1);
    if (dice < 18) return read(Verb::batch_get, 2 + below(2));
    if (dice < 30) return read(Verb::transact_get, 2 + below(3));
    if (dice < 60) return write();
    transact();
}

void TableClient::read(Verb verb, std::size_t keys) {
    TableRequest request = request_of(verb);
    for (const std::uint32_t key : any_keys(keys)) request.actions.push_back({key});
    ask(request);
}

Effect TableClient::any_effect() {
    const std::uint32_t dice = below(100);
    return dice < 30 ? Effect::put : dice < 85 ? Effect::update : Effect::remove;
}

Demand TableClient::likely(std::uint32_t key) {
    const std::uint64_t number = meeting_.heard[key];
    if (number == 0) return {Demand::Kind::absent, 0};
    return {Demand::Kind::equals, number};
}

void TableClient::write() {
    TableRequest request = request_of(Verb::write);
    TableAction action;
    action.key = any_keys(1).front();
    action.effect = any_effect();
    if (percent(60))
        action.demand = likely(action.key);
    else if (percent(20))
        action.demand.kind = Demand::Kind::present;
    else if (percent(10))
        action.demand.kind = Demand::Kind::absent;
    if (action.effect == Effect::remove && meeting_.options.careful_removals) {
        action.demand = {Demand::Kind::equals, meeting_.heard[action.key]};
    }
    request.actions.push_back(action);
    ask(request);
}

// The response of a transaction does not contain single items. Actions that do not preserve the old
// trail therefore have a condition that names it.
void TableClient::transact() {
    if (const auto other = published(); other && percent(50)) {
        ask(*other);
        return;
    }
    TableRequest request = request_of(Verb::transact_write);
    for (const std::uint32_t key : any_keys(2 + below(3))) {
        TableAction action;
        action.key = key;
        if (percent(65)) action.effect = any_effect();
        if (action.effect != Effect::update || percent(30)) action.demand = likely(key);
        if (action.effect == Effect::remove) {
            action.demand = {Demand::Kind::equals, meeting_.heard[key]};
        }
        request.actions.push_back(action);
    }
    if (percent(50)) {
        // Includes the seed, so that other histories on the same store use different tokens.
        request.token =
            "token-" + std::to_string(meeting_.options.seed) + "-" + std::to_string(request.number);
        const MutexLock lock(meeting_.mutex);
        meeting_.published.push_back(request);
        if (meeting_.published.size() > max_published) {
            meeting_.published.erase(meeting_.published.begin());
        }
    }
    const Result result = ask(request);
    const bool again = result == Result::open ? percent(70) : percent(5);
    if (!request.token.empty() && again) ask(request);
}

std::optional<TableRequest> TableClient::published() {
    const MutexLock lock(meeting_.mutex);
    if (meeting_.published.empty()) return std::nullopt;
    return meeting_.published.back();
}

std::vector<std::uint32_t> TableClient::any_keys(std::size_t count) {
    std::vector<std::uint32_t> keys(meeting_.options.keys);
    for (std::uint32_t key = 0; key < meeting_.options.keys; ++key) keys[key] = key;
    std::shuffle(keys.begin(), keys.end(), random_);
    keys.resize(std::min(count, keys.size()));
    return keys;
}

Result TableClient::ask(const TableRequest& request) {
    Attempt attempt;
    attempt.request = request;
    attempt.called = moment();
    attempt.reply = access_.ask(request);
    attempt.returned = moment();
    hear(request, attempt.reply);
    const Result result = attempt.reply.result;
    attempts_.push_back(std::move(attempt));
    return result;
}

void TableClient::hear(const TableRequest& request, const TableReply& reply) {
    if (reply.result == Result::open) return;
    for (std::size_t at = 0; at < request.actions.size(); ++at) {
        const TableAction& action = request.actions[at];
        auto& heard = meeting_.heard[action.key];
        if (reply.result == Result::done && action.effect != Effect::none) {
            heard = action.effect == Effect::remove ? 0 : request.number;
        } else if (reply.seen[at]) {
            heard = reply.seen[at]->empty() ? 0 : reply.seen[at]->back();
        }
    }
}

// ---- From attempts to a history ----

class Scribe {
public:
    explicit Scribe(std::atomic<std::uint64_t>& next_number) : next_number_(next_number) {}

    void note(const Attempt& attempt);
    TableHistory take();

private:
    Touch touch_of(const Attempt& attempt, std::size_t at) const;
    TableOperation operation_of(const Attempt& attempt) const;
    void note_transaction(const Attempt& attempt);

    std::atomic<std::uint64_t>& next_number_;
    TableHistory history_;
    // By number: a request that is sent again with its token is the same transaction.
    std::map<std::uint64_t, TableOperation> transactions_;
};

Touch Scribe::touch_of(const Attempt& attempt, std::size_t at) const {
    const TableAction& action = attempt.request.actions[at];
    Touch touch;
    touch.key = action.key;
    touch.demand = action.demand;
    if (attempt.reply.result != Result::open) touch.seen = attempt.reply.seen[at];
    if (attempt.reply.result == Result::refused) {
        touch.met = !attempt.reply.failed[at];
    } else {
        touch.effect = action.effect;
    }
    return touch;
}

TableOperation Scribe::operation_of(const Attempt& attempt) const {
    TableOperation operation;
    operation.number = attempt.request.number;
    operation.called = attempt.called;
    operation.returned = attempt.returned;
    operation.open = attempt.reply.result == Result::open;
    for (std::size_t at = 0; at < attempt.request.actions.size(); ++at) {
        operation.touches.push_back(touch_of(attempt, at));
    }
    return operation;
}

void Scribe::note(const Attempt& attempt) {
    const Verb verb = attempt.request.verb;
    if (verb == Verb::transact_write) return note_transaction(attempt);
    const TableOperation operation = operation_of(attempt);
    if (verb != Verb::batch_get) {
        history_.push_back(operation);
        return;
    }
    // These reads need not be consistent with each other, so each becomes a separate operation.
    for (const Touch& touch : operation.touches) {
        TableOperation& read = history_.emplace_back(operation);
        read.number = next_number_++;
        read.touches = {touch};
    }
}

void Scribe::note_transaction(const Attempt& attempt) {
    TableOperation operation = operation_of(attempt);
    if (attempt.reply.result == Result::refused) {
        operation.attempt_of = operation.number;
        operation.number = next_number_++;
        history_.push_back(std::move(operation));
        return;
    }
    const auto [found, is_new] = transactions_.emplace(operation.number, operation);
    if (is_new) return;
    // The transaction has taken effect when the first response arrives, and not before the first
    // request was sent.
    TableOperation& whole = found->second;
    whole.called = std::min(whole.called, operation.called);
    if (whole.open == operation.open) {
        whole.returned = whole.open ? std::max(whole.returned, operation.returned)
                                    : std::min(whole.returned, operation.returned);
    } else if (whole.open) {
        whole.returned = operation.returned;
    }
    whole.open = whole.open && operation.open;
}

TableHistory Scribe::take() {
    for (auto& [number, operation] : transactions_) history_.push_back(std::move(operation));
    return std::move(history_);
}

std::string name_of(const Attempt& attempt) {
    static constexpr std::array<const char*, 5> verbs{"get", "batch_get", "transact_get", "write",
                                                      "transact_write"};
    static constexpr std::array<const char*, 3> results{"done", "refused", "open"};
    return std::string(verbs[static_cast<std::size_t>(attempt.request.verb)]) + " " +
           results[static_cast<std::size_t>(attempt.reply.result)];
}

}  // namespace

ClientsRun run_clients(const std::function<std::unique_ptr<TableAccess>()>& open_access,
                       const ClientsOptions& options) {
    Meeting meeting(options);
    std::vector<std::vector<Attempt>> attempts(options.clients + 1);
    const auto live = [&](std::size_t at, bool last) {
        try {
            const auto access = open_access();
            TableClient client(meeting, *access, options.seed * 1'000 + static_cast<unsigned>(at));
            if (last) {
                client.read_all();
            } else {
                client.run(options.requests / options.clients + 1);
            }
            attempts[at] = client.take();
        } catch (const std::exception& problem) {
            const MutexLock lock(meeting.mutex);
            if (meeting.problem.empty()) meeting.problem = problem.what();
            meeting.over = true;
        }
    };
    std::vector<std::thread> threads;
    for (std::size_t at = 0; at < options.clients; ++at) threads.emplace_back(live, at, false);
    for (auto& thread : threads) thread.join();
    // Reads the final state of all items.
    live(options.clients, true);

    ClientsRun run;
    Scribe scribe(meeting.next_number);
    for (const auto& of_one : attempts) {
        for (const Attempt& attempt : of_one) {
            scribe.note(attempt);
            ++run.counts[name_of(attempt)];
        }
    }
    run.history = scribe.take();
    const MutexLock lock(meeting.mutex);
    run.problem = meeting.problem;
    return run;
}

}  // namespace rocklock::proof
