#include "daemon/server/socket_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "client/unix_socket.hpp"

namespace rocklock {
namespace {

constexpr int socket_backlog = 4096;

Error failed(const std::string& what) {
    const std::string text = what + ": " + std::strerror(errno);
    if (errno != EACCES && errno != EPERM && errno != EROFS) return {ErrorCode::io_error, text};
    return {ErrorCode::read_only, text + "; let this user write there, or choose another --socket"};
}

// Locks the lock file and writes the pid into it. Errors: store_in_use if another process has
// locked it.
Result<int> take_lock(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return failed("cannot open " + path);
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
        std::array<char, 32> text{};
        const auto size = ::pread(fd, text.data(), text.size() - 1, 0);
        ::close(fd);
        Error error(ErrorCode::store_in_use, "another daemon listens on this socket");
        const auto pid = size > 0 ? std::strtol(text.data(), nullptr, 10) : 0;
        if (pid > 0) {
            error.pid = pid;
            error.message += " (pid " + std::to_string(pid) + ")";
        }
        error.message += "; use that daemon, or choose another --socket";
        return error;
    }
    const auto text = std::to_string(::getpid()) + "\n";
    if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, text.data(), text.size(), 0) < 0) {
        auto error = failed("cannot write " + path);
        ::close(fd);
        return error;
    }
    return fd;
}

// A file that is not a socket belongs to another program and is not replaced.
Result<void> require_no_other_file(const std::string& path) {
    struct stat facts {};
    if (::lstat(path.c_str(), &facts) != 0 || S_ISSOCK(facts.st_mode)) return {};
    return Error(
        ErrorCode::invalid_argument,
        "cannot listen on " + path +
            ": there is a file that is not a socket; remove it or choose another --socket");
}

// Gives the file to the group, and allows the group to use it.
Result<void> admit_group(const std::string& path, gid_t group) {
    if (::lchown(path.c_str(), static_cast<uid_t>(-1), group) != 0) {
        return Error(ErrorCode::access_denied,
                     "cannot give " + path + " to the group of --admin-group: " +
                         std::strerror(errno) + "; the daemon's user must be a member of it");
    }
    if (::fchmodat(AT_FDCWD, path.c_str(), 0660, AT_SYMLINK_NOFOLLOW) != 0)
        return failed("cannot set the mode of " + path);
    return {};
}

// Binds the socket to a new file and listens. If there is a group, only the owner can use the
// file until the group is set. Removes the file after an error.
Result<void> create_listener(int listener, const std::string& path, std::optional<gid_t> group) {
    auto address = unix_address(path);
    if (!address) return std::move(address).error();
    const auto mask = ::umask(group ? 0177 : 0117);
    const int bound =
        ::bind(listener, reinterpret_cast<const sockaddr*>(&*address), sizeof *address);
    ::umask(mask);
    if (bound != 0) return failed("cannot listen on " + path);
    Result<void> done = group ? admit_group(path, *group) : Result<void>();
    if (done && ::listen(listener, socket_backlog) != 0) done = failed("cannot listen on " + path);
    if (!done) ::unlink(path.c_str());
    return done;
}

// Removes a socket that another daemon has left behind.
Result<void> remove_old_socket(const std::string& path) {
    if (auto free = require_no_other_file(path); !free) return free;
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failed("cannot replace " + path);
    return {};
}

}  // namespace

Result<SocketFile> SocketFile::listen(const std::string& path, std::optional<gid_t> group) {
    // With a group, a file at `path` must have this group from the beginning: a client of the group
    // would get EACCES and exit, although it waits for this daemon. The file is therefore created
    // at another path and renamed.
    const std::string made = group ? path + ".new" : path;
    // Checked before the lock file is created.
    auto address = unix_address(made);
    if (!address) {
        if (group) address.error().message += "; --admin-group needs 4 bytes more than the path";
        address.error().message += "; choose a shorter --socket";
        return std::move(address).error();
    }
    if (auto free = require_no_other_file(path); !free) return std::move(free).error();
    auto lock = take_lock(path + ".lock");
    if (!lock) {
        lock.error().message = "cannot listen on " + path + ": " + lock.error().message;
        return std::move(lock).error();
    }
    SocketFile file(path, *lock);

    if (const int probe = connect_unix(path); probe >= 0) {
        ::close(probe);
        return Error(ErrorCode::store_in_use,
                     "cannot listen on " + path + ": another program listens there");
    }

    file.listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file.listener_ < 0) return failed("cannot create a socket");
    if (auto removed = remove_old_socket(made); !removed) return std::move(removed).error();
    auto listening = create_listener(file.listener_, made, group);
    if (!listening) return std::move(listening).error();
    if (group && ::rename(made.c_str(), path.c_str()) != 0) {
        Error error = failed("cannot rename " + made);
        ::unlink(made.c_str());
        return error;
    }
    struct stat facts {};
    if (::lstat(path.c_str(), &facts) != 0) return failed("cannot listen on " + path);
    file.device_ = facts.st_dev;
    file.inode_ = facts.st_ino;
    file.bound_ = true;
    return file;
}

SocketFile::SocketFile(SocketFile&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::exchange(other.lock_, -1)),
      listener_(std::exchange(other.listener_, -1)),
      bound_(std::exchange(other.bound_, false)),
      device_(other.device_),
      inode_(other.inode_) {}

SocketFile::~SocketFile() {
    remove();
    if (listener_ >= 0) ::close(listener_);
    if (lock_ >= 0) ::close(lock_);
}

int SocketFile::take_descriptor() { return std::exchange(listener_, -1); }

bool SocketFile::there() const {
    struct stat facts {};
    return bound_ && ::lstat(path_.c_str(), &facts) == 0 && facts.st_dev == device_ &&
           facts.st_ino == inode_;
}

void SocketFile::remove() {
    if (there()) ::unlink(path_.c_str());
    bound_ = false;
}

}  // namespace rocklock
