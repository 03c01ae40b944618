#include "wire/call_json.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "wire/error_names.hpp"

using namespace std::chrono_literals;
using namespace rocklock;

namespace {

const std::string session_text(22, 'A');
const std::string secret_text(43, 'A');

// Returns a call of each verb with all its members.
std::vector<std::pair<std::string, std::string>> full_calls() {
    const std::string proof =
        R"("Session":")" + session_text + R"(","Secret":")" + secret_text + '"';
    return {
        {"OpenSession",
         R"({"Principal":"ann","LeaseMs":5000,"Bound":"process","Pid":7,"Note":"n","Metadata":{"k":"v"},"RequestId":"r"})"},
        {"OpenSession", R"({"Principal":"ann","NoExpiry":true,"Bound":"none"})"},
        {"Acquire",
         R"({"Principal":"ann","NoExpiry":true,"Bound":"none","Locks":[{"Resource":"a"}],"PatienceMs":3,"Held":"refuse"})"},
        {"RenewSession",
         "{" + proof + R"(,"LeaseMs":5000,"Note":"n","Metadata":{"k":"v"},"Active":true})"},
        {"AnswerWanted", "{" + proof + R"(,"Grant":4,"Allow":true})"},
        {"AnswerWanted", "{" + proof + R"(,"Grant":4,"Allow":false})"},
        {"AwaitNotices", "{" + proof + R"(,"After":5,"PatienceMs":-1})"},
        {"JoinProcess", "{" + proof + R"(,"Pid":7})"},
        {"CloseSession", "{" + proof + "}"},
        {"Acquire",
         "{" + proof +
             R"(,"Locks":[{"Resource":"a","Mode":"read","Subtree":true,"Permits":2},{"Resource":"b","To":"edit"}],)"
             R"("PatienceMs":-1,"Held":"join","Note":"n","Metadata":{"k":"v"},"MaxHoldMs":9,"MinHoldMs":8,"RequestId":"r"})"},
        {"Acquire",
         R"({"Principal":"ann","LeaseMs":5000,"Bound":"connection","Locks":[{"Resource":"a"}],"PatienceMs":3,"Held":"refuse"})"},
        {"Acquire",
         "{" + proof +
             R"(,"Locks":[{"Resource":"a","Subtree":true,"Modes":["exclusive","write","read"]}],"PatienceMs":0,"Held":"refuse"})"},
        {"Acquire",
         "{" + proof +
             R"(,"Locks":[{"Resource":"a"},{"Resource":"b"}],"Any":true,"PatienceMs":0,"Held":"refuse","Priority":7})"},
        {"Convert",
         "{" + proof +
             R"(,"Grant":9007199254740991,"Mode":"write","PatienceMs":0,"RequestId":"r"})"},
        {"Convert",
         "{" + proof + R"(,"Grant":4,"Locks":[{"Resource":"a","Mode":"write"}],"PatienceMs":0})"},
        {"Release", "{" + proof + R"(,"Grant":4})"},
        {"Transfer", "{" + proof + R"(,"Grant":4,"To":")" + session_text + "\"}"},
        {"Steal", "{" + proof + R"(,"Grant":4,"Reason":"r"})"},
        {"Steal", "{" + proof + R"(,"Grant":4,"Reason":"r","Force":true})"},
        {"Reacquire", "{" + proof + R"(,"Grant":4})"},
        {"Break", R"({"Grant":4,"Reason":"r"})"},
        {"EndSession", R"({"Session":")" + session_text + R"(","Reason":"r"})"},
        {"EndSessions", R"({"Principal":"ann","Reason":"r"})"},
        {"EndSessions", R"({"Uid":4294967295,"Reason":"r"})"},
        {"PutClass",
         R"({"Pattern":"a/*","Policy":"read_write","LeaseMs":1000,"MaxLeaseMs":2,"MaxHoldMs":3,"MinHoldMs":4,"LockDelayMs":5,)"
         R"("Steal":"ask","StealAfterMs":8,"Dependants":[{"Resource":"b","Mode":"read"}],"QueueLimit":6,"Permits":7,"MaxPriority":9,"Drafts":true})"},
        {"PutClass",
         R"({"Pattern":"a/*","Policy":"read_write","LeaseMs":1000,"Steal":"anyone","QueueLimit":6,"NoExpiry":true,)"
         R"("StealBy":["group:ops","user:ann"],"BreakBy":["user:bob"],"BindBy":["group:7"],"Draining":""})"},
        {"DeleteClass", R"({"Pattern":"a/*"})"},
        {"DrainClass", R"({"Pattern":"a/*","Reason":"r"})"},
        {"DrainClass", R"({"Pattern":"a/*"})"},
        {"ResumeClass", R"({"Pattern":"a/*"})"},
        {"TrimAudit", R"({"Through":9007199254740991})"},
        {"ListClasses", "{}"},
        {"BindTable", R"({"TableName":"orders","Resource":"orders/{id}","Strict":true})"},
        {"UnbindTable", R"({"TableName":"orders"})"},
        {"ListBindings", "{}"},
        {"ListDrafts", "{" + proof + R"(,"Limit":5,"Next":6})"},
        {"ListDrafts", R"({"Principal":"ann","Limit":1000})"},
        {"TakeDraft", "{" + proof + R"(,"Id":9007199254740991})"},
        {"TakeDraft", R"({"Principal":"ann","Id":7})"},
        {"DiscardDraft", "{" + proof + R"(,"Id":7})"},
        {"ShowLock", R"({"Resource":"a"})"},
        {"ListLocks", R"({"Prefix":"a","Principal":"ann","Session":")" + session_text +
                          R"(","Class":"a/*","Contended":true,"Limit":5,"Next":"n"})"},
        {"ListSessions", R"({"Principal":"ann","Limit":5,"Next":"n"})"},
        {"Ping", "{}"},
        {"Backup", R"({"Directory":"/b"})"},
        {"ListNodes", "{}"},
        {"HandOver", "{}"},
        {"CheckNode", "{}"},
        {"Watch", R"({"Prefix":"a","After":9007199254740991,"Limit":5,"PatienceMs":-1})"},
        {"ListHistory", R"({"Resource":"a","Limit":5,"Next":"n"})"},
    };
}

Result<Call> read(const std::string& verb, const std::string& json) {
    return read_call(call_named(verb).value(), json);
}

std::string problem(const std::string& verb, const std::string& json) {
    const auto call = read(verb, json);
    return call ? "none" : call.error().message;
}

Holder some_holder() {
    Holder holder;
    holder.resource = "a";
    holder.mode = Mode::exclusive;
    holder.grant = GrantId{5};
    holder.token = Token{6};
    holder.principal = "ann";
    holder.session.bytes[0] = 7;
    holder.uid = 8;
    holder.pid = 9;
    holder.acquired_at = WallTime{10ms};
    holder.remaining = 11ms;
    holder.deadline = WallTime{12ms};
    holder.note = "n";
    holder.metadata = {{"k", "v"}};
    holder.cause = "b";
    holder.you = true;
    return holder;
}

Draft some_draft() {
    Draft draft;
    draft.id = DraftId{7};
    draft.principal = "ann";
    draft.at = WallTime{10ms};
    draft.token = Token{6};
    draft.resource = "orders/1";
    draft.write.kind = WriteItem::Kind::update;
    draft.write.table = "orders";
    draft.write.item = AttributeMap{{"id", "1"}};
    draft.write.expected_version = 0;
    draft.write.expressions.update = "SET #t = :t";
    draft.write.expressions.condition = "#t <> :t";
    Placeholders& placeholders = draft.write.expressions.placeholders;
    placeholders.names.emplace().push_back({"#t", "text"});
    placeholders.values.emplace().push_back({":t", "new"});
    return draft;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_call)

BOOST_AUTO_TEST_CASE(of_every_verb_is_parsed_as_it_was_written) {
    for (const auto& [verb, json] : full_calls()) {
        BOOST_TEST_CONTEXT(verb << " " << json) {
            const auto call = read(verb, json);
            BOOST_REQUIRE(call.has_value());
            BOOST_TEST(verb_name(call->body) == verb);
            BOOST_TEST(write_call(*call) == json);
        }
    }
}

BOOST_AUTO_TEST_CASE(without_expiry_has_no_lease) {
    const auto call = read("OpenSession", R"({"Principal":"ann","NoExpiry":true})");
    BOOST_TEST_REQUIRE(call.has_value());
    BOOST_TEST((std::get<OpenSession>(call->body).lease == no_expiry));
    const auto ordinary = read("OpenSession", R"({"Principal":"ann","NoExpiry":false})");
    BOOST_TEST_REQUIRE(ordinary.has_value());
    BOOST_TEST(!std::get<OpenSession>(ordinary->body).lease.has_value());
    BOOST_TEST(problem("OpenSession", R"({"Principal":"ann","LeaseMs":1000,"NoExpiry":true})") ==
               "give LeaseMs or NoExpiry, not both");
}

BOOST_AUTO_TEST_CASE(about_drafts_names_their_owner) {
    const std::string wrong = "give either Session and Secret, or, as an administrator, Principal";
    const std::string session = R"("Session":")" + session_text + '"';
    const std::string secret = R"("Secret":")" + secret_text + '"';
    for (const auto& whose : {std::string(), session, secret, session + R"(,"Principal":"ann")",
                              session + "," + secret + R"(,"Principal":"ann")"}) {
        BOOST_TEST(problem("ListDrafts", "{" + whose + "}") == wrong, whose);
        const std::string comma = whose.empty() ? "" : ",";
        BOOST_TEST(problem("TakeDraft", R"({"Id":7)" + comma + whose + "}") == wrong, whose);
    }
    BOOST_TEST(problem("DiscardDraft", R"({"Principal":"ann"})") == "Id is missing");
}

BOOST_AUTO_TEST_CASE(of_an_unknown_verb_is_rejected) {
    for (const char* verb : {"", "acquire", "Watch ", "Acquire "})
        BOOST_TEST(!call_named(verb).has_value());
}

BOOST_AUTO_TEST_CASE(with_an_unknown_member_is_refused_for_every_verb) {
    for (const auto& [verb, json] : full_calls()) {
        const auto more =
            (json == "{}" ? "{" : json.substr(0, json.size() - 1) + ",") + R"("Leasems":1})";
        BOOST_TEST(problem(verb, more).starts_with("Leasems is not a known member"), verb);
    }
}

BOOST_AUTO_TEST_CASE(with_a_member_given_twice_is_refused) {
    BOOST_TEST(problem("ShowLock", R"({"Resource":"a","Resource":"b"})") ==
               "Resource is given twice: give each member of an object once");
    BOOST_TEST(
        problem("OpenSession", R"({"Principal":"a","Metadata":{"k\"{":"v:","x" : "}" ,"x":""}})") ==
        "x is given twice: give each member of an object once");
    const std::string written_otherwise = R"({"Resource":"a","Re\u0073ource":"b"})";
    BOOST_TEST(problem("ShowLock", written_otherwise).starts_with("a member is given twice"));
    // The same name in another object is a different member.
    const std::string locks = R"("Locks":[{"Resource":"a\":\\"},{"Resource":"b"}])";
    BOOST_TEST(problem("Acquire", "{" + locks + "}") ==
               "Session and Secret, or Principal, are missing");
}

BOOST_AUTO_TEST_CASE(without_a_required_member_is_refused) {
    BOOST_TEST(problem("OpenSession", "{}") == "Principal is missing");
    BOOST_TEST(problem("Release", "{}") == "Session is missing");
    BOOST_TEST(problem("ShowLock", "") == "Resource is missing");
    BOOST_TEST(problem("Acquire", R"({"Locks":[{"Resource":"a"}]})") ==
               "Session and Secret, or Principal, are missing");
    BOOST_TEST(problem("Acquire", R"({"Session":")" + session_text + R"(","Locks":[]})") ==
               "Secret is missing: it proves that Session is yours");
}

BOOST_AUTO_TEST_CASE(with_contradictory_members_is_refused) {
    const std::string proof =
        R"({"Session":")" + session_text + R"(","Secret":")" + secret_text + '"';
    BOOST_TEST(problem("Acquire", proof + R"(,"Principal":"x","Locks":[]})")
                   .starts_with("give either Session and Secret, or"));
    BOOST_TEST(problem("Convert", proof + R"(,"Grant":1})").starts_with("give either Mode"));
    BOOST_TEST(problem("Convert", proof + R"(,"Grant":1,"Mode":"read","Locks":[{"Resource":"a"}]})")
                   .starts_with("give either Mode"));
    BOOST_TEST(
        problem("Acquire", proof + R"(,"Locks":[{"Resource":"a","Mode":"read","To":"read"}]})")
            .starts_with("Locks[0]: give Mode or To"));
    for (const char* other :
         {R"("Mode":"read")", R"("To":"read")", R"("Mode":"read","To":"edit")"}) {
        const auto refusal = problem("Acquire", proof + R"(,"Locks":[{"Resource":"a",)" + other +
                                                    R"(,"Modes":["write","read"]}]})");
        const bool both = std::string_view(other).find("To") != std::string_view::npos &&
                          std::string_view(other).find("Mode") != std::string_view::npos;
        BOOST_TEST(refusal.starts_with(both ? "Locks[0]: give Mode or To, not both"
                                            : "Locks[0]: give exactly one of Modes, Mode and To"),
                   refusal);
    }
}

BOOST_AUTO_TEST_CASE(names_the_text_that_is_not_utf_8) {
    BOOST_TEST(problem("Acquire", "{\"Principal\":\"\xff\"}") == "Principal is not valid UTF-8");
    BOOST_TEST(problem("Acquire", "{\"Locks\":[{\"Resource\":\"a\"},{\"Resource\":\"\xc3\"}]}") ==
               "Locks[1].Resource is not valid UTF-8");
    BOOST_TEST(problem("Acquire", "{\"Metadata\":{\"\xff\":\"x\"}}") ==
               "the name of a member of Metadata is not valid UTF-8");
    BOOST_TEST(problem("Acquire", "{\"\xff\":1").starts_with("the body is not JSON"));
}

BOOST_AUTO_TEST_CASE(reports_the_path_and_the_allowed_values_of_a_wrong_member) {
    const auto acquire = [](const std::string& locks) {
        return problem("Acquire", R"({"Principal":"ann","Locks":)" + locks + "}");
    };
    BOOST_TEST(acquire(R"([{"Resource":"a"},{"Resource":"b","Mode":"x"}])") ==
               "Locks[1].Mode must be one of read, write, exclusive");
    BOOST_TEST(acquire(R"([{"Resource":"a","Modes":["read","x"]}])") ==
               "Locks[0].Modes[1] must be one of read, write, exclusive");
    BOOST_TEST(acquire(R"([{"Resource":"a","Modes":"read"}])") ==
               "Locks[0].Modes must be an array");
    BOOST_TEST(acquire(R"([{"Resource":"a","Modes":[]}])") ==
               "Locks[0]: Modes is empty: give at least one mode");
    BOOST_TEST(acquire(R"([{"Resource":"a","Model":"read"}])") ==
               "Locks[0].Model is not a known member; the known members are Resource, Mode, To, "
               "Subtree, Permits, Modes");
    BOOST_TEST(acquire(R"([{"Resource":1}])") == "Locks[0].Resource must be a string");
    BOOST_TEST(acquire(R"([1])") == "Locks[0] must be an object");
    BOOST_TEST(acquire(R"({})") == "Locks must be an array");
    BOOST_TEST(acquire(R"([{"Resource":"a","Subtree":1}])") ==
               "Locks[0].Subtree must be true or false");
    BOOST_TEST(problem("ListLocks", R"({"Limit":-1})") ==
               "Limit must be a whole number from 0 to 4294967295");
    BOOST_TEST(problem("OpenSession", R"({"Principal":"a","LeaseMs":1e3})")
                   .starts_with("LeaseMs must be a whole number"));
    BOOST_TEST(problem("Break", R"({"Grant":9007199254740992,"Reason":"r"})")
                   .starts_with("Grant must be a whole number"));
}

BOOST_AUTO_TEST_CASE(that_is_not_a_json_object_is_refused) {
    for (const std::string json : {"{", "[]", "1", "nonsense", "{}x", "{\"a\":\"\xff\"}"}) {
        BOOST_TEST(!read("Ping", json).has_value(), json);
    }
    BOOST_TEST(!read("Ping", R"({"a":)" + std::string(200, '[') + std::string(200, ']') + "}")
                    .has_value());
}

BOOST_AUTO_TEST_CASE(may_have_a_very_long_wait_timeout) {
    const auto call = read(
        "Acquire", R"({"Principal":"a","Locks":[{"Resource":"a"}],"PatienceMs":9007199254740991})");
    BOOST_REQUIRE(call.has_value());
    BOOST_TEST((std::get<Acquire>(call->body).patience == no_limit));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_reply)

BOOST_AUTO_TEST_CASE(with_a_grant_is_parsed_as_it_was_written) {
    Grant grant;
    grant.id = GrantId{5};
    grant.token = Token{6};
    grant.session.bytes[1] = 3;
    grant.locks = {{"a", Mode::write, true, 2, "b"}};
    grant.waited = true;
    grant.count = 3;
    grant.remaining = 4ms;
    grant.deadline = BootTime{5ms};
    grant.deadline_wall = WallTime{6ms};
    grant.ended = Ending{Outcome::broken, "bob", "why", WallTime{7ms}};
    grant.own_session.emplace();
    grant.own_session->id = grant.session;
    grant.own_session->secret.bytes[0] = 1;
    grant.own_session->lease = 9ms;
    const auto json = write_reply(grant);
    const auto reply = read_reply(Acquire{}, json);
    BOOST_REQUIRE(reply.has_value());
    const auto& read = std::get<Grant>(*reply);
    BOOST_TEST(write_reply(read) == json);
    BOOST_TEST((read.deadline == grant.deadline));
    BOOST_TEST((read.own_session->secret == grant.own_session->secret));
    BOOST_TEST((read.ended->outcome == Outcome::broken));
}

BOOST_AUTO_TEST_CASE(of_each_kind_is_parsed_as_it_was_written) {
    SessionInfo session;
    session.id.bytes[0] = 1;
    session.secret.bytes[0] = 2;
    session.wanted = {{GrantId{1}, "a", "bob", Mode::read, WallTime{1ms}},
                      {GrantId{2}, "b", "cy", Mode::write, WallTime{2ms}, WallTime{3ms}}};
    session.lost = {{GrantId{2}, {Outcome::stolen, "bob", "r", WallTime{2ms}}}};
    LockView view;
    view.resource = "a";
    view.holders = {some_holder()};
    view.waiters = {{"a", Mode::read, 2, "bob", {}, WallTime{3ms}, 1}};
    view.last_holder = PastHolder{some_holder(), {Outcome::expired, "", "", WallTime{4ms}}};
    view.closed_for = 5ms;
    SessionView shown;
    shown.principal = "ann";
    shown.bound = Bound::process;
    shown.processes = {{7, 8}};
    const LockEvent event{7, EventType::stolen, "a",   GrantId{1}, Token{2}, "ann", Mode::exclusive,
                          2, WallTime{3ms},     "bob", "r"};
    LockStatistics counts;
    counts.locks_granted = {1, 2, 3};
    counts.events_dropped = 4;
    counts.audit_rows = 5;
    counts.oldest_hold = 6ms;
    counts.wait.add(3s);
    counts.acquire.add(1500us);
    const std::vector<std::pair<CallBody, Reply>> replies = {
        {RenewSession{}, session},
        {CloseSession{}, ClosedSession{{GrantId{1}, GrantId{2}}}},
        {Release{}, Released{Outcome::held, 2}},
        {Release{}, Released{Outcome::stolen, 0, "bob", "r", WallTime{3ms}}},
        {PutClass{}, LockClass{}},
        {ListClasses{}, ClassList{{LockClass{}}}},
        {BindTable{}, TableBinding{"orders", "orders/{id}", true}},
        {ListBindings{}, BindingList{{{"orders", "orders", false}}}},
        {ListDrafts{}, DraftPage{{some_draft()}, DraftId{8}}},
        {TakeDraft{}, some_draft()},
        {DiscardDraft{}, DiscardedDraft{DraftId{7}}},
        {TrimAudit{}, TrimmedAudit{3}},
        {ShowLock{}, view},
        {ListLocks{}, LockPage{{some_holder()}, "next"}},
        {ListSessions{}, SessionPage{{shown}, "next"}},
        {Ping{}, Pong{"1.2.3", 4, "/x", "durable", std::chrono::milliseconds{5},
                      std::chrono::milliseconds{6}, "boot-1", true, "b", "a", true}},
        {Backup{}, BackedUp{"/b", 2, 3}},
        {ListNodes{}, NodeList{{{"a", NodeRole::standby, "h:1", 2, WallTime{3ms}, "1.2.3"}}}},
        {HandOver{}, HandedOver{"a"}},
        {CheckNode{}, NodeChecked{"a", 7, 5, 1, {"items 00: only in etcd"}}},
        {EndSessions{}, EndedSessions{4}},
        {ShowStatistics{}, counts},
        {ListOutliers{}, Outliers{{some_holder()}, {{"a", 5, 1}, {"b", 4, 0}}}},
        {WatchRequest{}, EventPage{{event}, 8, true}},
        {HistoryRequest{},
         HistoryPage{{{some_holder(), std::nullopt},
                      {some_holder(), Ending{Outcome::broken, "root", "r", WallTime{6ms}}}},
                     "next"}},
    };
    for (const auto& [asked, reply] : replies) {
        const auto json = write_reply(reply);
        const auto read = read_reply(asked, json);
        BOOST_REQUIRE(read.has_value());
        BOOST_TEST(write_reply(*read) == json);
    }
}

BOOST_AUTO_TEST_CASE(with_a_draft_has_an_action_of_a_transaction) {
    BOOST_TEST(
        write_reply(some_draft()) ==
        R"({"Id":7,"Principal":"ann","At":"1970-01-01T00:00:00.010Z","Token":6,"Resource":"orders/1",)"
        R"("TableName":"orders","Version":0,"Write":{"Update":{"TableName":"orders","Key":{"id":{"S":"1"}},)"
        R"("UpdateExpression":"SET #t = :t","ConditionExpression":"#t <> :t",)"
        R"("ExpressionAttributeNames":{"#t":"text"},"ExpressionAttributeValues":{":t":{"S":"new"}}}}})");
}

BOOST_AUTO_TEST_CASE(has_the_legacy_parameters_of_a_draft) {
    Draft draft = some_draft();
    draft.write.expressions = {};
    draft.write.expressions.attribute_updates = {
        {"a", AttributeUpdate::Action::add, AttributeValue("x")},
        {"b", AttributeUpdate::Action::remove, std::nullopt}};
    draft.write.expressions.expected = {
        {"c", AttributeValue("y"), std::nullopt, std::nullopt, std::nullopt},
        {"d", std::nullopt, false, std::nullopt, std::nullopt},
        {"e", std::nullopt, std::nullopt, ComparisonOperator::between,
         std::vector<AttributeValue>{"m", "n"}}};
    draft.write.expressions.conditional_operator = ConditionalOperator::any;
    const auto json = write_reply(draft);
    BOOST_TEST(
        json.find(
            R"("AttributeUpdates":{"a":{"Action":"ADD","Value":{"S":"x"}},"b":{"Action":"DELETE"}},)"
            R"("Expected":{"c":{"Value":{"S":"y"}},"d":{"Exists":false},)"
            R"("e":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"S":"m"},{"S":"n"}]}},)"
            R"("ConditionalOperator":"OR")") != std::string::npos);
    const auto read = read_reply(TakeDraft{}, json);
    BOOST_REQUIRE(read.has_value());
    BOOST_TEST(write_reply(*read) == json);
}

BOOST_AUTO_TEST_CASE(with_an_invalid_draft_is_refused) {
    const std::string json = write_reply(some_draft());
    for (const auto* action :
         {R"({"Check":{}})", "{}", "[]", R"({"Put":{"TableName":"orders"}})"}) {
        std::string wrong = json.substr(0, json.find(R"({"Update")"));
        wrong.append(action).append("}");
        const auto read = read_reply(TakeDraft{}, wrong);
        BOOST_REQUIRE(!read.has_value());
        BOOST_TEST((read.error().code == ErrorCode::io_error));
    }
}

BOOST_AUTO_TEST_CASE(of_statistics_lists_the_bounds_of_its_histograms) {
    LockStatistics counts;
    counts.acquire.add(12us);
    counts.acquire.add(2s);
    std::string json = write_reply(counts);
    const auto at = json.find(R"("AcquireTimes":{"BoundsUs":[10,25,50,)");
    BOOST_REQUIRE(at != std::string::npos);
    BOOST_TEST(json.find(R"("Counts":[0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1],"SumUs":2000012})", at) !=
               std::string::npos);
    const auto read = [&] {
        return std::get<LockStatistics>(read_reply(ShowStatistics{}, json).value());
    };
    BOOST_TEST((read().acquire.counts() == counts.acquire.counts()));
    BOOST_TEST((read().acquire.sum() == counts.acquire.sum()));
    // The total of all durations may exceed the range of the number.
    for (int i = 0; i < 400; ++i) counts.hold.add(std::chrono::hours{24 * 365});
    BOOST_TEST((read_reply(ShowStatistics{}, write_reply(counts)).has_value()));
    // Counts with other bounds are ignored, because they would have another meaning.
    json.replace(json.find("[10,", at), 4, "[11,");
    BOOST_TEST(read().acquire.count() == 0U);
    BOOST_TEST((read().acquire.sum() == 0us));
}

BOOST_AUTO_TEST_CASE(may_lack_statistics_of_newer_versions) {
    const std::string json =
        R"({"Sessions":1,"Held":2,"Waiting":3,"Recovered":0,"Granted":4,"Released":0,"Expired":0,)"
        R"("Stolen":0,"Broken":0,"Transferred":0,"Waits":5,"Refused":0,"PatienceExpired":0,)"
        R"("Cancelled":0,"Deadlocks":0,"Replays":0,"SweepFinds":6})";
    const auto read = read_reply(ShowStatistics{}, json);
    BOOST_REQUIRE(read.has_value());
    BOOST_TEST(std::get<LockStatistics>(*read).sweep_finds == 6U);
}

BOOST_AUTO_TEST_CASE(may_have_members_unknown_to_this_version) {
    BOOST_TEST(read_reply(Release{}, R"({"Outcome":"released","Later":1})").has_value());
}

BOOST_AUTO_TEST_CASE(that_is_malformed_is_an_error) {
    BOOST_TEST(!read_reply(Release{}, R"({"Outcome":"lost"})").has_value());
    BOOST_TEST(!read_reply(Release{}, "<html>").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(an_error)

// Outcomes are typed: a client reads the same code that the daemon has sent (X3).
BOOST_AUTO_TEST_CASE(of_every_code_is_parsed_as_it_was_written) {
    for (int number = 0; number <= static_cast<int>(ErrorCode::corrupt); ++number) {
        const auto code = static_cast<ErrorCode>(number);
        const auto read = read_error(write_error(Error(code, "why")));
        BOOST_TEST(to_string(read.code) == to_string(code));
        BOOST_TEST(read.message == "why");
        BOOST_TEST(error_name(code) != "InternalException");
    }
}

BOOST_AUTO_TEST_CASE(carries_its_facts) {
    Error error(ErrorCode::conflict, "held");
    error.blockers = {some_holder()};
    error.waiters = {{"a", Mode::read, 2, "bob", {}, WallTime{3ms}, 1}};
    error.cycle = {{"ann", {}, "a"}};
    error.ended = Ending{Outcome::stolen, "bob", "r", WallTime{4ms}};
    error.grant = GrantId{5};
    error.retry_after = 6ms;
    error.limit = 7;
    error.pid = 8;
    const auto json = write_error(error);
    BOOST_TEST(json.find(R"("__type":"rocklock#LockConflictException")") != std::string::npos);
    BOOST_TEST(json.find(R"("You":true})") != std::string::npos);
    BOOST_TEST(write_error(read_error(json)) == json);
}

BOOST_AUTO_TEST_CASE(reports_the_policy_that_refuses_a_steal_and_the_time_to_retry) {
    Error error(ErrorCode::steal_refused, "not yet");
    error.policy = StealPolicy::ask;
    error.retry_after = 6ms;
    const auto json = write_error(error);
    BOOST_TEST(json.find(R"("__type":"rocklock#StealRefusedException")") != std::string::npos);
    BOOST_TEST(json.find(R"("Policy":"ask","RetryAfterMs":6})") != std::string::npos);
    const auto read = read_error(json);
    BOOST_TEST((read.policy == StealPolicy::ask));
    BOOST_TEST((read.retry_after == 6ms));
}

BOOST_AUTO_TEST_CASE(of_a_store_on_etcd_names_the_manager) {
    Error error(ErrorCode::not_the_manager, "another node");
    error.manager = ManagerNode{"n2", "n2.example:7070"};
    const auto json = write_error(error);
    BOOST_TEST(json.find(R"("__type":"rocklock#NotTheManagerException")") != std::string::npos);
    BOOST_TEST(json.find(R"("ManagerNode":"n2")") != std::string::npos, json);
    const auto read = read_error(json);
    BOOST_TEST((read.code == ErrorCode::not_the_manager));
    BOOST_TEST((read.manager == error.manager));
    error.manager->address.clear();
    BOOST_TEST((read_error(write_error(error)).manager == error.manager));
    BOOST_TEST(!read_error(write_error(Error(ErrorCode::not_the_manager, ""))).manager);
}

BOOST_AUTO_TEST_CASE(that_reports_an_expiry_has_its_time) {
    Error error(ErrorCode::session_expired, "over");
    error.ended = Ending{Outcome::expired, "", "", WallTime{4ms}};
    BOOST_TEST(write_error(error).find(R"("ExpiredAt":"1970-01-01T00:00:00.004Z")") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(has_a_status_for_client_or_server_faults) {
    BOOST_TEST(http_status(ErrorCode::conflict) == 400);
    BOOST_TEST(http_status(ErrorCode::no_space) == 500);
    BOOST_TEST(http_status(ErrorCode::closing) == 503);
}

BOOST_AUTO_TEST_CASE(that_is_not_valid_json_is_shown_unchanged) {
    BOOST_TEST(read_error("<html>").message.find("<html>") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
