#include "daemon/support/process_use.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "service/metrics.hpp"

namespace rocklock {
namespace {

std::optional<std::uint64_t> resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::uint64_t size_pages = 0;
    std::uint64_t resident_pages = 0;
    const auto page = ::sysconf(_SC_PAGESIZE);
    if (!(file >> size_pages >> resident_pages) || page <= 0) return std::nullopt;
    return resident_pages * static_cast<std::uint64_t>(page);
}

std::optional<std::uint64_t> open_descriptors() {
    struct stat directory {};
    if (::stat("/proc/self/fd", &directory) != 0) return std::nullopt;
    if (directory.st_size > 0) return static_cast<std::uint64_t>(directory.st_size);
    // An older kernel reports the size 0.
    std::error_code error;
    std::uint64_t count = 0;
    std::filesystem::directory_iterator descriptor("/proc/self/fd", error);
    while (!error && descriptor != std::filesystem::directory_iterator()) {
        ++count;
        descriptor.increment(error);
    }
    // One of the counted descriptors is that of the directory itself.
    if (error || count == 0) return std::nullopt;
    return count - 1;
}

}  // namespace

ProcessUse process_use() {
    ProcessUse use;
    use.resident_bytes = resident_bytes();
    use.open_descriptors = open_descriptors();
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) use.max_descriptors = limit.rlim_cur;
    return use;
}

void append_process_use(std::string& text) {
    const auto gauge = [&](const char* name, const char* help,
                           const std::optional<std::uint64_t>& value) {
        if (value) append_metric(text, name, "gauge", help, *value);
    };
    const ProcessUse use = process_use();
    gauge("process_resident_memory_bytes", "Resident memory of the daemon.", use.resident_bytes);
    gauge("process_open_fds", "Open file descriptors of the daemon.", use.open_descriptors);
    gauge("process_max_fds", "Limit of open file descriptors.", use.max_descriptors);
}

}  // namespace rocklock
