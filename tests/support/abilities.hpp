// Requirements that not every machine meets, for Boost.Test's `precondition`. If a requirement is
// not met, the test case is reported as skipped, with the reason.
#pragma once

#include <boost/test/unit_test.hpp>

namespace rocklock::testing {

// Returns whether a child process can mount a file system in its own mount namespace.
boost::test_tools::assertion_result may_mount(boost::unit_test::test_unit_id);

// Returns whether file permissions can be tested: the user is not root, or a child process can
// switch to an unprivileged user.
boost::test_tools::assertion_result may_be_unprivileged(boost::unit_test::test_unit_id);

// Must be called in a child process. If the user is root, switches to an unprivileged user. Returns
// whether the process is now unprivileged.
bool become_unprivileged();

}  // namespace rocklock::testing
