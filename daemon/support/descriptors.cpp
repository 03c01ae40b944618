#include "daemon/support/descriptors.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace rocklock {
namespace {

// The number of descriptors that are reserved for the store and for watched processes.
constexpr rlim_t reserved_for_store = 128;
// 1 / refusal_divisor of the descriptors are reserved for refusals, but at least `min_refusals` and
// at most `max_refusals`.
constexpr rlim_t refusal_divisor = 16;
constexpr rlim_t min_refusals = 64;
constexpr rlim_t max_refusals = 1'024;
// With fewer descriptors, RocksDB can open a store but cannot write its files.
constexpr rlim_t min_descriptors = 128;

rlim_t refusals_of(rlim_t descriptors) {
    return std::clamp(descriptors / refusal_divisor, min_refusals, max_refusals);
}

}  // namespace

void keep_standard_descriptors() {
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        // open() returns the lowest free number, which is this one.
        if (::fcntl(standard, F_GETFD) < 0) ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
}

Result<int> raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return INT32_MAX;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < min_descriptors) {
        return Error(ErrorCode::io_error,
                     "the process may open " + std::to_string(limit.rlim_cur) +
                         " file descriptors, and the daemon needs " +
                         std::to_string(min_descriptors) +
                         " or more: raise the limit, as with `ulimit -n 1024` or LimitNOFILE=1024 "
                         "in the unit");
    }
    const rlim_t reserved = reserved_for_store + refusals_of(limit.rlim_cur);
    if (limit.rlim_cur <= 2 * reserved) return static_cast<int>(limit.rlim_cur / 2);
    return static_cast<int>(std::min<rlim_t>(limit.rlim_cur - reserved, INT32_MAX));
}

int refusal_descriptors() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return static_cast<int>(max_refusals);
    return static_cast<int>(refusals_of(limit.rlim_cur));
}

void SpareDescriptor::take() {
    if (fd_ < 0) fd_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void SpareDescriptor::give() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

}  // namespace rocklock
