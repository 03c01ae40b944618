// The requests and answers of tables as frames: what is written is read again.
#include "wire/table_frame.hpp"

#include <random>
#include <string>
#include <utility>
#include <variant>

#include <boost/test/unit_test.hpp>

#include "wire/random_members.hpp"
#include "wire/table_members.hpp"

namespace rocklock::testing {
BOOST_AUTO_TEST_SUITE(a_table_frame)

namespace {

constexpr int rounds = 40;

TableFrame random_frame(TableRequest empty, std::mt19937_64& random, bool full) {
    TableFrame frame{std::move(empty), {}};
    RandomMembers members(random, full);
    std::visit([&](auto& request) { describe(members, request); }, frame.request);
    members.optional("Sessions", frame.sessions);
    BOOST_TEST_REQUIRE(!members.duplicate());
    return frame;
}

// Returns a frame of the same operation, of which a write may have another kind.
TableRequest empty_of(const TableRequest& request) {
    return table_request_named(operation_name(request)).value();
}

}  // namespace

BOOST_AUTO_TEST_CASE(is_read_as_it_was_written) {
    std::mt19937_64 random(20261125);
    for (int round = 0; round < rounds; ++round) {
        for_each_type<TableRequest>([&](const auto& empty) {
            const auto frame = random_frame(empty, random, round == 0);
            const auto body = write_table_frame(frame);
            const auto read = read_table_frame(empty_of(frame.request), body);
            BOOST_TEST_REQUIRE(read.has_value(), (read ? "" : read.error().message));
            BOOST_TEST((write_table_frame(*read) == body), operation_name(frame.request));
        });
    }
}

// Every member differs from its default, so the sizes show that none is omitted.
BOOST_AUTO_TEST_CASE(contains_the_members_of_a_write) {
    WriteItem write;
    write.kind = WriteItem::Kind::update;
    write.table = "orders";
    write.item = AttributeMap{{"id", "1"}};
    write.expressions.update = "SET a = :a";
    write.expressions.placeholders.names.emplace();
    write.return_values = ReturnValues::updated_new;
    write.return_item_on_failure = true;
    write.proof = LockProof{{}, Token{7}, 1000};
    write.expected_version = 0;
    write.by = "ann";
    write.after = AfterSave::downgrade;
    write.from_draft = DraftId{3};
    const auto body = write_table_frame({TypedWrite{write}, {}});
    const auto frame = read_table_frame(*table_request_named("UpdateItem"), body).value();
    const auto& read = std::get<TypedWrite>(frame.request).write;
    BOOST_TEST((read.kind == WriteItem::Kind::update));
    BOOST_TEST(read.table == "orders");
    BOOST_TEST((read.item == write.item));
    BOOST_TEST(*read.expressions.update == "SET a = :a");
    // An empty list is an error of the request, and is not an absent one.
    BOOST_TEST_REQUIRE(read.expressions.placeholders.names.has_value());
    BOOST_TEST(read.expressions.placeholders.names->empty());
    BOOST_TEST(!read.expressions.placeholders.values.has_value());
    BOOST_TEST((read.return_values == ReturnValues::updated_new));
    BOOST_TEST(read.return_item_on_failure);
    BOOST_TEST((read.proof->token == Token{7}));
    // Only the server knows the user.
    BOOST_TEST(!read.proof->user.has_value());
    BOOST_TEST(read.expected_version.value() == 0U);
    BOOST_TEST(read.by == "ann");
    BOOST_TEST((read.after == AfterSave::downgrade));
    BOOST_TEST((read.from_draft == DraftId{3}));
}

BOOST_AUTO_TEST_CASE(is_answered_by_a_reply_that_is_read_as_it_was_written) {
    std::mt19937_64 random(20261126);
    for (int round = 0; round < rounds; ++round) {
        for_each_type<TableRequest>([&](const auto& request) {
            TableReplyTo<std::decay_t<decltype(request)>> answer{};
            RandomMembers members(random, round == 0);
            describe(members, answer);
            TableFrameReply reply{std::move(answer), {}};
            members.optional("Released", reply.released);
            BOOST_TEST_REQUIRE(!members.duplicate());
            const auto body = write_table_reply(reply);
            const auto read = read_table_reply(request, body);
            BOOST_TEST_REQUIRE(read.has_value(), (read ? "" : read.error().message));
            BOOST_TEST((write_table_reply(*read) == body), operation_name(request));
        });
    }
}

BOOST_AUTO_TEST_CASE(is_answered_by_an_error_with_all_of_its_facts) {
    Error error(ErrorCode::transaction_cancelled, "cancelled");
    error.drafts = 2;
    error.item = std::make_shared<const AttributeMap>(AttributeMap{{"id", "1"}});
    error.item_version = 9;
    error.last_write = LastWrite{"bob", WallTime{std::chrono::milliseconds{5}}};
    error.changes.push_back({"orders", error.item, true, error.last_write});
    error.reasons.resize(2);
    error.reasons[1].code = ErrorCode::stale_token;
    error.reasons[1].message = "late";
    error.reasons[1].ended = Ending{Outcome::stolen, "bob", "urgent", {}};
    error.reasons[1].blockers.resize(1);
    error.reasons[1].blockers[0].principal = "bob";
    const auto read = read_table_refusal(write_table_refusal(error));
    BOOST_TEST((read.code == ErrorCode::transaction_cancelled));
    BOOST_TEST(read.message == "cancelled");
    BOOST_TEST(read.drafts == 2U);
    BOOST_TEST((*read.item == *error.item));
    BOOST_TEST(read.item_version == 9U);
    BOOST_TEST((read.last_write == error.last_write));
    BOOST_TEST_REQUIRE(read.changes.size() == 1U);
    BOOST_TEST(read.changes[0].gone);
    BOOST_TEST((*read.changes[0].key == *error.item));
    BOOST_TEST_REQUIRE(read.reasons.size() == 2U);
    BOOST_TEST(!read.reasons[0].code.has_value());
    BOOST_TEST((read.reasons[1].code == ErrorCode::stale_token));
    BOOST_TEST((read.reasons[1].ended->outcome == Outcome::stolen));
    BOOST_TEST(read.reasons[1].blockers.at(0).principal == "bob");
}

BOOST_AUTO_TEST_CASE(is_refused_if_it_is_damaged_or_newer) {
    std::mt19937_64 random(20261127);
    const auto frame = random_frame(Query{}, random, true);
    const auto body = write_table_frame(frame);
    BOOST_TEST((read_table_frame(Query{}, "").error().code == ErrorCode::invalid_argument));
    BOOST_TEST((read_table_frame(Query{}, "\x02").error().code == ErrorCode::invalid_argument));
    // Every prefix lacks the last required member, because only the secrets follow it.
    auto bare = frame;
    bare.sessions.clear();
    const auto required = write_table_frame(bare);
    for (std::size_t size = 0; size < required.size(); ++size) {
        BOOST_TEST(!read_table_frame(Query{}, std::string_view(required).substr(0, size)));
    }
    // A member that this version does not know could be a condition.
    const auto unknown = read_table_frame(Scan{}, body);
    BOOST_TEST_REQUIRE(!unknown.has_value());
    BOOST_TEST(unknown.error().message.find("unknown") != std::string::npos);
    BOOST_TEST((read_table_refusal("{}").code == ErrorCode::io_error));
    BOOST_TEST((read_table_reply(Query{}, "{}").error().code == ErrorCode::io_error));
}

BOOST_AUTO_TEST_CASE(has_a_value_that_is_not_permitted_reported_as_in_json) {
    WriteItem write;
    write.table = "orders";
    AttributeValue nested("x");
    for (int level = 0; level < 40; ++level) nested = AttributeValue(AttributeList{nested});
    write.item = AttributeMap{{"id", "1"}, {"nested", nested}};
    const auto read = read_table_frame(*table_request_named("PutItem"),
                                       write_table_frame({TypedWrite{write}, {}}));
    BOOST_TEST_REQUIRE(!read.has_value());
    BOOST_TEST(read.error().message.find("Nesting Levels") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
