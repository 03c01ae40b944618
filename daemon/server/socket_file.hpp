// The file of a listening Unix socket. One daemon owns it. If the daemon has ended without removing
// the file, the next daemon replaces it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include <rocklock/result.hpp>

namespace rocklock {

// The right to listen on a path, held during the lifetime of the object.
//
// The owner locks a file next to the socket. The kernel releases the lock when the process ends,
// also if it is killed. The owner replaces an existing socket file, unless a program that does not
// use the lock file listens on it.
class SocketFile {
public:
    // Listens on `path`. Only the owner and the group can connect; the group is `group`, if given.
    //
    // Errors: store_in_use      another process listens there; with its pid if it is known
    //         access_denied     this process may not give the file that group
    //         read_only         this user cannot write in the directory
    //         invalid_argument  the path is too long for a socket, or another kind of file is there
    //         io_error
    static Result<SocketFile> listen(const std::string& path, std::optional<gid_t> group = {});

    SocketFile(SocketFile&& other) noexcept;
    SocketFile& operator=(SocketFile&& other) noexcept = delete;
    // Removes the socket file, as remove().
    ~SocketFile();

    // Returns the listening socket, which the caller must close. Returns -1 if it was taken before.
    int take_descriptor();
    const std::string& path() const { return path_; }
    // Returns true if the file at the path is the one that this object created. If the file was
    // removed or replaced, new clients cannot connect to this daemon.
    bool there() const;
    // Removes the file if there() is true. New clients then cannot connect.
    void remove();

private:
    SocketFile(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

    std::string path_;
    int lock_ = -1;
    int listener_ = -1;
    bool bound_ = false;
    // Identify the file that was created.
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

}  // namespace rocklock
