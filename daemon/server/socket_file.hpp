// The file of a listening Unix socket. One daemon owns the file. If this daemon ends without
// removing the file, the next daemon replaces it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include <rocklock/result.hpp>

namespace rocklock {

// The right to listen on a path, held during the lifetime of the object.
//
// The owner locks a lock file next to the socket. The kernel releases this lock when the process
// ends, even if the process is killed. The owner replaces an existing socket file, unless a program
// that does not use the lock file listens on it.
class SocketFile {
public:
    // Listens on `path`. Only the owner of the socket file and its group can connect. If `group` is
    // given, it is the group of the file, which is then created at `path` + ".new" and renamed.
    //
    // Errors: store_in_use      another process listens there. The error contains its pid if it is
    //                           known
    //         access_denied     this process may not set this group for the file
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
    // Removes the file if there() returns true. Then, new clients cannot connect.
    void remove();

private:
    SocketFile(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

    std::string path_;
    int lock_ = -1;
    int listener_ = -1;
    bool bound_ = false;
    // The device and the inode of the file that was created.
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

}  // namespace rocklock
