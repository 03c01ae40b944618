#include "storage/etcd/client/member_version.hpp"

#include <boost/test/unit_test.hpp>

namespace rocklock::etcd {

BOOST_AUTO_TEST_SUITE(a_version_of_etcd)

BOOST_AUTO_TEST_CASE(has_a_warning_if_it_can_lose_changes) {
    for (const auto* version : {"2.3.8", "3.3.25", "3.4.0", "3.4.21", "3.5.0", "3.5.5-rc.1"}) {
        const auto warning = version_warning(version);
        BOOST_REQUIRE_MESSAGE(warning.has_value(), version);
        BOOST_TEST(warning->find(version) != std::string::npos);
        BOOST_TEST(warning->find("3.4.22") != std::string::npos);
    }
    for (const auto* version : {"3.4.22", "3.4.23", "3.5.6", "3.5.6-rc.0", "3.6.0", "4.0.1",
                                "10.0.0", "", "unknown", "3", "3.4", "3.4.x"}) {
        BOOST_TEST(!version_warning(version).has_value(), version);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::etcd
