#include "storage/files/log_sync.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "storage/files/log_recovery.hpp"
#include "storage/files/store_directory.hpp"

namespace rocklock {

Result<void> sync_file(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return system_error("cannot open " + path, errno);
    const bool synced = ::fsync(file) == 0;
    const int failure = errno;
    ::close(file);
    if (!synced) return system_error("cannot sync " + path, failure);
    return {};
}

LogSync::LogSync(std::string directory) : directory_(std::move(directory)) {
    try {
        thread_ = std::thread([this] { sync(); });
    } catch (const std::system_error&) {
        // finish() makes the sync.
    }
}

LogSync::~LogSync() {
    if (thread_.joinable()) thread_.join();
}

Result<void> LogSync::finish() {
    if (thread_.joinable()) thread_.join();
    if (!done_) sync();
    return result_;
}

void LogSync::sync() {
    result_ = sync_file(directory_);
    std::error_code failed;
    for (std::filesystem::directory_iterator entry(directory_, failed), end;
         result_ && !failed && entry != end; entry.increment(failed)) {
        const std::string path = entry->path().string();
        if (log_number(path, LogKind::commits)) result_ = sync_file(path);
    }
    if (failed) result_ = system_error("cannot list " + directory_, failed.value());
    done_ = true;
}

}  // namespace rocklock
