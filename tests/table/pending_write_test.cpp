// Writes that are begun by one call and finished by another.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "table/make.hpp"

namespace rocklock::table {
namespace {

using proof::error_of;
using proof::get;
using proof::put;
using proof::Tables;

struct Things : Tables {
    Things() { service->create_table(proof::table_of("things", "id S")).value(); }
    std::int64_t count() const {
        return static_cast<std::int64_t>(service->describe_table("things").value().item_count);
    }
    std::string text_of(const std::string& id) const {
        const auto answer = service->get_item(get("things", {{"id", id}})).value();
        return answer.item ? *answer.item->find("t")->get_if<std::string>() : "none";
    }
};

Item thing(std::string id, std::string text) {
    return {{"id", std::move(id)}, {"t", std::move(text)}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_pending_write, *boost::unit_test::label("unconfirmed"))

BOOST_FIXTURE_TEST_CASE(is_committed_after_finish, Things) {
    const auto pending = service->begin_write(put("things", thing("1", "new")));
    BOOST_TEST_REQUIRE(pending != nullptr);
    const auto answer = pending->finish();
    BOOST_TEST_REQUIRE(answer.has_value());
    BOOST_TEST_REQUIRE(error_of(*answer) == "");
    const auto got = service->get_item(get("things", {{"id", "1"}})).value();
    BOOST_TEST(got.version == (*answer)->version);
    BOOST_TEST(text_of("1") == "new");
    BOOST_TEST(count() == 1);
}

BOOST_FIXTURE_TEST_CASE(is_committed_together_with_others, Things) {
    std::vector<std::unique_ptr<PendingWrite>> all;
    for (int i = 0; i < 10; ++i) {
        all.push_back(service->begin_write(put("things", thing(std::to_string(i), "x"))));
        BOOST_TEST_REQUIRE(all.back() != nullptr);
    }
    for (const auto& pending : all) {
        const auto answer = pending->finish();
        BOOST_TEST((answer && *answer));
    }
    BOOST_TEST(count() == 10);
}

BOOST_FIXTURE_TEST_CASE(is_refused_if_another_write_came_first, Things) {
    const auto first = service->begin_write(put("things", thing("1", "first")));
    const auto second = service->begin_write(put("things", thing("1", "second")));
    BOOST_TEST_REQUIRE((first && second));
    BOOST_TEST(first->finish().has_value());
    BOOST_TEST(!second->finish());
    BOOST_TEST(text_of("1") == "first");
    BOOST_TEST(count() == 1);
}

BOOST_FIXTURE_TEST_CASE(is_decided_again_by_write, Things) {
    const WriteItem small = put("things", thing("1", "second"));
    const auto first = service->begin_write(put("things", thing("1", "first")));
    const auto second = service->begin_write(small);
    BOOST_TEST_REQUIRE((first && second));
    BOOST_TEST(first->finish().has_value());
    BOOST_TEST(!second->finish());
    BOOST_TEST(error_of(second->write()) == "");
    BOOST_TEST(text_of("1") == "second");

    service->write_item(put("things", thing("big", std::string(20'000, 'b')))).value();
    const WriteItem large = put("things", thing("big", "small"));
    const auto third = service->begin_write(large);
    BOOST_TEST_REQUIRE((third && !third->is_queued()));
    BOOST_TEST(!third->finish());
    BOOST_TEST(error_of(third->write()) == "");
    BOOST_TEST(text_of("big") == "small");
    BOOST_TEST(count() == 2);
}

BOOST_FIXTURE_TEST_CASE(reports_an_error, Things) {
    service->write_item(put("things", thing("1", "old"))).value();
    const auto pending = service->begin_write(
        proof::provided(put("things", thing("1", "new")), "attribute_not_exists(id)"));
    BOOST_TEST_REQUIRE(pending != nullptr);
    const auto answer = pending->finish();
    BOOST_TEST_REQUIRE(answer.has_value());
    BOOST_TEST(error_of(*answer) == "condition_failed: The conditional request failed");
    BOOST_TEST(text_of("1") == "old");
}

BOOST_FIXTURE_TEST_CASE(is_committed_and_counted_if_it_is_not_finished, Things) {
    service->begin_write(put("things", thing("1", "new"))).reset();
    BOOST_TEST(text_of("1") == "new");
    BOOST_TEST(count() == 1);
    reopen();
    BOOST_TEST(count() == 1);
    BOOST_TEST(service->sweep_expired({}).value().examined == 0U);
}

BOOST_FIXTURE_TEST_CASE(succeeds_although_the_service_is_closed_meanwhile, Things) {
    const auto pending = service->begin_write(put("things", thing("1", "new")));
    BOOST_TEST_REQUIRE(pending != nullptr);
    BOOST_TEST(error_of(service->close()) == "");
    BOOST_TEST(pending->finish().has_value());
    BOOST_TEST(!service->begin_write(put("things", thing("2", "x")))->is_queued());
    reopen();
    BOOST_TEST(count() == 1);
}

// begin_write() returns null if the write would take longer or is invalid.
BOOST_FIXTURE_TEST_CASE(is_not_queued_if_it_may_wait, Things) {
    BOOST_TEST(!service->begin_write(put("nothing", thing("1", "x")))->is_queued());
    BOOST_TEST(!service->begin_write(put("things", {{"t", "x"}}))->is_queued());
    WriteItem proven = put("things", thing("1", "x"));
    proven.proof = LockProof{};
    BOOST_TEST(service->begin_write(proven) == nullptr);
    service->write_item(put("things", thing("big", std::string(20'000, 'b')))).value();
    BOOST_TEST(!service->begin_write(put("things", thing("big", "x")))->is_queued());
    service->bind_table({"things", "things/{id}", false}).value();
    BOOST_TEST(!service->begin_write(put("things", thing("1", "x")))->is_queued());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::table
