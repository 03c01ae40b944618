#include "storage/disk_use.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "storage/space_reserve.hpp"

namespace rocklock {

std::optional<std::uint64_t> occupied_bytes(const std::string& directory) {
    constexpr std::uint64_t block_bytes = 512;
    std::error_code error;
    std::filesystem::recursive_directory_iterator file(directory, error);
    if (error) return std::nullopt;
    std::uint64_t bytes = 0;
    while (file != std::filesystem::recursive_directory_iterator()) {
        struct stat status {};
        // The size of a file with preallocated space is less than the space that it occupies.
        if (::lstat(file->path().c_str(), &status) == 0) {
            bytes += static_cast<std::uint64_t>(status.st_blocks) * block_bytes;
        }
        file.increment(error);
        if (error) return std::nullopt;
    }
    return bytes;
}

void DiskUse::add_to(StorageStatistics& statistics, const std::string& directory,
                     std::chrono::steady_clock::time_point now) const {
    {
        const MutexLock lock(mutex_);
        if (!examined_ || now - *examined_ >= period) {
            bytes_ = occupied_bytes(directory);
            examined_ = now;
        }
        statistics.bytes = bytes_;
    }
    const auto found = file_system_space(directory);
    if (!found) return;
    statistics.file_system_bytes = found->bytes;
    statistics.free_bytes = found->free_bytes;
}

}  // namespace rocklock
