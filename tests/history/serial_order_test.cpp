// Hand-written histories: the checker must accept the correct ones and reject the others.
#include "history/serial_order.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace rocklock::proof {

namespace {

using Verdict = Explanation::Verdict;

// Operation n lasts from 10 * n to 10 * n + 1. Operations therefore do not overlap, unless at()
// moves them.
TableOperation operation(std::uint64_t number, std::vector<Touch> touches) {
    TableOperation made;
    made.number = number;
    made.called = static_cast<std::int64_t>(10 * number);
    made.returned = made.called + 1;
    made.touches = std::move(touches);
    return made;
}

TableOperation at(std::int64_t called, std::int64_t returned, TableOperation operation) {
    operation.called = called;
    operation.returned = returned;
    return operation;
}

// Can take effect at any time that the other operations allow.
TableOperation any_time(TableOperation operation) { return at(0, 1'000, std::move(operation)); }

TableOperation lost(TableOperation operation) {
    operation.open = true;
    return operation;
}

Touch saw(std::uint32_t key, Trail trail) { return {key, Effect::none, std::move(trail)}; }
Touch put(std::uint32_t key, std::optional<Trail> over) {
    return {key, Effect::put, std::move(over)};
}
Touch update(std::uint32_t key, std::optional<Trail> over) {
    return {key, Effect::update, std::move(over)};
}
Touch removal(std::uint32_t key, std::optional<Trail> over) {
    return {key, Effect::remove, std::move(over)};
}
Touch provided(Touch touch, std::uint64_t number) {
    touch.demand = {number == 0 ? Demand::Kind::absent : Demand::Kind::equals, number};
    return touch;
}
Touch check(std::uint32_t key, std::uint64_t number) {
    return provided({key, Effect::none}, number);
}
Touch refused(Touch touch) {
    touch.met = false;
    touch.effect = Effect::none;
    return touch;
}

Verdict verdict(const TableHistory& history) {
    const Explanation found = explain(history);
    // The result must not depend on the order of the list.
    const TableHistory backwards(history.rbegin(), history.rend());
    BOOST_TEST((explain(backwards).verdict == found.verdict));
    BOOST_TEST_INFO(found.text);
    return found.verdict;
}

bool believed(const TableHistory& history) { return verdict(history) == Verdict::explained; }
bool disproved(const TableHistory& history) { return verdict(history) == Verdict::contradicted; }

}  // namespace

BOOST_AUTO_TEST_SUITE(a_true_history_of_tables_is_believed)

BOOST_AUTO_TEST_CASE(an_empty_history) { BOOST_TEST(believed({})); }
BOOST_AUTO_TEST_CASE(sequential_operations) {
    BOOST_TEST(believed({operation(1, {put(0, Trail{})}), operation(2, {update(0, Trail{1})}),
                         operation(3, {saw(0, {1, 2})}), operation(4, {put(0, Trail{1, 2})}),
                         operation(5, {removal(0, Trail{4})}), operation(6, {saw(0, {})})}));
}
BOOST_AUTO_TEST_CASE(read_before_the_reply_to_the_write) {
    BOOST_TEST(
        believed({at(0, 9, operation(1, {put(0, Trail{})})), at(2, 3, operation(2, {saw(0, {1})})),
                  at(1, 2, operation(3, {saw(0, {})}))}));
}
BOOST_AUTO_TEST_CASE(updates_that_found_their_order) {
    BOOST_TEST(believed({any_time(operation(1, {update(0, std::nullopt)})),
                         any_time(operation(2, {update(0, std::nullopt)})),
                         any_time(operation(3, {update(0, std::nullopt)})),
                         any_time(operation(4, {saw(0, {3, 1, 2})}))}));
}
BOOST_AUTO_TEST_CASE(a_transaction_and_reads_of_all_or_none_of_it) {
    BOOST_TEST(believed({any_time(operation(1, {put(0, Trail{}), put(1, Trail{})})),
                         any_time(operation(2, {saw(0, {1}), saw(1, {1})})),
                         any_time(operation(3, {saw(0, {}), saw(1, {})}))}));
}
BOOST_AUTO_TEST_CASE(concurrent_creations_and_removals) {
    TableHistory history;
    for (std::uint64_t pair = 0; pair < 6; ++pair) {
        history.push_back(any_time(operation(2 * pair + 1, {put(0, Trail{})})));
        history.push_back(any_time(operation(2 * pair + 2, {removal(0, Trail{2 * pair + 1})})));
        history.push_back(any_time(operation(100 + pair, {saw(0, {})})));
    }
    BOOST_TEST(believed(history));
}
BOOST_AUTO_TEST_CASE(an_absence_ordered_by_another_item) {
    BOOST_TEST(believed({any_time(operation(1, {put(0, Trail{}), put(1, Trail{})})),
                         any_time(operation(2, {removal(0, Trail{1}), put(1, Trail{1})})),
                         any_time(operation(3, {put(0, Trail{}), put(1, Trail{2})})),
                         any_time(operation(4, {saw(0, {}), saw(1, {2})})),
                         any_time(operation(5, {saw(0, {}), saw(1, {})}))}));
}
BOOST_AUTO_TEST_CASE(a_write_without_a_reply_has_happened_or_not) {
    const auto write = lost(at(20, 30, operation(2, {put(0, std::nullopt)})));
    BOOST_TEST(believed({operation(1, {put(0, Trail{})}), write, operation(4, {saw(0, {2})})}));
    BOOST_TEST(believed({operation(1, {put(0, Trail{})}), write, operation(4, {saw(0, {1})})}));
}
// Each read returned after the put, but precedes it in the serial order.
BOOST_AUTO_TEST_CASE(many_saw_no_item_before_a_put_without_a_reply_replaced_another) {
    TableHistory history = {at(0, 50, operation(1, {put(0, Trail{})})),
                            lost(at(60, 90, operation(2, {put(0, std::nullopt)}))),
                            operation(100, {saw(0, {2})})};
    for (std::uint64_t read = 10; read < 30; ++read) {
        history.push_back(at(0, 51, operation(read, {saw(0, {})})));
    }
    BOOST_TEST(believed(history));
}
BOOST_AUTO_TEST_CASE(a_removal_without_a_reply_has_happened_or_not) {
    const auto gone = lost(at(20, 30, operation(2, {provided(removal(0, std::nullopt), 1)})));
    BOOST_TEST(believed({operation(1, {put(0, Trail{})}), gone, operation(4, {saw(0, {})})}));
    BOOST_TEST(believed({operation(1, {put(0, Trail{})}), gone, operation(4, {saw(0, {1})})}));
    BOOST_TEST(believed({operation(1, {put(0, Trail{})}), gone, operation(4, {put(0, Trail{})}),
                         operation(5, {saw(0, {4})})}));
}
BOOST_AUTO_TEST_CASE(some_of_many_removals_without_a_reply_have_happened) {
    TableHistory history;
    for (std::uint32_t key = 0; key < 12; ++key) {
        const std::uint64_t made = 10 + key;
        history.push_back(operation(made, {put(key, Trail{})}));
        history.push_back(
            lost(at(300, 350, operation(30 + key, {provided(removal(key, std::nullopt), made)}))));
        // For every third item, no operation reads the result.
        if (key % 3 == 0) continue;
        history.push_back(operation(50 + key, {saw(key, key % 3 == 1 ? Trail{} : Trail{made})}));
    }
    BOOST_TEST(believed(history));
}
BOOST_AUTO_TEST_CASE(a_condition_that_failed_saw_why) {
    BOOST_TEST(believed({operation(1, {put(0, Trail{})}), operation(2, {update(0, Trail{1})}),
                         operation(3, {refused(provided(saw(0, {1, 2}), 1))})}));
}
BOOST_AUTO_TEST_CASE(an_attempt_that_was_refused_before_the_one_that_was_not) {
    TableOperation attempt = at(0, 50, operation(4, {refused(provided(saw(0, {}), 1))}));
    attempt.attempt_of = 2;
    BOOST_TEST(believed({operation(1, {put(0, Trail{})}),
                         at(0, 40, operation(2, {provided(update(0, std::nullopt), 1)})), attempt,
                         operation(5, {saw(0, {1, 2})})}));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_false_history_of_tables_is_refused)

BOOST_AUTO_TEST_CASE(a_lost_update) {
    BOOST_TEST(disproved({operation(1, {put(0, Trail{})}),
                          any_time(operation(2, {provided(put(0, std::nullopt), 1)})),
                          any_time(operation(3, {provided(put(0, std::nullopt), 1)}))}));
}
BOOST_AUTO_TEST_CASE(a_lost_creation) {
    BOOST_TEST(disproved(
        {any_time(operation(1, {put(0, Trail{})})), any_time(operation(2, {put(0, Trail{})}))}));
}
BOOST_AUTO_TEST_CASE(an_update_that_disappeared) {
    BOOST_TEST(disproved({any_time(operation(1, {update(0, Trail{})})),
                          any_time(operation(2, {update(0, Trail{1})})),
                          at(2'000, 2'001, operation(3, {saw(0, {1})}))}));
}
BOOST_AUTO_TEST_CASE(write_skew) {
    BOOST_TEST(disproved({operation(1, {put(0, Trail{}), put(1, Trail{})}),
                          any_time(operation(2, {check(0, 1), provided(put(1, {}), 1)})),
                          any_time(operation(3, {check(1, 1), provided(put(0, {}), 1)}))}));
}
BOOST_AUTO_TEST_CASE(a_stale_read) {
    BOOST_TEST(disproved({operation(1, {put(0, Trail{})}), operation(2, {put(0, Trail{1})}),
                          operation(3, {saw(0, {1})})}));
}
BOOST_AUTO_TEST_CASE(a_stale_absence) {
    BOOST_TEST(disproved({operation(1, {put(0, Trail{})}), operation(2, {removal(0, Trail{1})}),
                          operation(3, {put(0, Trail{})}), operation(4, {saw(0, {})})}));
}
BOOST_AUTO_TEST_CASE(a_read_of_a_later_write) {
    BOOST_TEST(disproved({operation(2, {put(0, Trail{})}), at(0, 1, operation(1, {saw(0, {2})}))}));
}
BOOST_AUTO_TEST_CASE(a_torn_transaction) {
    BOOST_TEST(disproved({operation(1, {put(0, Trail{}), put(1, Trail{})}),
                          any_time(operation(2, {put(0, Trail{1}), put(1, Trail{1})})),
                          any_time(operation(3, {saw(0, {1}), saw(1, {2})}))}));
}
BOOST_AUTO_TEST_CASE(a_torn_transaction_seen_by_two_reads) {
    BOOST_TEST(disproved({any_time(operation(1, {put(0, Trail{}), put(1, Trail{})})),
                          at(10, 11, operation(2, {saw(0, {1})})),
                          at(12, 13, operation(3, {saw(1, {})}))}));
}
BOOST_AUTO_TEST_CASE(half_of_a_transaction_without_a_reply) {
    BOOST_TEST(
        disproved({lost(at(0, 5, operation(1, {put(0, std::nullopt), put(1, std::nullopt)}))),
                   operation(2, {saw(0, {1}), saw(1, {})})}));
}
BOOST_AUTO_TEST_CASE(states_that_two_readers_saw_in_different_orders) {
    BOOST_TEST(disproved({any_time(operation(1, {put(0, Trail{})})),
                          any_time(operation(2, {put(1, Trail{})})),
                          any_time(operation(3, {saw(0, {1}), saw(1, {})})),
                          any_time(operation(4, {saw(0, {}), saw(1, {2})}))}));
}
BOOST_AUTO_TEST_CASE(times_that_are_against_the_order) {
    // Serialisable, but not in an order that agrees with the times.
    BOOST_TEST(disproved({operation(1, {put(0, Trail{})}), operation(2, {put(1, Trail{})}),
                          any_time(operation(3, {saw(0, {}), saw(1, {2})}))}));
}
BOOST_AUTO_TEST_CASE(a_value_that_was_written_twice) {
    BOOST_TEST(disproved({any_time(operation(1, {update(0, std::nullopt)})),
                          any_time(operation(2, {update(0, std::nullopt)})),
                          operation(3, {saw(0, {1, 2, 1})})}));
}
BOOST_AUTO_TEST_CASE(a_refusal_after_the_success_of_the_same_token) {
    TableOperation attempt = operation(3, {refused(provided(saw(0, {1, 2}), 1))});
    attempt.attempt_of = 2;
    BOOST_TEST(disproved({operation(1, {put(0, Trail{})}),
                          operation(2, {provided(update(0, std::nullopt), 1)}), attempt}));
}
BOOST_AUTO_TEST_CASE(a_value_that_was_never_written) {
    BOOST_TEST(disproved({operation(1, {saw(0, {7})})}));
    // The same if that operation was refused.
    BOOST_TEST(
        disproved({operation(1, {refused(provided(saw(0, {}), 5))}), operation(2, {saw(0, {1})})}));
}
BOOST_AUTO_TEST_CASE(a_condition_answered_wrongly) {
    BOOST_TEST(disproved(
        {operation(1, {put(0, Trail{})}), operation(2, {refused(provided(saw(0, {1}), 1))})}));
    BOOST_TEST(disproved(
        {operation(1, {put(0, Trail{})}), operation(2, {provided(put(0, Trail{1}), 0)})}));
}
BOOST_AUTO_TEST_CASE(an_item_that_is_missing_without_a_delete) {
    BOOST_TEST(disproved({operation(1, {put(0, Trail{})}), operation(2, {saw(0, {})})}));
    // A later removal does not explain it.
    BOOST_TEST(disproved({operation(1, {put(0, Trail{})}), operation(2, {saw(0, {})}),
                          operation(3, {removal(0, Trail{1})})}));
}
BOOST_AUTO_TEST_CASE(an_item_that_reappears_after_its_removal) {
    BOOST_TEST(disproved({operation(1, {put(0, Trail{})}),
                          lost(at(20, 30, operation(2, {provided(removal(0, {}), 1)}))),
                          operation(4, {saw(0, {})}), operation(5, {saw(0, {1})})}));
}
BOOST_AUTO_TEST_CASE(contradictory_absences) {
    // At no time between the two creations, one item is absent while the other one exists.
    BOOST_TEST(disproved({any_time(operation(1, {put(0, Trail{}), put(1, Trail{})})),
                          any_time(operation(2, {removal(0, Trail{1}), removal(1, Trail{1})})),
                          any_time(operation(3, {saw(0, {}), saw(1, {1})}))}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
