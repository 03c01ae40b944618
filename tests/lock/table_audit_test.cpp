// The audits of debug and sanitizer builds: a lock table that is not sound ends the process.
#include "lock/manager/table_audit.hpp"

#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <string>

#include <boost/test/unit_test.hpp>

#include "lock/table/core.hpp"
#include "support/in_child.hpp"

namespace rocklock {

// Breaks a table on purpose. A friend of LockTable.
struct TableBreaker {
    static void miscount_holds(LockTable& table, std::string_view resource) {
        ++table.core_->resources.find(resource)->with_extra().linked.count;
    }
    static void miscount_subtrees(LockTable& table) { ++table.core_->hold_marks.subtrees; }
    static void forget_grant(LockTable& table) {
        table.core_->grants.remove(*table.core_->grants.oldest());
    }
    static void make_last_older(LockTable& table, std::string_view resource) {
        table.core_->resources.find(resource)->set_last(lock_model::LastGrant(GrantId{1}));
    }
    static void set_all_ids_to_oldest_grant(LockTable& table) {
        lock_model::RequestTable& ids = table.core_->requests;
        ids.all_of([&](const lock_model::RequestKey& key, lock_model::RequestOutcome) {
            // Replaces the outcome of an id, which does not move its entry.
            ids.set(key, lock_model::RequestOutcome(table.core_->grants.oldest()->id()));
            return true;
        });
    }
    static void add_id_of_unknown_wait(LockTable& table) {
        static lock_model::Wait unknown;
        table.core_->requests.set({1, 2}, lock_model::RequestOutcome(unknown));
    }
    static void store_request_id_twice(LockTable& table, std::string_view resource) {
        lock_model::Grant& grant = *table.core_->resources.find(resource)->plain_hold()->grant();
        grant.with_extra().request = grant.request();
    }
    static bool has_extra(LockTable& table, std::string_view resource) {
        return table.core_->resources.find(resource)->extra() != nullptr;
    }
    static void leave_parent(LockTable& table, std::string_view resource) {
        table.core_->resources.find(resource)->leave_parent();
    }
};

namespace {

using manager::TableAudit;

struct OneLock {
    OneLock() {
        OpenSession open;
        open.principal = "ann";
        apply(Request(open), Ticket{1});
        acquire("orders/1");
    }
    void acquire(const std::string& resource, const std::string& request_id = {}) {
        Acquire acquire;
        acquire.session = session;
        acquire.locks = {{.resource = resource}};
        acquire.request_id = request_id;
        apply(Request(acquire), Ticket{2});
        BOOST_TEST_REQUIRE(decision.replies.size() == 1U);
        BOOST_TEST_REQUIRE(decision.replies.front().answer.has_value());
    }
    void apply(const Event& event, Ticket ticket) {
        decision.clear();
        table.apply(event, ticket, session, now, decision);
    }
    // Returns the exit status of a process that calls decided() this often; -1 if it was aborted.
    int after_decisions(std::uint64_t count) const {
        return testing::in_child([&] {
            // Boost.Test would report the signal and exit.
            std::signal(SIGABRT, SIG_DFL);
            TableAudit audit;
            for (std::uint64_t i = 0; i < count; ++i) audit.decided(table, now);
            return 0;
        });
    }

    SessionId session{{1, 2, 3}};
    Instant now{BootTime(std::chrono::seconds{10}), WallTime(std::chrono::hours{500'000})};
    LockTable table{LockTableOptions{}, SessionKey{}};
    Decision decision;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(a_sampled_audit)

BOOST_FIXTURE_TEST_CASE(accepts_a_sound_table, OneLock) {
    BOOST_TEST(after_decisions(10 * TableAudit::min_period) == 0);
}

BOOST_FIXTURE_TEST_CASE(aborts_when_holds_are_miscounted, OneLock) {
    TableBreaker::miscount_holds(table, "orders/1");
    BOOST_TEST(after_decisions(TableAudit::min_period - 1) == 0);
    BOOST_TEST(after_decisions(TableAudit::min_period + table.audit_cost()) == -1);
}

BOOST_FIXTURE_TEST_CASE(aborts_when_subtree_locks_are_miscounted, OneLock) {
    TableBreaker::miscount_subtrees(table);
    BOOST_TEST(after_decisions(TableAudit::min_period + table.audit_cost()) == -1);
}

BOOST_FIXTURE_TEST_CASE(aborts_when_a_grant_is_missing_in_the_index, OneLock) {
    TableBreaker::forget_grant(table);
    BOOST_TEST(after_decisions(TableAudit::min_period + table.audit_cost()) == -1);
}

BOOST_FIXTURE_TEST_CASE(aborts_when_the_last_grant_of_a_resource_is_older_than_its_hold, OneLock) {
    acquire("orders/2");
    TableBreaker::make_last_older(table, "orders/2");
    BOOST_TEST(after_decisions(TableAudit::min_period + table.audit_cost()) == -1);
}

BOOST_FIXTURE_TEST_CASE(accepts_request_ids, OneLock) {
    acquire("orders/2", "x");
    acquire("orders/3", "y");
    acquire("orders/2", "x");
    // A plain lock with a request id needs no other memory.
    BOOST_TEST(!TableBreaker::has_extra(table, "orders/2"));
    BOOST_TEST(after_decisions(10 * TableAudit::min_period) == 0);
}

BOOST_FIXTURE_TEST_CASE(aborts_when_a_request_id_belongs_to_another_grant, OneLock) {
    acquire("orders/2", "x");
    TableBreaker::set_all_ids_to_oldest_grant(table);
    BOOST_TEST(after_decisions(TableAudit::min_period + table.audit_cost()) == -1);
}

BOOST_FIXTURE_TEST_CASE(aborts_when_a_request_id_belongs_to_an_unknown_wait, OneLock) {
    TableBreaker::add_id_of_unknown_wait(table);
    BOOST_TEST(after_decisions(TableAudit::min_period + table.audit_cost()) == -1);
}

BOOST_FIXTURE_TEST_CASE(aborts_when_a_request_id_is_stored_twice, OneLock) {
    acquire("orders/2", "x");
    TableBreaker::store_request_id_twice(table, "orders/2");
    BOOST_TEST(after_decisions(TableAudit::min_period + table.audit_cost()) == -1);
}

BOOST_FIXTURE_TEST_CASE(aborts_when_a_resource_is_missing_among_the_children_of_its_parent,
                        OneLock) {
    TableBreaker::leave_parent(table, "orders/1");
    BOOST_TEST(after_decisions(TableAudit::min_period + table.audit_cost()) == -1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
