// What a test needs that not every machine allows: for Boost.Test's `precondition`, so that a case
// that cannot run is counted as skipped, with the reason.
#pragma once

#include <boost/test/unit_test.hpp>

namespace rocklock::testing {

// To mount a file system of one's own, in a mount namespace of a child.
boost::test_tools::assertion_result may_mount(boost::unit_test::test_unit_id);

// To be somebody whom the permissions of files bind: anybody but root, who must be able to become
// nobody.
boost::test_tools::assertion_result may_be_unprivileged(boost::unit_test::test_unit_id);

// In a child: becomes nobody if it is root.
bool become_unprivileged();

}  // namespace rocklock::testing
