#include "daemon/support/memory_size.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace rocklock {
namespace {

// Returns the directory of this process's control group. In the unified hierarchy, /proc names it
// in a line "0::/path".
std::string control_group() {
    std::ifstream file("/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("0::")) return "/sys/fs/cgroup" + line.substr(3);
    }
    return "/sys/fs/cgroup";
}

}  // namespace

std::uint64_t memory_size() {
    const auto pages = ::sysconf(_SC_PHYS_PAGES);
    const auto page = ::sysconf(_SC_PAGESIZE);
    auto size = static_cast<std::uint64_t>(std::max(pages, 1L)) *
                static_cast<std::uint64_t>(std::max(page, 1L));
    std::ifstream file(control_group() + "/memory.max");
    std::uint64_t limit = 0;
    // The file contains "max" if there is no limit.
    if (file >> limit && limit > 0) size = std::min(size, limit);
    return size;
}

}  // namespace rocklock
