// Kills processes that use a store on disk, opens the store again, and checks that no promise is
// broken.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include <boost/test/unit_test.hpp>

#include "crash/campaign.hpp"

namespace rocklock::crash {
namespace {

namespace unit_test = boost::unit_test;

void require_judged(Campaign& campaign, const Round& round) {
    const Complaint wrong = campaign.judge(round);
    BOOST_REQUIRE_MESSAGE(!wrong, wrong.value_or(""));
}

// Repeats the round until the worker dies at the target: whether it reaches the target depends on
// chance.
Round must_die_at(Campaign& campaign, Target target, std::uint32_t nth,
                  Company company = Company::alone) {
    for (int attempt = 0; attempt < 20; ++attempt) {
        Round round = campaign.at_point(company, target, nth);
        if (round.at_point) return round;
        require_judged(campaign, round);
    }
    BOOST_FAIL(to_string(target.verb) << " never comes to " << point_names[target.point]);
    return {};
}

// Returns the elements for which `unwanted` is false.
template <typename T, typename Unwanted>
std::vector<T> without(std::vector<T> all, const Unwanted& unwanted) {
    std::erase_if(all, unwanted);
    return all;
}

// Returns a grant of several resources.
Grant set_in(const Found& found) {
    for (const auto& [session, grants] : found.grants) {
        for (const Grant& grant : grants) {
            if (grant.locks.size() > 1) return grant;
        }
    }
    BOOST_FAIL("no set is held");
    return {};
}

Grant& found_grant(Found& found, const Grant& which) {
    for (Grant& grant : found.grants.at(which.session)) {
        if (grant.id == which.id) return grant;
    }
    BOOST_FAIL("no such grant");
    return found.grants.begin()->second.front();
}

void take_away(Found& found, const Grant& gone) {
    found.grants[gone.session] = without(found.grants[gone.session],
                                         [&](const Grant& grant) { return grant.id == gone.id; });
    found.holders.locks =
        without(found.holders.locks, [&](const Holder& holder) { return holder.grant == gone.id; });
}

std::optional<std::uint64_t> number_from(const char* variable) {
    const char* const text = std::getenv(variable);
    if (text == nullptr) return std::nullopt;
    return std::strtoull(text, nullptr, 10);
}

BOOST_AUTO_TEST_SUITE(a_killed_process, *unit_test::label("rocksdb"))

// With one thread, the contents of the log at each point are known exactly. All of it must be found
// again. The store has the state before or after the operation (invariant D4).
BOOST_AUTO_TEST_CASE(leaves_all_written_data_at_every_point_of_every_verb) {
    Campaign campaign(1);
    for (const Target& target : targets()) {
        require_judged(campaign, must_die_at(campaign, target, 1));
    }
    BOOST_TEST_MESSAGE(campaign.report());
    BOOST_CHECK(campaign.never_hit().empty());
}

// Deferred responses precede their writes. All other decisions must be on disk when they are
// answered (requirement D1).
BOOST_AUTO_TEST_CASE(keeps_everything_that_it_answered_just_before) {
    Campaign campaign(5);
    for (const Target& target : targets()) {
        if (target.point != after_reply) continue;
        require_judged(campaign, must_die_at(campaign, target, 1, Company::manager));
    }
    BOOST_TEST_MESSAGE(campaign.report());
    // At least a release.
    BOOST_CHECK_GT(campaign.counts().lost, 0);
}

// The recovered state is one that there was after a decision (invariant D3).
BOOST_AUTO_TEST_CASE(with_threads_leaves_a_prefix_of_its_decisions) {
    Campaign campaign(2);
    for (int i = 0; i < 8; ++i) {
        const std::vector<Target> all = targets();
        const Target& target = campaign.random().pick(all);
        require_judged(campaign, campaign.at_point(Company::threads, target, 1));
        require_judged(campaign, campaign.at_random());
    }
    BOOST_TEST_MESSAGE(campaign.report());
    BOOST_CHECK_GT(campaign.counts().answered, 100);
}

// Between any two steps of a flush, each record is in the log that is read, or in a table file.
BOOST_AUTO_TEST_CASE(in_a_flush_leaves_all_written_data) {
    Campaign campaign(6);
    // A close passes the point five times.
    for (std::uint32_t nth = 1; nth <= 5; ++nth) {
        require_judged(campaign, campaign.in_flush(Campaign::Flushes::at_close, nth));
    }
    for (std::uint32_t nth = 1; nth <= 12; ++nth) {
        require_judged(campaign, campaign.in_flush(Campaign::Flushes::often, nth));
    }
    BOOST_TEST_MESSAGE(campaign.report());
    BOOST_TEST(campaign.counts().killed_in_flush == 17U);
}

// Tests the judge itself: it must reject a store with any of these faults.
BOOST_AUTO_TEST_CASE(that_breaks_a_promise_is_detected) {
    Campaign campaign(3);
    for (int i = 0; i < 3; ++i) {
        require_judged(campaign, must_die_at(campaign, {Verb::acquire, after_reply}, 3));
    }
    const Round round = must_die_at(campaign, {Verb::acquire_set, after_reply}, 3);
    const auto accepted = [&](const std::function<void(Life&, Found&)>& change) {
        Life life = round.life;
        Found found = round.found;
        change(life, found);
        return !Outside(campaign.outside()).judge(life, found).wrong;
    };
    BOOST_REQUIRE(accepted([](Life&, Found&) {}));
    // The judge must also accept the store if it knows the responses only.
    BOOST_REQUIRE(accepted([](Life& life, Found&) { life.written.reset(); }));

    const Grant set = set_in(round.found);
    BOOST_CHECK(!accepted([&](Life& life, Found& found) {
        life.written.reset();
        take_away(found, set);
    }));
    BOOST_CHECK(!accepted([&](Life&, Found& found) {
        Grant& half = found_grant(found, set);
        const std::string name = half.locks.back().resource;
        half.locks.pop_back();
        found.holders.locks = without(found.holders.locks, [&](const Holder& holder) {
            return holder.grant == set.id && holder.resource == name;
        });
    }));
    BOOST_CHECK(!accepted([&](Life&, Found& found) {
        Grant& lower = found_grant(found, set);
        lower.token = Token{number(lower.token) - 1};
    }));
    BOOST_CHECK(!accepted([&](Life&, Found& found) {
        found_grant(found, set).deadline += std::chrono::nanoseconds{1};
    }));
    BOOST_CHECK(!accepted([&](Life&, Found& found) {
        found_grant(found, set).deadline -= std::chrono::nanoseconds{1};
    }));
    BOOST_CHECK(!accepted([](Life&, Found& found) {
        found.sessions.front().remaining -= std::chrono::milliseconds{1};
    }));
    BOOST_CHECK(!accepted([&](Life&, Found& found) {
        Grant twice = set;
        twice.id = GrantId{number(set.id) + 1};
        found.grants[set.session].push_back(twice);
    }));
    BOOST_CHECK(!accepted([](Life&, Found& found) { found.classes.pop_back(); }));
    BOOST_CHECK(!accepted([](Life&, Found& found) { found.wrong = "it does not open"; }));
}

// Responses that no decision supports, and numbers that were used before.
BOOST_AUTO_TEST_CASE(that_answered_too_early_is_detected) {
    Campaign campaign(4);
    require_judged(campaign, must_die_at(campaign, {Verb::acquire, after_reply}, 3));
    const Round round = must_die_at(campaign, {Verb::acquire, 0}, 2);
    const Outside& outside = campaign.outside();
    BOOST_REQUIRE(!Outside(outside).judge(round.life, round.found).wrong);

    std::size_t open = 0;
    while (round.life.steps.at(open).decided != round.life.decisions) ++open;
    BOOST_REQUIRE(!round.life.steps[open].answer);
    const proof::ModelMirror model = outside.played(round.life);
    const Result<Answer>* const owed = model.owed(Ticket{open + 1});
    BOOST_REQUIRE(owed != nullptr && *owed);
    const auto judged = [&](std::uint64_t token, bool by_answers_alone) {
        Life life = round.life;
        Grant promised = std::get<Grant>(**owed);
        promised.id = GrantId{token};
        promised.token = Token{token};
        life.steps[open].answer = Result<Answer>(promised);
        if (by_answers_alone) life.written.reset();
        return Outside(outside).judge(life, round.found).wrong;
    };
    const std::uint64_t fresh = model.highest_token() + 1'000'000;
    BOOST_CHECK(judged(fresh, false));
    BOOST_CHECK(judged(fresh, true));
    const Complaint twice = judged(model.highest_token(), true);
    BOOST_REQUIRE(twice);
    BOOST_CHECK_NE(twice->find("given twice"), std::string::npos);
    const Complaint lower = judged(1, true);
    BOOST_REQUIRE(lower);
    BOOST_CHECK_NE(lower->find("not above"), std::string::npos);
}

boost::test_tools::assertion_result long_run_wanted(unit_test::test_unit_id) {
    boost::test_tools::assertion_result asked(std::getenv("ROCKLOCK_CRASH_ROUNDS") != nullptr);
    asked.message() << "takes minutes: run scripts/crash";
    return asked;
}

BOOST_AUTO_TEST_CASE(keeps_its_promises_in_a_long_run, *unit_test::precondition(long_run_wanted)) {
    const std::uint64_t rounds = number_from("ROCKLOCK_CRASH_ROUNDS").value_or(1000);
    Campaign campaign(number_from("ROCKLOCK_CRASH_SEED").value_or(1));
    const std::vector<Target> all = targets();
    Complaint wrong;
    for (std::uint64_t i = 0; i < rounds && !wrong; ++i) {
        const Target& target = all[i % all.size()];
        const auto nth = static_cast<std::uint32_t>(1 + campaign.random().below(3));
        const std::uint64_t dice = campaign.random().below(10);
        const Company company = dice < 4   ? Company::alone
                                : dice < 6 ? Company::manager
                                           : Company::threads;
        wrong = campaign.judge(dice < 8   ? campaign.at_point(company, target, nth)
                               : dice < 9 ? campaign.at_random()
                                          : campaign.in_flush(Campaign::Flushes::at_close, nth));
    }
    std::printf("%s", campaign.report().c_str());
    BOOST_REQUIRE_MESSAGE(!wrong, wrong.value_or(""));
    for (const Target& target : campaign.never_hit()) {
        BOOST_ERROR("no process was killed at " << point_names[target.point] << " of "
                                                << to_string(target.verb));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace rocklock::crash
