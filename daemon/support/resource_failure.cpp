#include "daemon/support/resource_failure.hpp"

#include <unistd.h>

#include <cstring>
#include <exception>
#include <new>
#include <system_error>

namespace rocklock {
namespace {

constexpr int exit_internal = 70;

// Must not allocate memory.
[[noreturn]] void end_with(const char* text) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
    ::_exit(exit_internal);
}

[[noreturn]] void end_without_memory() {
    end_with(
        "rocklock: out of memory: the process ends, and no acknowledged change is lost; raise its "
        "memory limit (ulimit -v, LimitAS, MemoryMax) or lower the limits of users, then start it "
        "again\n");
}

[[noreturn]] void end_on_exception() {
    if (const auto error = std::current_exception()) {
        try {
            std::rethrow_exception(error);
        } catch (const std::bad_alloc&) {
            end_without_memory();
        } catch (const std::system_error& failure) {
            if (failure.code() == std::errc::resource_unavailable_try_again) {
                end_with(
                    "rocklock: the system has no memory or no thread left for this process: raise "
                    "its limits (ulimit -v and -u, LimitAS, TasksMax), then start it again\n");
            }
        } catch (...) {
        }
    }
    std::abort();
}

}  // namespace

void end_on_resource_failure() {
    std::set_new_handler(end_without_memory);
    std::set_terminate(end_on_exception);
}

}  // namespace rocklock
