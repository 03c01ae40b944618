// The labels of users and nodes in the metrics.
#include "service/metrics.hpp"

#include <string>

#include <boost/test/unit_test.hpp>

namespace {

using namespace rocklock;

RemoteNode node_named(const std::string& name) {
    RemoteNode node;
    node.host.node = name;
    node.number = node_number(name);
    return node;
}

// Returns the line for the connections of the user.
std::string line_of(UserId user, const RemoteUsers* remote_users) {
    std::string text;
    UserUsageLine usage;
    usage.connections = 3;
    append_user_usage(text, {{user, usage}}, remote_users);
    const auto from = text.find("rocklock_user_connections{");
    return text.substr(
        from, text.find("rocklock_user_buffer_bytes") - from - std::string("\n# HELP ").size());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_metrics)

BOOST_AUTO_TEST_CASE(name_users_of_nodes) {
    RemoteUsers users;
    const auto web1 = node_named("web1");
    const auto ann = user_of_node(web1.number, 1000);
    BOOST_TEST(line_of(1000, &users) == "rocklock_user_connections{uid=\"1000\"} 3");
    BOOST_TEST(line_of(ann, &users) ==
               "rocklock_user_connections{uid=\"1000@?" + std::to_string(web1.number) + "\"} 3");
    BOOST_TEST(line_of(ann, nullptr) == line_of(ann, &users));
    users.add_node("web1");
    BOOST_TEST(line_of(ann, &users) == "rocklock_user_connections{uid=\"1000@web1\"} 3");
    BOOST_TEST(users.name_of(ann) == "uid 1000@web1");
    users.add(web1, 1000, "ann");
    BOOST_TEST(line_of(ann, &users) ==
               "rocklock_user_connections{uid=\"1000@web1\",user=\"ann@web1\"} 3");
    BOOST_TEST(line_of(user_of_node(web1.number, 0xFFFF'FFFF), &users) ==
               "rocklock_user_connections{uid=\"tcp@web1\"} 3");
}

// A relay can report any text as the name of a user.
BOOST_AUTO_TEST_CASE(are_valid_whatever_a_relay_reports) {
    RemoteUsers users;
    const auto web1 = node_named("web1");
    users.add(web1, 1, "a\"} 1\nb\\");
    BOOST_TEST(line_of(user_of_node(web1.number, 1), &users) ==
               R"(rocklock_user_connections{uid="1@web1",user="a\"} 1\nb\\@web1"} 3)");
    users.add(web1, 2, "\xFF");
    BOOST_TEST(line_of(user_of_node(web1.number, 2), &users) ==
               "rocklock_user_connections{uid=\"2@web1\"} 3");
}

BOOST_AUTO_TEST_SUITE_END()
