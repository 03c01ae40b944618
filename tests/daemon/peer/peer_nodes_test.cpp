// The file with the nodes whose relays may connect.
#include "daemon/peer/peer_nodes.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace {

using namespace rocklock;

PeerNodes parsed(std::string_view text) { return PeerNodes::parse(text, "file").value(); }

std::string problem_of(std::string_view text) {
    const auto nodes = PeerNodes::parse(text, "file");
    return nodes ? "" : nodes.error().message;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_file_of_nodes)

BOOST_AUTO_TEST_CASE(gives_each_node_its_rights) {
    const auto nodes = parsed(
        "# the web servers\n\nweb1   # the first\nweb2 certificate=w2.example.org "
        "resources=orders/,stock/\nweb3 rights=tables\n");
    const Preface preface{"web3", "boot", ""};
    const auto first = nodes.find(PeerCertificate{"web1", {}}, preface).value();
    BOOST_TEST(first->host.node == "web1");
    BOOST_TEST(first->host.boot_id == "boot");
    BOOST_TEST(first->number == node_number("web1"));
    BOOST_TEST((first->may_lock && first->may_use_tables));
    BOOST_TEST((first->prefixes == std::vector<std::string>{""}));
    // A DNS name of the certificate counts as well.
    const auto second =
        nodes.find(PeerCertificate{"other", {"a", "w2.example.org"}}, preface).value();
    BOOST_TEST((second->prefixes == std::vector<std::string>{"orders/", "stock/"}));
    BOOST_TEST((second->may_lock && !second->may_use_tables));
    // Without a certificate, the name in the preface counts.
    const auto third = nodes.find(std::nullopt, preface).value();
    BOOST_TEST((!third->may_lock && third->may_use_tables));
    BOOST_TEST((nodes.find(PeerCertificate{"web9", {"web8"}}, preface).error().code ==
                ErrorCode::access_denied));
    // A certificate without names permits no node, whatever the relay calls itself.
    BOOST_TEST((nodes.find(PeerCertificate{}, preface).error().code == ErrorCode::access_denied));
    BOOST_TEST((nodes.find(std::nullopt, Preface{"web9", "", ""}).error().code ==
                ErrorCode::access_denied));
}

BOOST_AUTO_TEST_CASE(with_an_invalid_line_is_refused) {
    BOOST_TEST(problem_of("web1\nweb/2") ==
               "peer-nodes: file, line 2: 'web/2' is not a name of a node: use 1 to 64 letters, "
               "digits, dots, hyphens and underscores");
    BOOST_TEST(problem_of("web1 resources=a rights=tables") ==
               "peer-nodes: file, line 1: a node with resources cannot have the right 'tables'");
    for (const auto* line :
         {"", "#", "web1 x", "web1 rights=", "web1 rights=,", "web1 rights=read", "web1 x=y",
          "web1 connections=", "web1 connections=0", "web1 connections=-1", "web1 connections=5x",
          "web1 connections=1000001", "web1\nweb1 certificate=other", "web1\nweb2 certificate=web1",
          "web1 resources=\xFF/"}) {
        BOOST_TEST(!problem_of(line).empty(), line);
    }
}

BOOST_AUTO_TEST_CASE(gives_each_node_its_limit_of_connections) {
    const auto limits =
        parsed("web1\nweb2 connections=1000000\nweb3 connections=1\n").connection_limits(75);
    BOOST_TEST((limits.nodes == std::map<std::string, std::uint64_t>{
                                    {"web1", 75}, {"web2", 1'000'000}, {"web3", 1}}));
    BOOST_TEST(limits.other == 75U);
    BOOST_TEST(PeerNodes::any().connection_limits(75).other == 75U);
}

BOOST_AUTO_TEST_CASE(can_be_omitted_on_loopback) {
    const auto node = PeerNodes::any().find(std::nullopt, Preface{"web1", "boot", ""}).value();
    BOOST_TEST((node->host == ClientHost{"web1", "boot"}));
    BOOST_TEST(!PeerNodes::any().find(std::nullopt, Preface{"a b", "", ""}).has_value());
}

// The numbers of the users of all nodes are exact in JSON.
BOOST_AUTO_TEST_CASE(numbers_nodes_from_1_to_2_to_the_20) {
    for (int number = 0; number < 1'000; ++number) {
        const auto node = node_number("node" + std::to_string(number));
        BOOST_TEST((node > 0 && node < 1U << 20));
    }
    const auto user = user_of_node(node_number("web1"), 1000);
    BOOST_TEST((node_number_of(user) == node_number("web1") && uid_of(user) == 1000));
}

BOOST_AUTO_TEST_SUITE_END()
