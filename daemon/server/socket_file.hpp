// The file of a listening Unix socket: one daemon owns it, a dead one's is replaced.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include <rocklock/result.hpp>

namespace rocklock {

// The right to listen on a path, held for as long as the object lives.
//
// A lock file beside the socket says whose it is; the kernel gives it up with the process, so that
// nothing is left of a daemon that was killed. Whoever has it may replace the socket file, unless
// something that knows nothing of the lock file listens there.
class SocketFile {
public:
    // Listens on `path`, for the owner and the group only; the file gets `group`, where one is
    // given.
    //
    // Errors: store_in_use  another process listens there (with its pid where that is known)
    //         access_denied this process may not give the file that group
    //         invalid_argument  the path is too long for a socket
    //         io_error
    static Result<SocketFile> listen(const std::string& path, std::optional<gid_t> group = {});

    SocketFile(SocketFile&& other) noexcept;
    SocketFile& operator=(SocketFile&& other) noexcept = delete;
    // Removes the socket file, as remove() does.
    ~SocketFile();

    // The listening socket, once; the caller closes it.
    int take_descriptor();
    const std::string& path() const { return path_; }
    // Whether the file on the path is still the one that was made here. Where it was removed, or
    // replaced by another daemon's, nobody who comes finds us.
    bool there() const;
    // Removes the file now, if it is ours still: whoever comes from here on finds nobody.
    void remove();

private:
    SocketFile(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

    std::string path_;
    int lock_ = -1;
    int listener_ = -1;
    bool bound_ = false;
    // Which file it is.
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

}  // namespace rocklock
