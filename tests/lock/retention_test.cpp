// How long the history and the audit log are kept.
#include <rocklock/retention.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "lock/manager/lock_manager.hpp"
#include "lock/records/records.hpp"
#include "support/forwarding_storage.hpp"

namespace rocklock {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::SimulatedClock;

struct Kept {
    explicit Kept(const Retention& retention = {}) : storage(make_memory_storage(clock)) {
        open(retention);
    }

    void open(const Retention& retention) {
        LockManagerOptions options;
        options.background = false;
        options.retention = retention;
        manager.reset();
        manager = LockManager::open(*storage, clock, options).value();
    }
    Grant lock(const std::string& resource) const {
        Acquire request;
        request.opens.emplace().principal = "ann";
        request.opens->lease = minutes{1};
        request.locks = {{.resource = resource}};
        return manager->ask(request).value();
    }
    void break_lock(const std::string& resource) const {
        BOOST_REQUIRE(manager->ask(Break{lock(resource).id, "urgent", "root"}));
    }
    void lock_and_release(const std::string& resource) const {
        const Grant grant = lock(resource);
        BOOST_REQUIRE(manager->ask(Release{grant.session, grant.id}));
    }
    // Returns the resources of the rows, and requires that their number is the reported one.
    std::vector<std::string> audit() const {
        std::vector<std::string> resources;
        const std::vector<AuditRow> rows = manager->audit(0, 1000).value();
        for (const AuditRow& row : rows) resources.push_back(row.resource);
        BOOST_TEST(manager->statistics().audit_rows == resources.size());
        return resources;
    }
    std::size_t history(const std::string& resource) const {
        HistoryRequest request;
        request.resource = resource;
        return manager->history(request).value().rows.size();
    }
    void pass(std::chrono::nanoseconds time) {
        clock.advance(time);
        // A round trims once in a second.
        for (int i = 0; i < 3; ++i) {
            manager->tick();
            clock.advance(seconds{1});
        }
        manager->tick();
    }

    SimulatedClock clock;
    std::unique_ptr<Storage> storage;
    std::unique_ptr<LockManager> manager;
};

using Names = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_SUITE(the_audit_log)

BOOST_AUTO_TEST_CASE(is_kept_permanently_by_default) {
    Kept kept;
    kept.break_lock("a");
    kept.pass(hours{24 * 1000});
    BOOST_TEST(kept.audit() == Names{"a"});
}

BOOST_AUTO_TEST_CASE(loses_its_oldest_rows_beyond_the_maximum_number) {
    Retention retention;
    retention.max_audit_rows = 2;
    Kept kept(retention);
    for (const char* const name : {"a", "b", "c", "d"}) kept.break_lock(name);
    kept.pass(seconds{1});
    BOOST_TEST((kept.audit() == Names{"c", "d"}));
    kept.break_lock("e");
    kept.pass(seconds{1});
    BOOST_TEST((kept.audit() == Names{"d", "e"}));
    kept.open(retention);
    BOOST_TEST((kept.audit() == Names{"d", "e"}));
}

BOOST_AUTO_TEST_CASE(loses_the_rows_that_are_too_old) {
    Retention retention;
    retention.audit_age = hours{24};
    Kept kept(retention);
    kept.break_lock("a");
    kept.pass(hours{12});
    kept.break_lock("b");
    BOOST_TEST((kept.audit() == Names{"a", "b"}));
    kept.pass(hours{13});
    BOOST_TEST(kept.audit() == Names{"b"});
    kept.pass(hours{12});
    BOOST_TEST(kept.audit().empty());
    // Rows that are written later are found, too.
    kept.break_lock("c");
    BOOST_TEST(kept.audit() == Names{"c"});
    kept.pass(hours{25});
    BOOST_TEST(kept.audit().empty());
}

BOOST_AUTO_TEST_CASE(follows_a_change_of_the_limits) {
    Kept kept;
    for (const char* const name : {"a", "b", "c"}) kept.break_lock(name);
    kept.pass(hours{1});
    BOOST_TEST(kept.audit().size() == 3U);
    Retention retention;
    retention.max_audit_rows = 1;
    kept.manager->set_retention(retention);
    kept.pass(seconds{1});
    BOOST_TEST(kept.audit() == Names{"c"});
}

BOOST_AUTO_TEST_CASE(can_be_trimmed) {
    Kept kept;
    for (const char* const name : {"a", "b", "c"}) kept.break_lock(name);
    const std::uint64_t second = kept.manager->audit(0, 2).value().back().sequence;
    BOOST_TEST(kept.manager->trim_audit(second).value() == 2U);
    BOOST_TEST(kept.audit() == Names{"c"});
    BOOST_TEST(kept.manager->trim_audit(second).value() == 0U);
    kept.open({});
    BOOST_TEST(kept.audit() == Names{"c"});
    // The sequence numbers continue, and new rows are counted.
    kept.break_lock("d");
    BOOST_TEST((kept.audit() == Names{"c", "d"}));
    BOOST_TEST(kept.manager->trim_audit(~std::uint64_t{0}).value() == 2U);
    BOOST_TEST(kept.audit().empty());
}

// More rows than one batch deletes.
BOOST_AUTO_TEST_CASE(is_trimmed_in_batches) {
    Kept kept;
    const std::size_t rows = 5'000;
    for (std::size_t i = 0; i < rows; ++i) kept.break_lock("a");
    BOOST_TEST(kept.manager->trim_audit(~std::uint64_t{0}).value() == rows);
    BOOST_TEST(kept.audit().empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_history_of_a_resource)

// The age bounds the history (I9).
BOOST_AUTO_TEST_CASE(is_kept_for_its_age) {
    Retention retention;
    retention.history_age = hours{2};
    Kept kept(retention);
    kept.lock_and_release("a");
    kept.pass(hours{1});
    BOOST_TEST(kept.history("a") == 1U);
    kept.pass(hours{2});
    BOOST_TEST(kept.history("a") == 0U);
}

// The age of a lock without expiry (L2) counts from its end.
BOOST_AUTO_TEST_CASE(is_kept_for_its_age_after_a_lock_without_expiry) {
    Retention retention;
    retention.history_age = hours{2};
    Kept kept(retention);
    LockClass lock_class;
    lock_class.pattern = "a";
    lock_class.no_expiry = true;
    BOOST_REQUIRE(kept.manager->ask(PutClass{lock_class}));
    Acquire request;
    request.opens.emplace().principal = "ann";
    request.opens->lease = no_expiry;
    request.locks = {{.resource = "a"}};
    const Grant grant = kept.manager->ask(request).value();
    BOOST_TEST((grant.deadline == no_deadline));
    kept.pass(hours{9000});
    BOOST_TEST(kept.manager->show("a").value().holders.front().remaining.count() ==
               no_expiry.count());
    BOOST_REQUIRE(kept.manager->ask(Release{grant.session, grant.id}));
    kept.pass(hours{1});
    BOOST_TEST(kept.history("a") == 1U);
    kept.pass(hours{2});
    BOOST_TEST(kept.history("a") == 0U);
}

// The number of records bounds the history (I9).
BOOST_AUTO_TEST_CASE(follows_a_change_of_its_limits) {
    Kept kept;
    for (int i = 0; i < 5; ++i) kept.lock_and_release("a");
    kept.pass(hours{1});
    BOOST_TEST(kept.history("a") == 5U);
    Retention retention;
    retention.max_history_records = 2;
    kept.manager->set_retention(retention);
    kept.pass(seconds{1});
    BOOST_TEST(kept.history("a") == 2U);
    retention.history_age = minutes{10};
    kept.manager->set_retention(retention);
    kept.pass(seconds{1});
    BOOST_TEST(kept.history("a") == 0U);
}

namespace {

// Records the largest number of grants that one batch deletes.
struct LargestStep : testing::ForwardingStorage {
    using ForwardingStorage::ForwardingStorage;
    CommitNumber enqueue(Batch batch, Durability durability, Verdict* verdict) override {
        const auto deletes = std::ranges::count_if(batch.writes, [](const Write& write) {
            return write.family == Family::locks && !write.value &&
                   write.key.front() == records::grant_tag;
        });
        largest = std::max(largest.load(), static_cast<std::size_t>(deletes));
        return ForwardingStorage::enqueue(std::move(batch), durability, verdict);
    }

    std::atomic<std::size_t> largest{0};
};

// A manager with a thread, and 1,001 ended grants of a closed session. An open session would expire
// in the test, and the steps are different while that is due.
struct Background : Kept {
    Background() : Kept() {
        LockManagerOptions options;
        options.retention.max_history_records = 1;
        manager.reset();
        auto forwarding = std::make_unique<LargestStep>(std::move(storage));
        steps = forwarding.get();
        storage = std::move(forwarding);
        manager = LockManager::open(*storage, clock, options).value();
        const SessionId session = lock("a").session;
        for (int i = 0; i < 1'000; ++i) {
            Acquire request;
            request.session = session;
            request.locks = {{.resource = "b"}};
            const Grant grant = manager->ask(request).value();
            BOOST_REQUIRE(manager->ask(Release{session, grant.id}));
        }
        BOOST_REQUIRE(manager->ask(CloseSession{session}));
    }
    std::size_t grants() const {
        const std::string first(1, records::grant_tag);
        const std::string last(1, records::grant_tag + 1);
        const auto snapshot = storage->snapshot();
        std::size_t count = 0;
        const auto cursor = snapshot->scan(Family::locks, first, last);
        for (; cursor->valid(); cursor->next()) ++count;
        return count;
    }
    // Advances the clock, calls the thread, and returns how many records it has deleted a tenth of
    // a second later.
    std::size_t trim_after(std::chrono::nanoseconds time) {
        const std::size_t before = grants();
        clock.advance(time);
        Retention retention;
        retention.max_history_records = 1;
        manager->set_retention(retention);
        for (int i = 0; time.count() > 0 && i < 10'000 && grants() == before; ++i) {
            std::this_thread::sleep_for(milliseconds{1});
        }
        std::this_thread::sleep_for(milliseconds{100});
        return before - grants();
    }

    LargestStep* steps = nullptr;
};

}  // namespace

// Requests and leases that end can wait for a step.
BOOST_FIXTURE_TEST_CASE(is_trimmed_in_steps, Background) {
    constexpr std::size_t step = 256;
    BOOST_TEST(trim_after(hours{1}) == step);
    lock_and_release("c");
    BOOST_TEST(trim_after({}) == 0U);
    BOOST_TEST(trim_after(std::chrono::microseconds{62'500}) == step);
    // Without a request meanwhile, the steps follow each other directly. The newest grant is kept.
    BOOST_TEST_REQUIRE(grants() > step + 10);
    trim_after(seconds{1});
    for (int i = 0; i < 10'000 && grants() >= 10; ++i) std::this_thread::sleep_for(milliseconds{1});
    BOOST_TEST(grants() < 10U);
    BOOST_TEST(steps->largest == step);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(limits_of_retention)

BOOST_AUTO_TEST_CASE(are_checked) {
    BOOST_TEST(check_retention({}).has_value());
    const auto refused = [](auto change) {
        Retention retention;
        change(retention);
        const auto checked = check_retention(retention);
        return !checked && checked.error().code == ErrorCode::invalid_argument;
    };
    BOOST_TEST(refused([](Retention& kept) { kept.history_age = minutes{9}; }));
    BOOST_TEST(refused([](Retention& kept) { kept.draft_age = seconds{0}; }));
    BOOST_TEST(refused([](Retention& kept) { kept.max_principal_drafts = 0; }));
    BOOST_TEST(refused([](Retention& kept) { kept.max_principal_drafts = 1001; }));
    BOOST_TEST(refused([](Retention& kept) { kept.audit_age = seconds{-1}; }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
