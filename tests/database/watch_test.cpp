// The stream of events, the history of a resource, and the statistics.
#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>

#include "database/simulated_database.hpp"

namespace rocklock::testing {
namespace {

DatabaseOptions with_events(Clock& clock, std::size_t kept) {
    DatabaseOptions options = simulated(clock);
    options.events_kept = kept;
    options.timings = true;
    return options;
}

struct WatchedDatabase : SimulatedDatabase {
    std::vector<Result<Answer>> waited;

    WatchedDatabase() : SimulatedDatabase([](Clock& at) { return with_events(at, 1000); }) {}
    WatchedDatabase(const WatchedDatabase&) = delete;
    WatchedDatabase& operator=(const WatchedDatabase&) = delete;
    // close() completes the waiting requests, which write to `waited`.
    ~WatchedDatabase() { [[maybe_unused]] const auto closed = database.close(); }

    SessionInfo open(std::string principal, milliseconds lease = 30s) {
        OpenSession request;
        request.principal = std::move(principal);
        request.lease = lease;
        return database.service().ask(std::move(request)).value();
    }
    Result<Grant> take(const SessionInfo& session, std::vector<LockRequest> locks) {
        Acquire request;
        request.session = session.id;
        request.locks = std::move(locks);
        return database.service().ask(std::move(request));
    }
    // Sends a request that waits. Its result is appended to `waited`.
    Ticket await(const SessionInfo& session, std::string resource, Mode mode = Mode::write) {
        Acquire request;
        request.session = session.id;
        request.locks = {lock_of(std::move(resource), mode)};
        request.patience = 1h;
        return database.service().submit(std::move(request), [this](Result<Answer> answer) {
            waited.push_back(std::move(answer));
        });
    }
    Released release(const SessionInfo& session, const Grant& grant) {
        return database.service().ask(Release{session.id, grant.id}).value();
    }
    EventPage events(std::uint64_t after = 0, std::string prefix = {}, std::uint32_t limit = 1000) {
        return database.service().watch({std::move(prefix), after, limit, 0ms}).value();
    }
};

std::string brief(const LockEvent& event) {
    std::string text = std::string(to_string(event.type)) + " " + event.resource + " " +
                       event.principal + " " + std::string(to_string(event.mode));
    if (!event.by.empty()) text += " by " + event.by;
    if (!event.reason.empty()) text += " (" + event.reason + ")";
    return text;
}

std::string brief(const EventPage& page) {
    std::string text;
    for (const LockEvent& event : page.events) text += brief(event) + "\n";
    return text;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_watcher_of_events, WatchedDatabase)

// B3: the events are in order.
BOOST_AUTO_TEST_CASE(receives_the_events_of_a_grant) {
    const SessionInfo ann = open("ann");
    const SessionInfo bob = open("bob");
    const Grant grant = take(ann, {lock_of("a", Mode::read)}).value();
    await(bob, "a");
    Convert up;
    up.session = ann.id;
    up.grant = grant.id;
    up.mode = Mode::exclusive;
    const Grant raised = database.service().ask(up).value();
    release(ann, grant);
    pass(0ns);
    BOOST_TEST_REQUIRE(waited.size() == 1U);
    const EventPage page = events();
    BOOST_TEST(brief(page) ==
               "granted a ann read\n"
               "wanted a ann write by bob\n"
               "converted a ann exclusive\n"
               "released a ann exclusive\n"
               "granted a bob write\n");
    BOOST_TEST(!page.gap);
    BOOST_TEST((page.events[0].grant == grant.id && page.events[0].token == grant.token));
    BOOST_TEST((page.events[1].grant == grant.id));
    BOOST_TEST((page.events[2].token == raised.token && raised.token > grant.token));
    BOOST_TEST((page.events[3].token == raised.token));
    BOOST_TEST((page.events[4].grant > grant.id));
    BOOST_TEST((page.events[0].at == clock.now().wall));
    for (std::size_t i = 1; i < page.events.size(); ++i) {
        BOOST_TEST(page.events[i].sequence > page.events[i - 1].sequence);
    }
    BOOST_TEST(page.after == page.events.back().sequence);
    BOOST_TEST(events(page.after).events.empty());
}

BOOST_AUTO_TEST_CASE(receives_an_event_for_each_resource_of_a_set) {
    const SessionInfo ann = open("ann");
    take(ann, {lock_of("a"), lock_of("b", Mode::read), lock_of("c")}).value();
    database.service().ask(CloseSession{ann.id}).value();
    BOOST_TEST(brief(events()) ==
               "granted a ann write\ngranted b ann read\ngranted c ann write\n"
               "released a ann write\nreleased b ann read\nreleased c ann write\n");
}

BOOST_AUTO_TEST_CASE(receives_the_principal_and_the_reason_of_a_forced_end) {
    LockClass open_to_all;
    open_to_all.pattern = "*";
    open_to_all.steal = StealPolicy::anyone;
    database.put_class(open_to_all).value();
    const SessionInfo ann = open("ann");
    const SessionInfo bob = open("bob");
    const Grant grant = take(ann, {lock_of("a")}).value();
    Steal steal;
    steal.session = bob.id;
    steal.grant = grant.id;
    steal.reason = "ann is on holiday";
    const Grant stolen = database.service().ask(steal).value();
    const Grant given = database.service().ask(Transfer{bob.id, stolen.id, ann.id}).value();
    database.break_grant(given.id, "root", "cleaning up").value();
    BOOST_TEST(brief(events()) ==
               "granted a ann write\n"
               "stolen a ann write by bob (ann is on holiday)\n"
               "granted a bob write\n"
               "transferred a bob write by bob (to ann)\n"
               "granted a ann write\n"
               "broken a ann write by root (cleaning up)\n");
}

BOOST_AUTO_TEST_CASE(is_warned_before_a_lease_ends_and_not_of_one_that_is_renewed) {
    const SessionInfo ann = open("ann", 30s);
    const SessionInfo bob = open("bob", 30s);
    take(ann, {lock_of("a")}).value();
    take(bob, {lock_of("b")}).value();
    pass(19s);
    database.service().ask(RenewSession{bob.id, {}, {}, {}, {}}).value();
    BOOST_TEST(brief(events()) == "granted a ann write\ngranted b bob write\n");
    const std::uint64_t seen = events().after;
    pass(1s);
    BOOST_TEST(brief(events(seen)) == "warned a ann write\n");
    pass(10s);
    const EventPage page = events(seen);
    BOOST_TEST(brief(page) == "warned a ann write\nexpired a ann write\n");
    pass(20s);
    BOOST_TEST(brief(events(page.after)) == "warned b bob write\nexpired b bob write\n");
}

BOOST_AUTO_TEST_CASE(is_warned_again_when_a_renewed_lease_runs_low_again) {
    const SessionInfo ann = open("ann", 30s);
    take(ann, {lock_of("a")}).value();
    pass(25s);
    database.service().ask(RenewSession{ann.id, {}, {}, {}, {}}).value();
    pass(25s);
    database.service().ask(RenewSession{ann.id, 3s, {}, {}, {}}).value();
    pass(2s);
    BOOST_TEST(brief(events()) ==
               "granted a ann write\nwarned a ann write\nwarned a ann write\nwarned a ann write\n");
}

// B3: the stream can be resumed.
BOOST_AUTO_TEST_CASE(receives_matching_events_and_continues_after_the_last_one) {
    const SessionInfo ann = open("ann");
    for (const char* name : {"orders/1", "other", "orders/2", "orders/3", "last"}) {
        take(ann, {lock_of(name)}).value();
    }
    const EventPage first = events(0, "orders/", 2);
    BOOST_TEST(brief(first) == "granted orders/1 ann write\ngranted orders/2 ann write\n");
    const EventPage second = events(first.after, "orders/", 2);
    BOOST_TEST(brief(second) == "granted orders/3 ann write\n");
    // The cursor also skips events that do not match, so that a watch on a rare name does not fall
    // behind.
    BOOST_TEST(second.after == events().events.back().sequence);
    BOOST_TEST(failure_of(database.service().watch({"", 0, 0, 0ms})) == "invalid_argument");
    BOOST_TEST(failure_of(database.service().watch({"", 0, 10'001, 0ms})) == "invalid_argument");
}

BOOST_AUTO_TEST_CASE(receives_a_gap_if_events_were_dropped) {
    Database few = open_test_database(with_events(clock, 3)).value();
    Session ann = few.open_session("ann").value();
    const auto poll = [&](std::uint64_t after) {
        return few.service().watch({"", after, 1000, 0ms}).value();
    };
    ann.acquire("a").value().release().value();
    const EventPage first = poll(0);
    BOOST_TEST(first.events.size() == 2U);
    BOOST_TEST(!first.gap);
    ann.acquire("b").value().release().value();
    // All events have been read or are still kept.
    BOOST_TEST(!poll(first.after).gap);
    BOOST_TEST(poll(first.after).events.size() == 2U);
    ann.acquire("c").value().release().value();
    const EventPage late = poll(first.after);
    BOOST_TEST(late.gap);
    BOOST_TEST(brief(late) == "released b ann write\ngranted c ann write\nreleased c ann write\n");
    BOOST_TEST(!poll(late.after).gap);
    BOOST_TEST(!poll(0).gap);
    BOOST_TEST(few.statistics().events == 3U);
    BOOST_TEST(few.statistics().events_dropped == 3U);
}

BOOST_AUTO_TEST_CASE(waits_for_the_first_that_matches) {
    const SessionInfo ann = open("ann");
    std::vector<EventPage> pages;
    WatchRequest request;
    request.prefix = "b";
    request.patience = no_limit;
    database.service().submit_watch(
        request, [&](const Result<EventPage>& page) { pages.push_back(page.value()); });
    take(ann, {lock_of("a")}).value();
    pass(0ns);
    BOOST_TEST(pages.empty());
    take(ann, {lock_of("b")}).value();
    pass(0ns);
    BOOST_TEST_REQUIRE(pages.size() == 1U);
    BOOST_TEST(brief(pages[0]) == "granted b ann write\n");
    take(ann, {lock_of("b/2")}).value();
    pass(0ns);
    BOOST_TEST(pages.size() == 1U);
}

BOOST_AUTO_TEST_CASE(gets_an_empty_page_when_patience_ends) {
    const SessionInfo ann = open("ann");
    take(ann, {lock_of("a")}).value();
    std::vector<EventPage> pages;
    WatchRequest request;
    request.prefix = "b";
    request.patience = 10s;
    database.service().submit_watch(
        request, [&](const Result<EventPage>& page) { pages.push_back(page.value()); });
    pass(9s);
    BOOST_TEST(pages.empty());
    pass(1s);
    BOOST_TEST_REQUIRE(pages.size() == 1U);
    BOOST_TEST(pages[0].events.empty());
    BOOST_TEST(pages[0].after == events().after);
    BOOST_TEST(!pages[0].gap);
}

BOOST_AUTO_TEST_CASE(stops_waiting_when_cancelled_and_when_the_store_is_closed,
                     *boost::unit_test::label("embedded")) {
    std::vector<std::string> codes;
    const auto note = [&](const Result<EventPage>& page) { codes.push_back(failure_of(page)); };
    WatchRequest request;
    request.patience = no_limit;
    const Ticket first = database.service().submit_watch(request, note);
    database.service().submit_watch(request, note);
    database.service().cancel(first);
    BOOST_TEST((codes == std::vector<std::string>{"cancelled"}));
    database.close().value();
    BOOST_TEST((codes == std::vector<std::string>{"cancelled", "closing"}));
    database.service().submit_watch(request, note);
    BOOST_TEST(codes.size() == 3U);
}

BOOST_AUTO_TEST_CASE(is_refused_if_no_events_are_kept) {
    Database without = open_test_database(simulated(clock)).value();
    BOOST_TEST(failure_of(without.service().watch({})) == "invalid_argument");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(the_history_of_a_resource, WatchedDatabase)

namespace {

std::string brief(const HistoryPage& page) {
    std::string text;
    for (const HistoryRow& row : page.rows) {
        text += row.holder.principal + " " + std::string(to_string(row.holder.mode)) + " ";
        text += row.ended ? std::string(to_string(row.ended->outcome)) : "holds";
        if (row.ended && !row.ended->by.empty()) text += " by " + row.ended->by;
        text += "\n";
    }
    return text;
}

}  // namespace

// Every grant of the resource is kept (I9).
BOOST_AUTO_TEST_CASE(has_every_grant_newest_first) {
    const SessionInfo ann = open("ann");
    const SessionInfo bob = open("bob", 10s);
    const Grant first = take(ann, {lock_of("z"), lock_of("a")}).value();
    const WallTime acquired = clock.now().wall;
    clock.advance(1s);
    release(ann, first);
    take(bob, {lock_of("a", Mode::read)}).value();
    pass(10s);
    const Grant third = take(ann, {lock_of("a")}).value();
    database.break_grant(third.id, "root", "cleaning up").value();
    take(ann, {lock_of("a", Mode::read)}).value();
    const HistoryPage page = database.service().history({"a", 100, ""}).value();
    BOOST_TEST(brief(page) ==
               "ann read holds\nann write broken by root\nbob read expired\nann write released\n");
    BOOST_TEST(page.next.empty());
    const HistoryRow& oldest = page.rows.back();
    BOOST_TEST((oldest.holder.grant == first.id && oldest.holder.token == first.token));
    BOOST_TEST((oldest.holder.session == ann.id));
    BOOST_TEST((oldest.holder.acquired_at == acquired));
    BOOST_TEST((oldest.ended->at == acquired + 1s));
    BOOST_TEST(page.rows[1].ended->reason == "cleaning up");
    BOOST_TEST(brief(database.service().history({"z", 100, ""}).value()) == "ann write released\n");
    BOOST_TEST(database.service().history({"never", 100, ""}).value().rows.empty());
}

BOOST_AUTO_TEST_CASE(has_pages) {
    const SessionInfo ann = open("ann");
    std::vector<SessionInfo> readers;
    for (const char* name : {"r1", "r2", "r3"}) {
        readers.push_back(open(name));
        take(readers.back(), {lock_of("a", Mode::read)}).value();
    }
    for (int i = 0; i < 4; ++i) {
        release(ann, take(ann, {lock_of("a", Mode::read)}).value());
    }
    std::string all;
    HistoryRequest request{"a", 2, ""};
    int pages = 0;
    do {
        const HistoryPage page = database.service().history(request).value();
        BOOST_TEST(page.rows.size() <= 2U);
        all += brief(page);
        request.next = page.next;
        ++pages;
    } while (!request.next.empty() && pages < 10);
    BOOST_TEST(pages == 4);
    BOOST_TEST(all ==
               "ann read released\nann read released\nann read released\nann read released\n"
               "r3 read holds\nr2 read holds\nr1 read holds\n");
    for (const char* bad : {"x", "1", "1:", ":1", "1:2:3", "-1:2"}) {
        BOOST_TEST(failure_of(database.service().history({"a", 2, bad})) == "invalid_argument");
    }
    BOOST_TEST(failure_of(database.service().history({"a", 0, ""})) == "invalid_argument");
    BOOST_TEST(failure_of(database.service().history({"a", 1001, ""})) == "invalid_argument");
}

BOOST_AUTO_TEST_CASE(shows_the_end_of_a_grant_before_its_cleanup) {
    const SessionInfo ann = open("ann", 10s);
    take(ann, {lock_of("a")}).value();
    clock.advance(11s);
    const HistoryPage page = database.service().history({"a", 100, ""}).value();
    BOOST_TEST(brief(page) == "ann write expired\n");
    BOOST_TEST((page.rows.at(0).holder.remaining == 0ms));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(the_statistics, WatchedDatabase)

// B2: histograms of waits, holds and renewal margins.
BOOST_AUTO_TEST_CASE(count_locks_by_mode_and_have_histograms_of_durations) {
    LockClass counting;
    counting.pattern = "slots";
    counting.permits = 3;
    database.put_class(counting).value();
    const SessionInfo ann = open("ann", 30s);
    const SessionInfo bob = open("bob", 30s);
    const Grant held =
        take(ann, {lock_of("a"), lock_of("b", Mode::read), lock_of("c", Mode::exclusive)}).value();
    take(ann, {lock_of("slots")}).value();
    await(bob, "a");
    pass(4s);
    release(ann, held);
    pass(0ns);
    BOOST_TEST_REQUIRE(waited.size() == 1U);
    database.service().ask(RenewSession{ann.id, {}, {}, {}, {}}).value();
    const LockStatistics counts = database.statistics();
    BOOST_TEST((counts.locks_granted == std::array<std::uint64_t, 3>{1, 2, 1}));
    BOOST_TEST(counts.permits_granted == 1U);
    BOOST_TEST(counts.sessions_opened == 2U);
    BOOST_TEST(counts.renewals == 1U);
    BOOST_TEST(counts.wait.count() == 1U);
    BOOST_TEST((counts.wait.sum() == 4s));
    BOOST_TEST(counts.hold.count() == 1U);
    BOOST_TEST((counts.hold.sum() == 4s));
    BOOST_TEST(counts.renew_margin.count() == 1U);
    BOOST_TEST((counts.renew_margin.sum() == 26s));
    // Acquires that waited are not included.
    BOOST_TEST(counts.acquire.count() == 2U);
    const auto bucket = std::find_if(counts.wait.counts().begin(), counts.wait.counts().end(),
                                     [](std::uint64_t count) { return count > 0; }) -
                        counts.wait.counts().begin();
    BOOST_TEST((counts.wait.bounds()[static_cast<std::size_t>(bucket)] == 5s));
}

// B5: both lists are in order, and as long as the caller asks for.
BOOST_AUTO_TEST_CASE(name_the_longest_holds_and_the_most_contended_resources) {
    const SessionInfo ann = open("ann", 1h);
    const SessionInfo bob = open("bob", 1h);
    take(ann, {lock_of("oldest")}).value();
    clock.advance(1s);
    take(bob, {lock_of("second")}).value();
    clock.advance(1s);
    take(ann, {lock_of("third")}).value();
    await(bob, "oldest");
    await(bob, "third");
    database.service().cancel(await(bob, "third"));
    const Outliers outliers = database.service().outliers(2).value();
    BOOST_TEST_REQUIRE(outliers.longest_held.size() == 2U);
    BOOST_TEST(outliers.longest_held[0].resource == "oldest");
    BOOST_TEST(outliers.longest_held[1].resource == "second");
    BOOST_TEST_REQUIRE(outliers.hottest.size() == 2U);
    BOOST_TEST(outliers.hottest[0].resource == "third");
    BOOST_TEST(outliers.hottest[0].waits == 2U);
    BOOST_TEST(outliers.hottest[0].error == 0U);
    BOOST_TEST(outliers.hottest[1].resource == "oldest");
    BOOST_TEST(failure_of(database.service().outliers(0)) == "invalid_argument");
    BOOST_TEST(failure_of(database.service().outliers(1001)) == "invalid_argument");
}

BOOST_AUTO_TEST_CASE(find_the_most_contended_name_among_many) {
    const SessionInfo ann = open("ann", 1h);
    const SessionInfo bob = open("bob", 1h);
    take(ann, {lock_of("hot")}).value();
    for (int i = 0; i < 1000; ++i) {
        const std::string name = "cold" + std::to_string(i);
        take(ann, {lock_of(name)}).value();
        database.service().cancel(await(bob, name));
        if (i % 3 == 0) database.service().cancel(await(bob, "hot"));
    }
    const Outliers outliers = database.service().outliers(1).value();
    BOOST_TEST(outliers.hottest.at(0).resource == "hot");
    BOOST_TEST(outliers.hottest.at(0).waits == 334U);
}

BOOST_AUTO_TEST_CASE(report_a_long_wait_while_it_lasts) {
    std::vector<SlowWait> slow;
    DatabaseOptions options = simulated(clock);
    options.slow_wait = 2s;
    options.on_slow_wait = [&](const SlowWait& wait) { slow.push_back(wait); };
    Database watched = open_test_database(std::move(options)).value();
    SessionOptions with_note;
    with_note.note = "counting";
    with_note.lease = 10min;
    Session ann = watched.open_session("ann", with_note).value();
    Session bob = watched.open_session("bob", with_note).value();
    Guard held = ann.acquire("a").value();
    testing::pass(watched, clock, 3s);
    Acquire request;
    request.session = bob.credentials().id;
    request.locks = {lock_of("a")};
    request.patience = 1h;
    bool granted = false;
    watched.service().submit(request,
                             [&](const Result<Answer>& answer) { granted = answer.has_value(); });
    testing::pass(watched, clock, 1999ms);
    BOOST_TEST(slow.empty());
    testing::pass(watched, clock, 1ms);
    BOOST_TEST_REQUIRE(slow.size() == 1U);
    BOOST_TEST(slow[0].waiter.principal == "bob");
    BOOST_TEST(slow[0].waiter.resource == "a");
    BOOST_TEST((slow[0].waited == 2s));
    BOOST_TEST_REQUIRE(slow[0].holders.size() == 1U);
    BOOST_TEST(slow[0].holders[0].principal == "ann");
    BOOST_TEST(slow[0].holders[0].note == "counting");
    BOOST_TEST((clock.now().wall - slow[0].holders[0].acquired_at == 5s));
    testing::pass(watched, clock, 10s);
    BOOST_TEST(slow.size() == 1U);
    BOOST_TEST(!granted);
    held.release().value();
    testing::pass(watched, clock, 1ms);
    BOOST_TEST(granted);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
