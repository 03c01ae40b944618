#include "storage/files/store_directory.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "base/assert.hpp"

namespace rocklock {
namespace {

namespace fs = std::filesystem;

// The locks of this process. A lock by flock() belongs to an open file, which a fork shares. A
// child that outlives its parent would therefore keep the store locked, so the child closes these
// files. 0 is a free slot.
std::array<std::atomic<int>, 256> locks_of_this_process;

void close_locks_in_child() {
    for (auto& slot : locks_of_this_process) {
        if (const int descriptor = slot.exchange(0); descriptor != 0) close(descriptor);
    }
}

void remember_lock(int descriptor) {
    [[maybe_unused]] static const bool registered = [] {
        const int failed = pthread_atfork(nullptr, nullptr, close_locks_in_child);
        ROCKLOCK_ASSERT(failed == 0);
        return true;
    }();
    for (auto& slot : locks_of_this_process) {
        int none = 0;
        if (slot.compare_exchange_strong(none, descriptor)) return;
    }
}

void forget_lock(int descriptor) {
    for (auto& slot : locks_of_this_process) {
        int expected = descriptor;
        if (slot.compare_exchange_strong(expected, 0)) return;
    }
}

// Closes the file in its destructor.
class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (number_ >= 0) close(number_);
    }
    int number() const { return number_; }
    bool valid() const { return number_ >= 0; }
    int release() { return std::exchange(number_, -1); }

private:
    int number_;
};

Result<void> sync_directory(const std::string& path) {
    const Descriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.valid() || fsync(directory.number()) != 0) {
        return system_error("cannot sync " + path, errno);
    }
    return {};
}

Result<std::set<std::string>> names_in(const std::string& path) {
    std::error_code failed;
    std::set<std::string> names;
    for (fs::directory_iterator entry(path, failed), end; !failed && entry != end;
         entry.increment(failed)) {
        names.insert(entry->path().filename().string());
    }
    if (failed) return system_error("cannot list " + path, failed.value());
    return names;
}

std::string read_start(const std::string& path) {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    char buffer[256];
    const ssize_t size = file.valid() ? read(file.number(), buffer, sizeof buffer) : 0;
    std::string text(buffer, size > 0 ? static_cast<std::size_t>(size) : 0);
    return text.substr(0, text.find('\n'));
}

std::string parent_of(const std::string& path) {
    const fs::path parent = fs::absolute(path).lexically_normal();
    return (parent.has_filename() ? parent : parent.parent_path()).parent_path().string();
}

bool is_table_or_log(const std::string& name) {
    return name.ends_with(".sst") || name.ends_with(".log") || name.ends_with(".commits");
}

}  // namespace

Error system_error(const std::string& what, int number) {
    const std::string text = what + ": " + std::generic_category().message(number);
    switch (number) {
        case EACCES:
        case EPERM:
        case EROFS:
            return Error(ErrorCode::read_only,
                         text + "; let this user write there, or give another directory");
        case ENOSPC:
        case EDQUOT:
            return Error(ErrorCode::no_space, text + "; make room, then open the store again");
        case EFBIG:
            return Error(ErrorCode::no_space,
                         text +
                             "; raise the process's limit of file sizes (ulimit -f), then open "
                             "the store again");
        case ENOTDIR:
            return Error(ErrorCode::not_a_store, text + "; give a directory");
        default:
            return Error(ErrorCode::io_error, text);
    }
}

Result<std::unique_ptr<StoreDirectory>> StoreDirectory::prepare(const std::string& directory,
                                                                bool create_if_missing, Use use) {
    std::unique_ptr<StoreDirectory> store(new StoreDirectory(directory));
    if (auto found = store->find_or_make(create_if_missing); !found) return found.error();
    if (auto inspected = store->inspect(create_if_missing); !inspected) return inspected.error();
    auto writable = store->require_writable();
    if (!writable && use == Use::write) return writable.error();
    if (auto locked = writable ? store->take_lock() : store->lock_for_reading(use); !locked) {
        const bool used = locked.error().code == ErrorCode::store_in_use;
        if (!used || use != Use::read_shared) return locked.error();
    }
    // Checks again: before the lock was taken, another process may have created the store, or
    // removed SYNCED after a failure.
    if (auto inspected = store->inspect(create_if_missing); !inspected) return inspected.error();
    // Creates the directory here, since RocksDB would apply the umask of the process, and the
    // parent directory may be accessible to other users.
    const bool creates = !store->existing_ && writable && use == Use::write;
    if (creates && mkdir(store->database().c_str(), 0700) != 0 && errno != EEXIST) {
        return system_error("cannot make the directory " + store->database(), errno);
    }
    return store;
}

Result<void> StoreDirectory::find_or_make(bool create_if_missing) {
    struct stat status {};
    if (stat(path_.c_str(), &status) == 0) {
        if (S_ISDIR(status.st_mode)) return {};
        return Error(ErrorCode::not_a_store, path_ + " is not a directory; give a directory");
    }
    if (errno != ENOENT) return system_error("cannot open " + path_, errno);
    if (!create_if_missing)
        return Error(ErrorCode::not_a_store, "there is no store at " + path_ + "; check the path");
    // Accessible to its owner only: a store contains the key that proves the ownership of sessions.
    if (mkdir(path_.c_str(), 0700) == 0) {
        made_directory_ = true;
        return sync_directory(parent_of(path_));
    }
    if (errno == EEXIST) return {};
    return system_error("cannot make the directory " + path_, errno);
}

Result<void> StoreDirectory::inspect(bool create_if_missing) {
    auto names = names_in(path_);
    if (!names) return std::move(names).error();
    names->erase("lost+found");
    const bool has_marker = names->contains("SYNCED");
    // A copy consists of a database only. Other files next to the database do no harm.
    const bool is_ours =
        has_marker || (names->contains("rocklock.pid") && names->contains("db")) || has_database();
    if (!is_ours) {
        for (const std::string& name : *names) {
            if (name == "db" || name == "rocklock.pid" || name == "SYNCED.new") continue;
            return Error(ErrorCode::not_a_store,
                         path_ + " contains other files (" + name +
                             ") and no store; give a directory that is new, empty or a store");
        }
    }
    marker_ = has_marker ? std::optional(read_start(marker_file())) : std::nullopt;
    existing_ = false;
    if (names->contains("db")) {
        if (auto inspected = inspect_database(); !inspected) return inspected;
    }
    if (existing_) return {};
    // If its database is missing, a store must not be mistaken for a new one.
    if (has_marker)
        return Error(ErrorCode::corrupt, database() + "/CURRENT is missing; restore a backup");
    if (!create_if_missing)
        return Error(ErrorCode::not_a_store, "there is no store at " + path_ + "; check the path");
    return {};
}

bool StoreDirectory::has_database() const {
    std::error_code ignored;
    return fs::is_regular_file(database() + "/CURRENT", ignored) &&
           fs::is_regular_file(database() + "/IDENTITY", ignored);
}

Result<void> StoreDirectory::inspect_database() {
    const auto names = names_in(database());
    if (!names) return names.error();
    existing_ = names->contains("CURRENT");
    if (existing_) return {};
    for (const std::string& name : *names) {
        if (is_table_or_log(name)) {
            return Error(ErrorCode::corrupt, database() + "/CURRENT is missing; restore a backup");
        }
        // The files of an interrupted creation.
        if (name == "LOCK" || name == "IDENTITY" || name == "SYNCED_LOG" ||
            name == "SYNCED_COMMITS" || name.starts_with("MANIFEST-") || name.ends_with(".dbtmp")) {
            continue;
        }
        return Error(ErrorCode::not_a_store,
                     database() + " contains other files (" + name +
                         "); give a directory that is new, empty or a store");
    }
    return {};
}

Result<void> StoreDirectory::require_writable() const {
    for (const std::string& path : {path_, database()}) {
        if (faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) != 0 && errno != ENOENT) {
            return system_error("cannot write to " + path, errno);
        }
    }
    return {};
}

Result<void> StoreDirectory::take_lock() {
    int number = open(pid_file().c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const bool made = number >= 0;
    if (!made && errno == EEXIST) number = open(pid_file().c_str(), O_RDWR | O_CLOEXEC);
    if (number < 0) return system_error("cannot open " + pid_file(), errno);
    if (auto locked = lock_file(number); !locked) return locked;
    made_pid_file_ = made;
    const std::string pid = std::to_string(getpid()) + "\n";
    if (pwrite(lock_, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size()) ||
        ftruncate(lock_, static_cast<off_t>(pid.size())) != 0) {
        return system_error("cannot write to " + pid_file(), errno);
    }
    return {};
}

// If the directory is not writable, locks the file that the process with the open store has locked.
Result<void> StoreDirectory::lock_for_reading(Use use) {
    const int number = open(pid_file().c_str(), O_RDONLY | O_CLOEXEC);
    if (number >= 0) return lock_file(number);
    // Succeeds if the store was never open. With `read_shared`, also accepts a file that is not
    // readable.
    if (errno == ENOENT || use == Use::read_shared) return {};
    return system_error("cannot open " + pid_file(), errno);
}

Result<void> StoreDirectory::lock_file(int number) {
    Descriptor file(number);
    while (flock(file.number(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) return in_use();
        if (errno != EINTR) return system_error("cannot lock " + pid_file(), errno);
    }
    lock_ = file.release();
    remember_lock(lock_);
    return {};
}

Error StoreDirectory::in_use() const {
    const std::string text = read_start(pid_file());
    std::int64_t pid = 0;
    std::from_chars(text.data(), text.data() + text.size(), pid);
    Error error(ErrorCode::store_in_use, path_ + " is already open");
    if (pid > 0) {
        error.message += " in process " + std::to_string(pid);
        error.pid = pid;
    }
    return error;
}

StoreDirectory::~StoreDirectory() {
    if (lock_ < 0) {
        if (made_directory_) rmdir(path_.c_str());
        return;
    }
    // The fork handler has already closed the lock in the child.
    if (fork_check_.in_child()) return;
    if (!kept_) {
        std::error_code ignored;
        if (!existing_) {
            remove_marker();
            fs::remove_all(database(), ignored);
        }
        if (made_pid_file_) unlink(pid_file().c_str());
        if (made_directory_) rmdir(path_.c_str());
    }
    forget_lock(lock_);
    close(lock_);
}

Result<void> StoreDirectory::write_marker(const std::string& boot_id) {
    const std::string fresh = marker_file() + ".new";
    const std::string text = boot_id + "\n";
    const Descriptor file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file.valid() ||
        write(file.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
        fsync(file.number()) != 0 || rename(fresh.c_str(), marker_file().c_str()) != 0) {
        Error error = system_error("cannot write " + marker_file(), errno);
        unlink(fresh.c_str());
        return error;
    }
    marker_ = boot_id;
    return sync_directory(path_);
}

void StoreDirectory::remove_marker() noexcept {
    if (!leaves_marker_) unlink(marker_file().c_str());
}

std::optional<std::int64_t> holder_of_database(const std::string& database) {
    const Descriptor file(open((database + "/LOCK").c_str(), O_RDWR | O_CLOEXEC));
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (!file.valid() || fcntl(file.number(), F_GETLK, &lock) != 0) return std::nullopt;
    if (lock.l_type == F_UNLCK || lock.l_pid <= 0) return std::nullopt;
    return lock.l_pid;
}

}  // namespace rocklock
