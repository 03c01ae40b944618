// The health and the metrics of a process, without its server.
#include "daemon/status/own_pages.hpp"

#include <string>

#include <boost/test/unit_test.hpp>

namespace rocklock {
namespace {

struct Pages {
    RoleStatus role;
    OwnPages pages{role, [](std::string& text) { text += "more 1\n"; }};

    ServiceAnswer get(const std::string& target) const {
        HttpRequest request;
        request.method = "GET";
        request.target = target;
        return pages.get(request);
    }
    // Returns the status and the body of /healthz.
    std::string health(const std::string& query = "") const {
        const auto answer = get("/healthz" + query);
        return std::to_string(answer.status) + " " + answer.body;
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(the_pages_of_a_process, Pages)

BOOST_AUTO_TEST_CASE(are_unhealthy_before_the_first_role) {
    BOOST_TEST(health() == "503 waiting: the process starts\n");
}

BOOST_AUTO_TEST_CASE(are_healthy_in_the_role_of_the_manager) {
    role.set_role(ProcessRole::manager);
    BOOST_TEST(health() == "200 manager\n");
    BOOST_TEST(health("?role=manager") == "200 manager\n");
    BOOST_TEST(health("?role=standby") == "503 manager\n");
    role.set_role(ProcessRole::waiting, "it was replaced");
    BOOST_TEST(health("?role=manager") == "503 waiting: it was replaced\n");
}

BOOST_AUTO_TEST_CASE(are_healthy_on_a_standby_while_it_has_a_link) {
    role.set_role(ProcessRole::standby, "no link yet");
    BOOST_TEST(health() == "503 waiting: no link yet\n");
    role.set_links(1, 3, "");
    BOOST_TEST(health() == "200 standby\n");
    // The text of an earlier failure does not count while there is a link.
    role.set_links(1, 3, "refused");
    BOOST_TEST(health("?role=standby") == "200 standby\n");
    role.set_links(0, 0, "refused");
    BOOST_TEST(health("?role=standby") == "503 waiting: refused\n");
}

BOOST_AUTO_TEST_CASE(ignore_links_in_other_roles) {
    role.set_role(ProcessRole::waiting, "x");
    role.set_links(1, 1, "");
    BOOST_TEST(health() == "503 waiting: x\n");
    BOOST_TEST(role.state().links == 0);
}

BOOST_AUTO_TEST_CASE(refuse_unknown_roles_and_parameters) {
    role.set_role(ProcessRole::manager);
    for (const char* query : {"?role=leader", "?role=waiting", "?role=", "?rol=manager",
                              "?role=manager&role=standby", "?x"}) {
        BOOST_TEST(get(std::string("/healthz") + query).status == 400, query);
    }
}

BOOST_AUTO_TEST_CASE(contain_one_role_and_further_metrics) {
    role.set_role(ProcessRole::relay);
    role.set_links(2, 7, "");
    const auto text = get("/metrics").body;
    for (const char* line :
         {"rocklock_role{role=\"manager\"} 0\n", "rocklock_role{role=\"standby\"} 0\n",
          "rocklock_role{role=\"relay\"} 1\n", "rocklock_role{role=\"waiting\"} 0\n",
          "rocklock_manager_links 2\n", "rocklock_relayed_connections 7\n", "\nmore 1\n"}) {
        BOOST_TEST(text.find(line) != std::string::npos, line);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
