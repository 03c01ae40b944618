// Hand-written histories, and whether the rules of locks allow them.
#include <cstdint>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "support/linearizability.hpp"

namespace rocklock {
namespace {

using proof::Operation;
using Verb = Operation::Verb;
using Fate = Operation::Result;
using History = std::vector<Operation>;

Operation took(std::uint32_t session, Mode mode, std::uint64_t token, std::int64_t called,
               std::int64_t returned) {
    Operation operation;
    operation.result = Fate::done;
    operation.mode = mode;
    operation.session = session;
    operation.grant = operation.token = token;
    operation.called = called;
    operation.returned = returned;
    return operation;
}

Operation of(Verb verb, Fate result, Operation operation) {
    operation.verb = verb;
    operation.result = result;
    return operation;
}

Operation gave(std::uint32_t session, std::uint64_t grant, std::int64_t called,
               std::int64_t returned) {
    return of(Verb::release, Fate::done, took(session, Mode::write, grant, called, returned));
}

Operation refused(std::uint32_t session, Mode mode, std::int64_t called, std::int64_t returned) {
    return of(Verb::acquire, Fate::refused, took(session, mode, 0, called, returned));
}

Operation waiting(Operation operation) {
    operation.waits = true;
    return operation;
}

Operation converted(std::uint32_t session, Mode mode, std::uint64_t grant, std::uint64_t token,
                    std::int64_t called) {
    Operation operation = took(session, mode, grant, called, called + 1);
    operation.verb = Verb::convert;
    operation.token = token;
    return operation;
}

Operation wrote(Fate result, std::uint32_t session, std::uint64_t grant, std::int64_t called) {
    return of(Verb::write, result, took(session, Mode::write, grant, called, called + 1));
}

bool holds_together(const History& history) {
    const bool found = !find_contradiction(history).has_value();
    // The result does not depend on the order of the records.
    History backwards(history.rbegin(), history.rend());
    BOOST_TEST(found == !find_contradiction(backwards).has_value());
    return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_true_history_is_believed)

BOOST_AUTO_TEST_CASE(sequential_holders) {
    BOOST_TEST(holds_together({took(1, Mode::write, 1, 0, 1), refused(2, Mode::read, 2, 3),
                               gave(1, 1, 4, 5), took(2, Mode::read, 2, 6, 7),
                               took(3, Mode::read, 3, 8, 9)}));
}
BOOST_AUTO_TEST_CASE(a_grant_before_the_reply_to_the_release) {
    BOOST_TEST(holds_together(
        {took(1, Mode::write, 1, 0, 1), gave(1, 1, 2, 9), took(2, Mode::write, 2, 3, 4)}));
}
BOOST_AUTO_TEST_CASE(tokens_in_either_order_when_grants_overlap) {
    BOOST_TEST(holds_together({took(1, Mode::read, 2, 0, 5), took(2, Mode::read, 1, 1, 6)}));
}
BOOST_AUTO_TEST_CASE(a_reader_refused_because_of_a_waiting_writer) {
    BOOST_TEST(holds_together({took(1, Mode::read, 1, 0, 1), waiting(took(2, Mode::write, 2, 2, 9)),
                               refused(3, Mode::read, 4, 5), gave(1, 1, 6, 7)}));
}
BOOST_AUTO_TEST_CASE(a_reader_refused_because_of_a_writer_that_gave_up_concurrently) {
    BOOST_TEST(
        holds_together({took(1, Mode::read, 1, 0, 20),
                        of(Verb::acquire, Fate::withdrawn, waiting(took(2, Mode::write, 0, 2, 9))),
                        refused(3, Mode::read, 3, 30), gave(1, 1, 31, 32)}));
}
BOOST_AUTO_TEST_CASE(refused_for_a_writer_without_a_reply) {
    BOOST_TEST(holds_together({of(Verb::acquire, Fate::open, took(1, Mode::write, 0, 0, 0)),
                               refused(2, Mode::read, 50, 51)}));
}
BOOST_AUTO_TEST_CASE(a_release_without_a_reply_has_happened_or_not) {
    const auto lost = of(Verb::release, Fate::open, took(1, Mode::write, 1, 2, 0));
    BOOST_TEST(holds_together({took(1, Mode::write, 1, 0, 1), lost, refused(2, Mode::write, 3, 4),
                               took(3, Mode::write, 2, 5, 6)}));
}
// An acquire without a reply that can take effect only before the time 4, and a close of its
// session.
BOOST_AUTO_TEST_CASE(refused_for_a_writer_without_a_reply_before_its_session_ended) {
    const auto late = of(Verb::acquire, Fate::open, took(1, Mode::write, 0, 0, 4));
    const auto closed = of(Verb::close, Fate::done, took(1, Mode::write, 0, 2, 4));
    BOOST_TEST(holds_together({late, closed, refused(2, Mode::read, 0, 1)}));
    BOOST_TEST(holds_together({late, closed, refused(2, Mode::read, 3, 5)}));
    BOOST_TEST(holds_together({late, closed, took(2, Mode::write, 1, 5, 6)}));
    BOOST_TEST(!holds_together({late, closed, took(2, Mode::write, 1, 5, 6), gave(2, 1, 7, 8),
                                refused(3, Mode::read, 9, 10)}));
    BOOST_TEST(!holds_together({of(Verb::acquire, Fate::open, took(1, Mode::write, 0, 0, 1)),
                                of(Verb::close, Fate::done, took(1, Mode::write, 0, 2, 4)),
                                refused(2, Mode::read, 5, 6)}));
}
BOOST_AUTO_TEST_CASE(a_downgrade_and_an_upgrade) {
    BOOST_TEST(holds_together({took(1, Mode::exclusive, 1, 0, 1), converted(1, Mode::read, 1, 1, 2),
                               took(2, Mode::read, 2, 4, 5), gave(2, 2, 6, 7),
                               converted(1, Mode::write, 1, 3, 8), refused(2, Mode::read, 10, 11),
                               gave(1, 1, 12, 13)}));
}
BOOST_AUTO_TEST_CASE(a_grant_after_an_expiry) {
    BOOST_TEST(
        holds_together({took(1, Mode::write, 1, 0, 1),
                        of(Verb::expire, Fate::done, took(1, Mode::write, 1, 100, 120)),
                        refused(2, Mode::write, 90, 95), took(2, Mode::write, 2, 105, 106)}));
}

BOOST_AUTO_TEST_CASE(written_with_the_lock_and_refused_after_it) {
    BOOST_TEST(holds_together({took(1, Mode::write, 1, 0, 1), wrote(Fate::done, 1, 1, 2),
                               gave(1, 1, 4, 5), wrote(Fate::not_held, 1, 1, 6)}));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_false_history_is_refused)

BOOST_AUTO_TEST_CASE(two_writers_at_once) {
    BOOST_TEST(!holds_together({took(1, Mode::write, 1, 0, 1), took(2, Mode::write, 2, 2, 3)}));
}
BOOST_AUTO_TEST_CASE(two_writers_whose_calls_overlap) {
    BOOST_TEST(!holds_together({took(1, Mode::write, 1, 0, 5), took(2, Mode::write, 2, 1, 6)}));
}
BOOST_AUTO_TEST_CASE(a_token_that_falls) {
    const History history{took(1, Mode::write, 2, 0, 1), gave(1, 2, 2, 3),
                          took(2, Mode::write, 1, 4, 5)};
    BOOST_TEST(!holds_together(history));
    BOOST_TEST(proof::find_token_disorder(history).has_value());
}
BOOST_AUTO_TEST_CASE(a_token_given_twice) {
    Operation elsewhere = took(2, Mode::write, 1, 4, 5);
    elsewhere.resource = 1;
    BOOST_TEST(
        proof::find_token_disorder(History{took(1, Mode::write, 1, 0, 1), elsewhere}).has_value());
}
BOOST_AUTO_TEST_CASE(a_reader_during_a_write) {
    BOOST_TEST(!holds_together(
        {took(1, Mode::write, 1, 0, 1), took(2, Mode::read, 2, 2, 3), gave(1, 1, 4, 5)}));
}
BOOST_AUTO_TEST_CASE(a_refusal_of_a_free_resource) {
    BOOST_TEST(!holds_together(
        {took(1, Mode::write, 1, 0, 1), gave(1, 1, 2, 3), refused(2, Mode::write, 4, 5)}));
}
BOOST_AUTO_TEST_CASE(a_reader_refused_because_of_readers) {
    BOOST_TEST(!holds_together({took(1, Mode::read, 1, 0, 1), refused(2, Mode::read, 2, 3)}));
}
BOOST_AUTO_TEST_CASE(a_refusal_because_of_a_waiter_without_a_blocker) {
    BOOST_TEST(
        !holds_together({of(Verb::acquire, Fate::withdrawn, waiting(took(1, Mode::write, 0, 0, 9))),
                         refused(2, Mode::read, 2, 3)}));
}
BOOST_AUTO_TEST_CASE(a_refusal_because_of_a_writer_that_had_already_given_up) {
    BOOST_TEST(!holds_together(
        {of(Verb::acquire, Fate::withdrawn, waiting(took(2, Mode::write, 0, 2, 9))),
         took(1, Mode::read, 1, 10, 20), refused(3, Mode::read, 3, 30), gave(1, 1, 31, 32)}));
}
BOOST_AUTO_TEST_CASE(a_timeout_on_a_free_resource) {
    BOOST_TEST(!holds_together({took(1, Mode::write, 1, 0, 1), gave(1, 1, 2, 3),
                                waiting(refused(2, Mode::write, 4, 900))}));
}
BOOST_AUTO_TEST_CASE(a_release_of_the_grant_of_another_session) {
    BOOST_TEST(!holds_together({took(1, Mode::write, 1, 0, 1), gave(2, 1, 2, 3)}));
}
BOOST_AUTO_TEST_CASE(a_release_of_another_that_lets_a_third_in) {
    BOOST_TEST(!holds_together({took(1, Mode::write, 1, 0, 1),
                                of(Verb::release, Fate::not_held, took(2, Mode::write, 1, 2, 3)),
                                took(3, Mode::write, 2, 4, 5)}));
}
BOOST_AUTO_TEST_CASE(released_twice) {
    BOOST_TEST(
        !holds_together({took(1, Mode::write, 1, 0, 1), gave(1, 1, 2, 3), gave(1, 1, 4, 5)}));
}
BOOST_AUTO_TEST_CASE(expired_too_early) {
    BOOST_TEST(!holds_together({took(1, Mode::write, 1, 0, 1), took(2, Mode::write, 2, 90, 95),
                                of(Verb::expire, Fate::done, took(1, Mode::write, 1, 100, 120))}));
}
BOOST_AUTO_TEST_CASE(an_upgrade_while_another_reads) {
    BOOST_TEST(!holds_together({took(1, Mode::read, 1, 0, 1), took(2, Mode::read, 2, 2, 3),
                                converted(1, Mode::write, 1, 3, 4), gave(2, 2, 6, 7)}));
}
BOOST_AUTO_TEST_CASE(an_upgrade_with_the_old_token) {
    BOOST_TEST(!holds_together({took(1, Mode::read, 1, 0, 1), converted(1, Mode::write, 1, 1, 2)}));
}
BOOST_AUTO_TEST_CASE(a_reader_refused_after_a_downgrade_to_read) {
    BOOST_TEST(!holds_together({took(1, Mode::write, 1, 0, 1), converted(1, Mode::read, 1, 1, 2),
                                refused(2, Mode::read, 4, 5)}));
}
BOOST_AUTO_TEST_CASE(written_after_the_release) {
    BOOST_TEST(!holds_together(
        {took(1, Mode::write, 1, 0, 1), gave(1, 1, 2, 3), wrote(Fate::done, 1, 1, 4)}));
}
BOOST_AUTO_TEST_CASE(write_refused_to_the_holder) {
    BOOST_TEST(!holds_together({took(1, Mode::write, 1, 0, 1), wrote(Fate::not_held, 1, 1, 2)}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
