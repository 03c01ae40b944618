// The state after a restart, including interrupted operations.
#include <boost/test/unit_test.hpp>

#include <rocklock/testing/faulty_storage.hpp>

#include "base/bytes.hpp"
#include "support/temporary_directory.hpp"
#include "table/make.hpp"
#include "table/schema/layout.hpp"

namespace rocklock::proof {

BOOST_AUTO_TEST_SUITE(table)
BOOST_AUTO_TEST_SUITE(a_restart)

BOOST_AUTO_TEST_CASE(finds_tables_and_items_on_the_disk, *boost::unit_test::label("rocksdb")) {
    testing::TemporaryDirectory directory;
    testing::SimulatedClock clock;
    TableDescription made;
    {
        const auto storage = open_rocksdb_storage(directory / "store", clock).value();
        const auto service = open_tables(*storage, clock).value();
        auto wanted = table_of("orders", "pk S", "sk N");
        add_index(wanted, "gidx", "g B");
        wanted.tags = {{"team", "billing"}};
        made = service->create_table(wanted).value();
        service->write_item(put("orders", {{"pk", "a"}, {"sk", number(1)}, {"v", "x"}})).value();
    }
    const auto storage = open_rocksdb_storage(directory / "store", clock).value();
    const auto service = open_tables(*storage, clock).value();
    const auto found = service->describe_table("orders").value();
    BOOST_TEST(found.id == made.id);
    BOOST_TEST((found.created_at == made.created_at));
    BOOST_TEST((found.attributes == made.attributes));
    BOOST_TEST((found.key == made.key));
    BOOST_TEST(found.global_indexes.size() == 1U);
    BOOST_TEST((found.global_indexes.at(0).key == made.global_indexes.at(0).key));
    const auto item = service->get_item(get("orders", {{"pk", "a"}, {"sk", number(1)}})).value();
    BOOST_TEST((*item.item == Item{{"pk", "a"}, {"sk", number(1)}, {"v", "x"}}));
}

BOOST_FIXTURE_TEST_CASE(removes_the_rows_of_a_deleted_table, Tables) {
    service->create_table(table_of("orders", "pk S")).value();
    service->create_table(table_of("kept", "pk S")).value();
    for (int i = 0; i < 10; ++i) {
        service->write_item(put("orders", {{"pk", std::to_string(i)}})).value();
    }
    service->write_item(put("kept", {{"pk", "a"}})).value();
    // Simulates a process that ended between the two steps of a deletion.
    const auto record =
        storage->get(Family::meta, rocklock::table::table_record_key("orders")).value();
    const auto schema = rocklock::table::decode_schema("orders", *record).value();
    Batch batch;
    batch.writes.push_back(
        {Family::meta, rocklock::table::table_record_key("orders"), std::nullopt});
    batch.writes.push_back(
        {Family::meta, rocklock::table::pending_deletion_key(schema.number, 0), *record});
    storage->commit(std::move(batch)).value();
    reopen();
    BOOST_TEST(rows(Family::items) == 1U);
    BOOST_TEST(!storage->get(Family::meta, rocklock::table::pending_deletion_key(schema.number, 0))
                    .value());
    BOOST_TEST(service->list_tables({}).value().names.size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(completes_an_unfinished_index, Tables) {
    auto wanted = table_of("orders", "pk S");
    add_index(wanted, "gidx", "g S");
    service->create_table(wanted).value();
    for (int i = 0; i < 10; ++i) {
        service->write_item(put("orders", {{"pk", std::to_string(i)}, {"g", "x"}})).value();
    }
    // Simulates an interruption while the index was filled.
    const auto key = rocklock::table::table_record_key("orders");
    auto schema =
        rocklock::table::decode_schema("orders", *storage->get(Family::meta, key).value()).value();
    schema.indexes.at(0).status = IndexStatus::creating;
    Batch batch;
    batch.writes.push_back({Family::meta, key, rocklock::table::encode_schema(schema)});
    const auto snapshot = storage->snapshot();
    for (auto at = snapshot->scan(Family::index, "", ""); at->valid(); at->next()) {
        batch.writes.push_back({Family::index, std::string(at->key()), std::nullopt});
    }
    storage->commit(std::move(batch)).value();
    BOOST_TEST(rows(Family::index) == 0U);
    reopen();
    BOOST_TEST(rows(Family::index) == 10U);
    const auto description = service->describe_table("orders").value();
    BOOST_TEST((description.global_indexes.at(0).status == IndexStatus::active));
}

BOOST_AUTO_TEST_CASE(repeats_no_version_after_the_store_was_restored) {
    testing::SimulatedClock clock;
    testing::FaultyStorage storage(clock);
    auto service = open_tables(storage, clock).value();
    service->create_table(table_of("orders", "pk S")).value();
    const auto before = service->write_item(put("orders", {{"pk", "a"}})).value().version;
    // A copy from an earlier time contains an older mark.
    Batch batch;
    std::string mark;
    append_u64(mark, 1);
    batch.writes.push_back({Family::meta, std::string(rocklock::table::versions_key), mark});
    storage.commit(std::move(batch)).value();
    clock.advance(std::chrono::seconds(1));
    service = open_tables(storage, clock).value();
    BOOST_TEST(service->write_item(put("orders", {{"pk", "a"}})).value().version > before);
}

BOOST_FIXTURE_TEST_CASE(finds_a_damaged_definition, Tables) {
    service->create_table(table_of("orders", "pk S")).value();
    Batch batch;
    const auto key = rocklock::table::table_record_key("orders");
    batch.writes.push_back(
        {Family::meta, key, rocklock::table::encode_stored(7, {{"number", "x"}})});
    storage->commit(std::move(batch)).value();
    const auto opened = open_tables(*storage, clock);
    BOOST_TEST((opened.error().code == ErrorCode::corrupt));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_write_that_could_not_be_stored)

BOOST_AUTO_TEST_CASE(is_an_error_and_all_after_it_are) {
    testing::SimulatedClock clock;
    testing::FaultyStorage storage(clock);
    const auto service = open_tables(storage, clock).value();
    service->create_table(table_of("orders", "pk S")).value();
    service->write_item(put("orders", {{"pk", "a"}, {"n", number(1)}})).value();
    storage.fail_nth(testing::FaultyStorage::Call::sync, 1);
    auto failed = service->write_item(put("orders", {{"pk", "a"}, {"n", number(2)}}));
    BOOST_TEST((failed.error().code == ErrorCode::io_error));
    failed = service->write_item(put("orders", {{"pk", "b"}}));
    BOOST_TEST((failed.error().code == ErrorCode::io_error));
    // After a power failure the acknowledged write is still there.
    const auto after = storage.reopen_after_power_cut();
    const auto reopened = open_tables(*after, clock).value();
    const auto item = reopened->get_item(get("orders", {{"pk", "a"}})).value().item;
    BOOST_TEST((item == Item{{"pk", "a"}, {"n", number(1)}}));
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
