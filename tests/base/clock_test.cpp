#include <rocklock/clock.hpp>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <string_view>

#include <boost/test/unit_test.hpp>

#include "base/fork.hpp"
#include "support/in_child.hpp"

namespace rocklock {
namespace {

using testing::in_child;

bool write_text(const char* path, std::string_view text) {
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return false;
    const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    close(file);
    return written;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_system_clock)

BOOST_AUTO_TEST_CASE(never_goes_back) {
    Instant before = system_clock().now();
    for (int i = 0; i < 1000; ++i) {
        const Instant now = system_clock().now();
        BOOST_TEST((now.boot >= before.boot));
        before = now;
    }
}

// The difference between the two clocks is constant, so a wall time that is computed from a boot
// time is the same at each computation.
BOOST_AUTO_TEST_CASE(keeps_both_clocks_together) {
    const auto apart = [] {
        const Instant now = system_clock().now();
        return now.wall.time_since_epoch() -
               std::chrono::floor<std::chrono::milliseconds>(now.boot.time_since_epoch());
    };
    auto before = apart();
    int changes = 0;
    for (int i = 0; i < 20'000; ++i) {
        const auto now = apart();
        if (now != before) ++changes;
        before = now;
    }
    // The clock of the machine may be set during the test, or the drift may reach a millisecond
    // just now.
    BOOST_TEST(changes <= 1);
    const auto machine = std::chrono::system_clock::now().time_since_epoch();
    BOOST_TEST((std::chrono::abs(machine - system_clock().now().wall.time_since_epoch()) <
                std::chrono::seconds{10}));
}

BOOST_AUTO_TEST_CASE(names_the_same_boot_to_every_process) {
    const std::string id = system_clock().boot_id();
    BOOST_TEST(system_clock().boot_id() == id);
    BOOST_TEST(in_child([&] { return system_clock().boot_id() == id ? 0 : 1; }) == 0);
}

// If a process is in a time namespace with an offset, its boot times are not those of processes
// outside.
BOOST_AUTO_TEST_CASE(has_no_boot_id_in_a_separate_time_namespace) {
    const int status = in_child([] {
        if (unshare(CLONE_NEWTIME) != 0) return 99;
        if (!write_text("/proc/self/timens_offsets", "boottime 1000 0")) return 99;
        // unshare() affects the children of this process, not this process itself.
        return in_child([] { return system_clock().boot_id().empty() ? 0 : 1; });
    });
    if (status == 99) {
        BOOST_TEST_MESSAGE("skipped: may not make a time namespace");
        return;
    }
    BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_child)

BOOST_AUTO_TEST_CASE(detects_that_it_is_a_child) {
    const ForkCheck fork_check;
    BOOST_TEST(!fork_check.in_child());
    BOOST_TEST(in_child([&] { return fork_check.in_child() && !ForkCheck().in_child() ? 0 : 1; }) ==
               0);
    BOOST_TEST(!fork_check.in_child());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
