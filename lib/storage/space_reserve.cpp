#include "storage/space_reserve.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tuple>

#include "base/assert.hpp"

namespace rocklock {
namespace {

using std::chrono::steady_clock;

// The part of the file system that the reserve may occupy: one eighth.
constexpr std::uint64_t max_share = 8;

// The space that give() adds to the requested size, because the file system itself may need some to
// extend a file.
constexpr std::uint64_t spare_bytes = 16U << 10;
// The space for small files that are written when a store is opened.
constexpr std::uint64_t small_files_bytes = 1U << 20;

// Returns the space that the file occupies, or 0 if there is none.
std::uint64_t allocated_bytes(const std::string& path) {
    constexpr std::uint64_t block_bytes = 512;
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
    return std::min(static_cast<std::uint64_t>(status.st_blocks) * block_bytes,
                    static_cast<std::uint64_t>(status.st_size));
}

// Returns whether this process may have a file of `bytes` bytes. A call that would exceed the limit
// of the process sends it a signal.
bool may_have_file(std::uint64_t bytes) {
    rlimit limit{};
    return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           bytes <= limit.rlim_cur;
}

// The state becomes `low` if the free space and the file together are smaller than enough_room(),
// and can end when they are at least ample_room(). The two limits differ, so that the state does
// not change with every small change of the free space.
std::uint64_t enough_room(std::uint64_t bytes) { return bytes + bytes / 2; }
std::uint64_t ample_room(std::uint64_t bytes) { return bytes + bytes / 4 * 3; }

std::string megabytes(std::uint64_t bytes) {
    return std::to_string(bytes / 1'000'000) + "." + std::to_string(bytes / 100'000 % 10) + " MB";
}

}  // namespace

std::optional<FileSystemSpace> file_system_space(const std::string& path) {
    struct statvfs found {};
    while (::statvfs(path.c_str(), &found) != 0) {
        if (errno != EINTR) return std::nullopt;
    }
    return FileSystemSpace{std::uint64_t{found.f_blocks} * found.f_frsize,
                           std::uint64_t{found.f_bavail} * found.f_frsize};
}

SpaceReserve::~SpaceReserve() {
    thread_.stop([this] {
        {
            const MutexLock lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
    });
}

std::optional<FileSystemSpace> SpaceReserve::space() const {
    return given_space_ ? given_space_() : file_system_space(directory_);
}

void SpaceReserve::make_room(const RocksdbOptions& options) {
    given_space_ = options.file_system_space;
    const MutexLock lock(mutex_);
    wanted_bytes_ = options.reserve_bytes;
    if (wanted_bytes_ == 0) return remove_file();
    state_.allocated_bytes = allocated_bytes(path_);
    judge(false);
    if (state_.low && state_.free_bytes < small_files_bytes)
        std::ignore = shorten(small_files_bytes);
}

void SpaceReserve::start(const RocksdbOptions& options) {
    on_changed_ = options.on_space_changed;
    set_bytes(options.reserve_bytes);
}

void SpaceReserve::set_bytes(std::uint64_t bytes) {
    const MutexLock lock(mutex_);
    wanted_bytes_ = bytes;
    without_file_ = false;
    if (bytes == 0) remove_file();
    judge(true);
    if (bytes != 0 && !thread_.started()) thread_.start([this] { run(); });
    changed_.notify_all();
}

bool SpaceReserve::give(std::uint64_t size) {
    const MutexLock lock(mutex_);
    return !abandoned_ && shorten(size + spare_bytes);
}

// The file belongs to the store alone, so its size is known without asking the system.
bool SpaceReserve::shorten(std::uint64_t size) {
    if (state_.allocated_bytes == 0) return false;
    const std::uint64_t left = state_.allocated_bytes - std::min(size, state_.allocated_bytes);
    if (::truncate(path_.c_str(), static_cast<off_t>(left)) != 0) return false;
    state_.allocated_bytes = left;
    return true;
}

void SpaceReserve::take_back(std::uint64_t size) {
    const MutexLock lock(mutex_);
    const std::uint64_t before = state_.allocated_bytes;
    if (!state_.low || abandoned_ || before >= state_.bytes) return;
    // Another program may have taken a part of the space.
    for (; size >= spare_bytes && state_.allocated_bytes == before; size /= 2) {
        extend(std::min(state_.bytes, before + size));
    }
}

// Extends or shortens the file to `size` bytes.
void SpaceReserve::extend(std::uint64_t size) {
    if (without_file_ || state_.allocated_bytes == size) return;
    if (!may_have_file(size)) {
        without_file_ = true;
        return remove_file();
    }
    const int file =
        ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (file < 0) {
        without_file_ = errno != ENOSPC && errno != EDQUOT;
        return;
    }
    const auto length = static_cast<off_t>(size);
    int failed = ::ftruncate(file, length) == 0 ? 0 : errno;
    // Not posix_fallocate(), which would write each block where there is no preallocation.
    while (failed == 0 && ::fallocate(file, 0, 0, length) != 0) {
        if (errno == EINTR) continue;
        failed = errno;
    }
    // The extension fails if another program has used the space, or if the quota is reached. The
    // file then keeps the space that it already has, and is extended later.
    const bool full = failed == ENOSPC || failed == EDQUOT;
    if (full) {
        std::ignore = ::ftruncate(file, static_cast<off_t>(std::min(size, state_.allocated_bytes)));
    }
    ::close(file);
    if (failed == 0) {
        state_.allocated_bytes = size;
    } else if (!full) {
        without_file_ = true;
        remove_file();
    }
}

void SpaceReserve::remove_file() noexcept {
    ::unlink(path_.c_str());
    state_.allocated_bytes = 0;
}

void SpaceReserve::judge(bool may_extend) {
    const auto found = space();
    if (wanted_bytes_ == 0 || abandoned_ || !found) {
        state_.low = false;
        low_ = false;
        return;
    }
    state_.bytes = std::min(wanted_bytes_, found->bytes / max_share);
    const std::uint64_t room = found->free_bytes + state_.allocated_bytes;
    const bool low = room < (state_.low ? ample_room(state_.bytes) : enough_room(state_.bytes));
    if (may_extend && !low) extend(state_.bytes);
    const bool whole = without_file_ || state_.allocated_bytes == state_.bytes;
    const auto after = may_extend ? space() : found;
    state_.free_bytes = after ? after->free_bytes : found->free_bytes;
    free_bytes_ = state_.free_bytes;
    const std::uint64_t ample = ample_room(state_.bytes);
    needed_bytes_ = ample - std::min(ample, state_.allocated_bytes);
    // The state ends only when the file is whole again.
    state_.low = low || (state_.low && !whole);
    low_ = state_.low;
}

void SpaceReserve::check_before_write(steady_clock::time_point now) {
    next_check_ = now + check_period;
    unchecked_bytes_ = 0;
    judge_for_writer();
}

void SpaceReserve::check() {
    if (accepts_growth()) judge_for_writer();
}

void SpaceReserve::judge_for_writer() {
    const MutexLock lock(mutex_);
    if (wanted_bytes_ == 0 || abandoned_) return;
    judge(false);
    if (state_.low) changed_.notify_all();
}

void SpaceReserve::run() {
    MutexLock lock(mutex_);
    while (!stopping_) {
        if (state_.low) {
            if (reported_low_) changed_.wait_for(mutex_, recheck_period);
            if (state_.low && reported_low_) judge(true);
        } else if (!reported_low_) {
            changed_.wait(mutex_);
        }
        if (stopping_ || state_.low == reported_low_) continue;
        reported_low_ = state_.low;
        const SpaceReserveState changed = state_;
        if (!on_changed_) continue;
        lock.unlock();
        on_changed_(changed);
        lock.lock();
    }
}

Error SpaceReserve::refusal() const {
    return {ErrorCode::no_space,
            "the disk is almost full, so that new sessions, locks and data are refused; releases, "
            "renewals and deletions continue: make room on the file system of " +
                directory_ + " until " + megabytes(needed_bytes_) + " are free (now: " +
                megabytes(free_bytes_) + "), or lower reserve-bytes; then try again"};
}

std::optional<SpaceReserveState> SpaceReserve::state() const {
    const MutexLock lock(mutex_);
    if (wanted_bytes_ == 0) return std::nullopt;
    return state_;
}

void SpaceReserve::abandon() noexcept {
    const MutexLock lock(mutex_);
    if (wanted_bytes_ == 0) return;
    abandoned_ = true;
    remove_file();
}

}  // namespace rocklock
