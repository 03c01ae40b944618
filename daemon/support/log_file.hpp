// The file of the log, if the daemon writes its log into a file.
//
// stdout and stderr are redirected to the file, so that it also contains the messages of libraries
// and of failed assertions. When the file reaches its maximum size, it is renamed to `PATH.1` and
// replaces an older file with that name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <rocklock/result.hpp>

namespace rocklock {

// Threads:  one at a time.
// Lifetime: stdout and stderr stay redirected to the file after the object is destroyed.
class LogFile {
public:
    // Opens the file, or creates it if it does not exist, and redirects stdout and stderr to it.
    // Symbolic links are not followed. Errors: io_error
    static Result<std::unique_ptr<LogFile>> open(const std::string& path, std::uint64_t max_bytes);

    // Rotates the file if `bytes` more bytes would exceed its maximum size. If the rotation fails,
    // the file keeps growing, and the next call tries again.
    void make_room(std::size_t bytes);
    // Opens the file again. If the open fails, the previous file stays in use.
    void reopen();

private:
    LogFile(std::string path, std::uint64_t max_bytes)
        : path_(std::move(path)), max_bytes_(max_bytes) {}

    // Errors: io_error
    Result<void> redirect() const;

    const std::string path_;
    const std::uint64_t max_bytes_;
};

}  // namespace rocklock
