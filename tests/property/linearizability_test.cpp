// Several threads use one lock manager. A single sequential order of operations must explain all
// their answers.
#include "support/linearizability.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "base/mutex.hpp"
#include "lock/manager/lock_manager.hpp"
#include "support/observed_answer.hpp"
#include "support/stores/test_store.hpp"

namespace rocklock {

namespace {

using proof::enter;
using proof::moment;
using proof::Operation;
using Verb = Operation::Verb;
using Fate = Operation::Result;
using History = std::vector<Operation>;
using std::chrono::milliseconds;

constexpr std::uint32_t resources = 3;

std::string name_of(std::uint32_t resource) { return "order#" + std::to_string(resource); }

// ---- The threads ----

// The state that the owners share.
struct Ground {
    LockManager& manager;
    std::atomic<std::uint32_t> next_session{1};
    // A grant of each resource, for owners that try to release a grant of another owner.
    std::array<std::atomic<std::uint64_t>, resources> seen{};

    Mutex mutex{};
    // Grants of sessions that are never closed: they must expire, at the earliest at the given
    // time.
    std::map<std::uint64_t, Operation> expiring ROCKLOCK_GUARDED_BY(mutex){};
    // The grants that were reported as ended, and when.
    std::map<std::uint64_t, std::int64_t> reported ROCKLOCK_GUARDED_BY(mutex){};
    // The number of reports with another outcome than `expired`, and of repeated reports for one
    // grant.
    std::size_t unexpected_notices ROCKLOCK_GUARDED_BY(mutex) = 0;
    // Cancels the current wait of an owner.
    std::map<const void*, std::stop_source> waiting ROCKLOCK_GUARDED_BY(mutex){};
};

struct Started {
    Operation operation;
    Ticket ticket{};
    std::future<void> answered;
};

class Owner {
public:
    Owner(Ground& ground, unsigned seed) : ground_(ground), random_(seed) { open(); }

    History run(std::size_t operations);

private:
    struct Mine {
        std::uint64_t grant = 0;
        Mode mode = Mode::write;
    };

    unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
    bool one_in(unsigned limit) { return below(limit) == 0; }
    Mode any_mode() { return one_in(2) ? Mode::read : one_in(2) ? Mode::write : Mode::exclusive; }

    void open();
    void close();
    void abandon();
    void step();
    void step_with(std::uint32_t resource);
    void acquire(std::uint32_t resource);
    void convert(std::uint32_t resource);
    void release(std::uint32_t resource, std::uint64_t grant);
    void start(std::uint32_t resource);
    void collect(std::uint32_t resource);

    Acquire requested(const Operation& operation, milliseconds patience) const;
    Operation begin(Verb verb, std::uint32_t resource) const;
    void call(Operation& operation, Request request);
    void keep(const Operation& operation);

    Ground& ground_;
    std::mt19937 random_;
    SessionId session_;
    std::uint32_t number_ = 0;
    std::array<std::optional<Mine>, resources> mine_;
    std::array<std::unique_ptr<Started>, resources> started_;
    History history_;
};

History Owner::run(std::size_t operations) {
    history_.reserve(operations + resources);
    std::size_t abandoned = 0;
    while (history_.size() < operations) {
        if (abandoned < 2 && history_.size() > operations * (abandoned + 1) / 3) {
            ++abandoned;
            abandon();
        }
        step();
    }
    close();
    return std::move(history_);
}

void Owner::open() {
    number_ = ground_.next_session++;
    OpenSession request;
    request.principal = "owner" + std::to_string(number_);
    request.lease = std::chrono::hours{1};
    const auto opened = ground_.manager.ask(std::move(request));
    if (opened) session_ = opened->id;
}

void Owner::close() {
    for (std::uint32_t resource = 0; resource < resources; ++resource) collect(resource);
    Operation operation = begin(Verb::close, 0);
    call(operation, CloseSession{session_});
    for (operation.resource = 0; operation.resource < resources; ++operation.resource) {
        history_.push_back(operation);
        mine_[operation.resource].reset();
    }
}

// Acquires a lock in a new session that is never renewed or closed.
void Owner::abandon() {
    OpenSession request;
    request.principal = "gone";
    request.lease = limits::lease_min;
    const auto opened = ground_.manager.ask(std::move(request));
    if (!opened) return;
    Operation operation = begin(Verb::acquire, below(resources));
    operation.session = ground_.next_session++;
    operation.mode = any_mode();
    operation.waits = true;
    Acquire take = requested(operation, milliseconds{20});
    take.session = opened->id;
    operation.called = moment();
    const auto answer = ground_.manager.call(take);
    enter(operation, answer);
    if (answer) {
        Operation end = operation;
        end.verb = Verb::expire;
        end.result = Fate::open;
        end.waits = false;
        end.called = std::get<Grant>(*answer).deadline.time_since_epoch().count();
        MutexLock lock(ground_.mutex);
        ground_.expiring.emplace(operation.grant, end);
    }
    history_.push_back(operation);
}

void Owner::step() {
    if (one_in(400)) {
        close();
        open();
    }
    step_with(below(resources));
}

void Owner::step_with(std::uint32_t resource) {
    if (started_[resource]) {
        if (one_in(2)) collect(resource);
        return;
    }
    if (!mine_[resource]) {
        if (one_in(40)) return release(resource, ground_.seen[resource]);
        if (one_in(6)) return start(resource);
        return acquire(resource);
    }
    if (one_in(20)) return acquire(resource);
    if (one_in(3)) return convert(resource);
    const std::uint64_t grant = mine_[resource]->grant;
    release(resource, grant);
    if (one_in(20)) release(resource, grant);
}

Operation Owner::begin(Verb verb, std::uint32_t resource) const {
    Operation operation;
    operation.verb = verb;
    operation.resource = resource;
    operation.session = number_;
    return operation;
}

Acquire Owner::requested(const Operation& operation, milliseconds patience) const {
    Acquire request;
    request.session = session_;
    request.locks.push_back({.resource = name_of(operation.resource),
                             .mode = operation.mode,
                             .to = std::nullopt,
                             .subtree = false,
                             .permits = 0});
    request.patience = patience;
    return request;
}

void Owner::call(Operation& operation, Request request) {
    std::stop_source stop;
    if (operation.waits) {
        MutexLock lock(ground_.mutex);
        ground_.waiting[this] = stop;
    }
    operation.called = moment();
    enter(operation, ground_.manager.call(std::move(request), stop.get_token()));
}

void Owner::keep(const Operation& operation) {
    history_.push_back(operation);
    if (operation.result != Fate::done) return;
    mine_[operation.resource] = Mine{operation.grant, operation.mode};
    ground_.seen[operation.resource] = operation.grant;
}

void Owner::acquire(std::uint32_t resource) {
    Operation operation = begin(Verb::acquire, resource);
    operation.mode = any_mode();
    operation.waits = one_in(2);
    const milliseconds patience = !operation.waits ? milliseconds{0}
                                  : one_in(4)      ? no_limit
                                                   : milliseconds{1 + below(3)};
    call(operation, requested(operation, patience));
    keep(operation);
}

void Owner::convert(std::uint32_t resource) {
    Operation operation = begin(Verb::convert, resource);
    operation.grant = mine_[resource]->grant;
    operation.mode = any_mode();
    operation.waits = one_in(2);
    Convert request;
    request.session = session_;
    request.grant = GrantId{operation.grant};
    request.mode = operation.mode;
    request.patience = milliseconds{operation.waits ? 1 + below(3) : 0};
    call(operation, std::move(request));
    keep(operation);
}

void Owner::release(std::uint32_t resource, std::uint64_t grant) {
    if (grant == 0) return;
    Operation operation = begin(Verb::release, resource);
    operation.grant = grant;
    call(operation, Release{session_, GrantId{grant}});
    history_.push_back(operation);
    if (mine_[resource] && mine_[resource]->grant == grant) mine_[resource].reset();
}

// Submits a request that waits while its owner does other operations.
void Owner::start(std::uint32_t resource) {
    auto started = std::make_unique<Started>();
    started->operation = begin(Verb::acquire, resource);
    started->operation.mode = any_mode();
    started->operation.waits = true;
    Acquire request = requested(started->operation, milliseconds{1 + below(5)});
    auto reported = std::make_shared<std::promise<void>>();
    started->answered = reported->get_future();
    started->operation.called = moment();
    started->ticket = ground_.manager.submit(
        std::move(request),
        [reported, operation = &started->operation](const Result<Answer>& answer) {
            enter(*operation, answer);
            reported->set_value();
        });
    started_[resource] = std::move(started);
}

void Owner::collect(std::uint32_t resource) {
    if (!started_[resource]) return;
    const auto started = std::move(started_[resource]);
    if (one_in(3)) ground_.manager.cancel(started->ticket);
    started->answered.wait();
    keep(started->operation);
}

// ---- A run ----

struct Run {
    History history;
    LockStatistics statistics;
    std::optional<std::string> damage;
    double seconds = 0;
};

// Cancels all current waits every two milliseconds.
void cancel_waits(Ground& ground, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        std::this_thread::sleep_for(milliseconds{2});
        std::map<const void*, std::stop_source> waiting;
        {
            MutexLock lock(ground.mutex);
            waiting.swap(ground.waiting);
        }
        for (auto& [owner, source] : waiting) source.request_stop();
    }
}

void watch_expiry(Ground& ground) {
    ground.manager.on_lost([&ground](const LostNotice& notice) {
        MutexLock lock(ground.mutex);
        const bool first = ground.reported.emplace(number(notice.grant.id), moment()).second;
        if (!first || notice.ending.outcome != Outcome::expired) ++ground.unexpected_notices;
    });
}

// Waits until the end of every expiring grant has been reported, and adds these ends to the
// history.
void collect_expired(Ground& ground, History& history) {
    const auto all_delivered = [&] {
        MutexLock lock(ground.mutex);
        return ground.reported.size() >= ground.expiring.size();
    };
    for (int i = 0; i < 1000 && !all_delivered(); ++i)
        std::this_thread::sleep_for(milliseconds{10});
    MutexLock lock(ground.mutex);
    BOOST_TEST(ground.reported.size() == ground.expiring.size());
    BOOST_TEST(ground.unexpected_notices == 0U);
    for (auto [grant, operation] : ground.expiring) {
        const auto reported = ground.reported.find(grant);
        BOOST_TEST((reported != ground.reported.end()), "the end of an expired grant is reported");
        if (reported != ground.reported.end()) {
            operation.result = Fate::done;
            operation.returned = reported->second;
        }
        history.push_back(operation);
    }
}

Run run(std::size_t owners, std::size_t operations, unsigned seed) {
    Run result;
    const auto storage = testing::make_test_store(system_clock());
    auto manager = LockManager::open(*storage, system_clock(), {}).value();
    Ground ground{*manager};
    watch_expiry(ground);
    std::vector<History> histories(owners);
    const std::int64_t start = moment();
    {
        std::jthread canceller([&](const std::stop_token& stop) { cancel_waits(ground, stop); });
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < owners; ++i) {
            threads.emplace_back([&, i] {
                Owner owner(ground, seed + static_cast<unsigned>(i));
                histories[i] = owner.run(operations / owners);
            });
        }
        for (std::jthread& thread : threads) thread.join();
    }
    result.seconds = static_cast<double>(moment() - start) / 1e9;
    for (const History& history : histories) {
        result.history.insert(result.history.end(), history.begin(), history.end());
    }
    collect_expired(ground, result.history);
    result.damage = manager->audit_invariants();
    result.statistics = manager->statistics();
    return result;
}

std::size_t count(const History& history, Verb verb, Fate verdict) {
    return static_cast<std::size_t>(
        std::count_if(history.begin(), history.end(), [&](const Operation& operation) {
            return operation.verb == verb && operation.result == verdict;
        }));
}

void judge(const Run& run, proof::SearchCounts& counts) {
    const auto wrong = find_contradiction(run.history, &counts);
    BOOST_TEST(!wrong, wrong.value_or(""));
    const auto disorder = proof::find_token_disorder(run.history);
    BOOST_TEST(!disorder, disorder.value_or(""));
    BOOST_TEST(!run.damage, run.damage.value_or(""));
    BOOST_TEST(run.statistics.sweep_finds == 0u);
    BOOST_TEST(run.statistics.held == 0u);
    BOOST_TEST(run.statistics.waiting == 0u);
    BOOST_TEST(run.statistics.granted == count(run.history, Verb::acquire, Fate::done));
    BOOST_TEST(run.statistics.expired == count(run.history, Verb::expire, Fate::done));
}

void run_and_judge(std::size_t owners, std::size_t operations) {
    const Run done = run(owners, operations, static_cast<unsigned>(owners));
    proof::SearchCounts counts;
    judge(done, counts);
    // Every kind of result must have occurred.
    BOOST_TEST(done.history.size() >= operations);
    for (const Fate verdict : {Fate::done, Fate::refused, Fate::withdrawn, Fate::already_held}) {
        BOOST_TEST(count(done.history, Verb::acquire, verdict) > 0u);
    }
    BOOST_TEST(count(done.history, Verb::convert, Fate::done) > 0u);
    BOOST_TEST(count(done.history, Verb::convert, Fate::refused) > 0u);
    BOOST_TEST(count(done.history, Verb::release, Fate::not_held) > 0u);
    // With two owners, too few leases may be abandoned for one to expire during the run.
    if (owners > 2) BOOST_TEST(count(done.history, Verb::expire, Fate::done) > 0u);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(threads_see_one_story)

BOOST_AUTO_TEST_CASE(of_2_owners) { run_and_judge(2, 10'000); }
BOOST_AUTO_TEST_CASE(of_4_owners) { run_and_judge(4, 10'000); }
BOOST_AUTO_TEST_CASE(of_8_owners) { run_and_judge(8, 20'000); }
BOOST_AUTO_TEST_CASE(of_16_owners) { run_and_judge(16, 20'000); }

// A release is attributed to another session, so the recorded history becomes impossible.
BOOST_AUTO_TEST_CASE(and_an_injected_fault_is_detected) {
    History history = run(4, 2'000, 7).history;
    BOOST_REQUIRE(!find_contradiction(history));
    const auto kept = std::find_if(history.begin(), history.end(), [](const Operation& operation) {
        return operation.verb == Verb::release && operation.result == Fate::done;
    });
    BOOST_REQUIRE(kept != history.end());
    kept->session += 1'000'000;
    BOOST_TEST(find_contradiction(history).has_value());
}

std::size_t operations_wanted() {
    const char* text = std::getenv("ROCKLOCK_LINEARIZE_OPERATIONS");
    if (text == nullptr) return 0;
    const std::string_view view(text);
    std::size_t wanted = 0;
    std::from_chars(view.data(), view.data() + view.size(), wanted);
    return wanted;
}

boost::test_tools::assertion_result wanted(boost::unit_test::test_unit_id) {
    boost::test_tools::assertion_result asked(operations_wanted() > 0);
    asked.message() << "takes minutes: run scripts/linearize";
    return asked;
}

BOOST_AUTO_TEST_CASE(in_a_long_run, *boost::unit_test::precondition(wanted)) {
    const std::size_t goal = operations_wanted();
    std::map<std::pair<Verb, Fate>, std::size_t> totals;
    std::size_t operations = 0;
    std::size_t max_states = 0;
    double running = 0;
    double judging = 0;
    for (unsigned round = 0; operations < goal; ++round) {
        constexpr std::array<std::size_t, 4> owners{2, 4, 8, 16};
        const Run done =
            run(owners[round % owners.size()], std::min<std::size_t>(50'000, goal - operations),
                std::random_device{}());
        const std::int64_t start = moment();
        proof::SearchCounts counts;
        judge(done, counts);
        judging += static_cast<double>(moment() - start) / 1e9;
        running += done.seconds;
        operations += done.history.size();
        max_states = std::max(max_states, counts.max_states);
        for (const Operation& operation : done.history)
            ++totals[{operation.verb, operation.result}];
    }
    const auto total = [&](Verb verb, Fate verdict) { return totals[{verb, verdict}]; };
    std::cout << operations << " operations: run in " << running << " s ("
              << static_cast<double>(operations) / running << "/s), judged in " << judging << " s ("
              << static_cast<double>(operations) / judging << "/s), at most " << max_states
              << " states\n"
              << "acquired " << total(Verb::acquire, Fate::done) << ", refused "
              << total(Verb::acquire, Fate::refused) << ", withdrawn "
              << total(Verb::acquire, Fate::withdrawn) << ", already held "
              << total(Verb::acquire, Fate::already_held) << "; converted "
              << total(Verb::convert, Fate::done) << ", refused "
              << total(Verb::convert, Fate::refused) << "; released "
              << total(Verb::release, Fate::done) << ", not held "
              << total(Verb::release, Fate::not_held) << "; expired "
              << total(Verb::expire, Fate::done) << '\n';
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
