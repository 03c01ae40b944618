#include "daemon/support/log_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <tuple>

namespace rocklock {

Result<std::unique_ptr<LogFile>> LogFile::open(const std::string& path, std::uint64_t max_bytes) {
    auto file = std::unique_ptr<LogFile>(new LogFile(path, max_bytes));
    if (auto redirected = file->redirect(); !redirected) return std::move(redirected).error();
    return file;
}

void LogFile::make_room(std::size_t bytes) {
    struct stat status {};
    if (::fstat(STDERR_FILENO, &status) != 0 || status.st_size == 0) return;
    if (static_cast<std::uint64_t>(status.st_size) + bytes <= max_bytes_) return;
    // Fails if an earlier attempt has renamed the file and could not open a new one.
    std::ignore = std::rename(path_.c_str(), (path_ + ".1").c_str());
    reopen();
}

void LogFile::reopen() { std::ignore = redirect(); }

Result<void> LogFile::redirect() const {
    const int file =
        ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) {
        return Error(ErrorCode::io_error, "cannot write the log file " + path_ + ": " +
                                              std::strerror(errno) +
                                              "; name another one with --log-file");
    }
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
    ::close(file);
    return {};
}

}  // namespace rocklock
