#include "support/abilities.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rocklock::testing {

namespace {

constexpr uid_t nobody = 65534;

template <typename F>
bool child_can(const F& attempt) {
    const pid_t child = fork();
    if (child == 0) _exit(attempt() ? 0 : 1);
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

boost::test_tools::assertion_result may_mount(boost::unit_test::test_unit_id) {
    boost::test_tools::assertion_result able = child_can([] {
        return unshare(CLONE_NEWNS) == 0 &&
               mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               mount("tmpfs", "/tmp", "tmpfs", 0, "size=1m") == 0;
    });
    able.message() << "needs the right to mount";
    return able;
}

boost::test_tools::assertion_result may_be_unprivileged(boost::unit_test::test_unit_id) {
    boost::test_tools::assertion_result able = child_can(become_unprivileged);
    able.message() << "needs to become another user than root";
    return able;
}

bool become_unprivileged() { return geteuid() != 0 || setresuid(nobody, nobody, nobody) == 0; }

}  // namespace rocklock::testing
