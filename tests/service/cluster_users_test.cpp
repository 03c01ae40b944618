// The users of the manager's host, if it is a node of a cluster.
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "service/remote_users.hpp"
#include "service/user_identities.hpp"

namespace rocklock {
namespace {

using Identities = std::vector<std::string>;

BOOST_AUTO_TEST_SUITE(the_users_of_the_managers_host)

BOOST_AUTO_TEST_CASE(are_users_of_its_node_in_a_cluster) {
    const RemoteUsers users("n1");
    const auto ann = users.user_here(1000);
    BOOST_TEST(ann == user_of_node(node_number("n1"), 1000));
    BOOST_TEST(users.is_here(ann));
    BOOST_TEST(!users.is_here(1000));
    BOOST_TEST(!users.is_here(user_of_node(node_number("n2"), 1000)));
    BOOST_TEST(users.node_of(ann).value() == "n1");
}

BOOST_AUTO_TEST_CASE(have_their_uids_without_a_cluster) {
    const RemoteUsers users;
    BOOST_TEST(users.user_here(1000) == 1000U);
    BOOST_TEST(users.is_here(1000));
    BOOST_TEST(!users.is_here(user_of_node(node_number("n1"), 1000)));
}

// They keep the rights that they have as users of a relay.
BOOST_AUTO_TEST_CASE(have_the_identities_of_both) {
    const auto lookup = [](uid_t) { return Identities{"user:1000", "user:ann", "group:ops"}; };
    const RemoteUsers users("n1");
    UserIdentities identities(users, lookup);
    const auto ann = users.user_here(1000);
    BOOST_TEST(!identities.knows(ann));
    BOOST_TEST(identities.of(ann) == (Identities{"user:1000", "user:ann", "group:ops",
                                                 "user:1000@n1", "user:ann@n1", "node:n1"}),
               boost::test_tools::per_element());
    BOOST_TEST(identities.knows(ann));

    const RemoteUsers alone;
    UserIdentities identities_alone(alone, lookup);
    BOOST_TEST(identities_alone.of(1000) == lookup(1000), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace rocklock
