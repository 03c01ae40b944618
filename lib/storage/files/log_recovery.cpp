#include "storage/files/log_recovery.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "base/mutant.hpp"
#include "storage/files/store_directory.hpp"

namespace rocklock {

using rocksdb::FileSystem;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

namespace {

// Returns the path of the file with the newest mark.
std::string mark_file(const std::string& directory, LogKind kind) {
    return directory + (kind == LogKind::rocksdb ? "/SYNCED_LOG" : "/SYNCED_COMMITS");
}

// Returns the mark in the file. If the file is absent or has other contents, returns a mark that
// states nothing.
SyncMark read_mark_file(std::uint64_t key, const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    std::array<char, 64> bytes{};
    const ssize_t size = ::pread(file, bytes.data(), bytes.size(), 0);
    ::close(file);
    const auto read = size > 0 ? static_cast<std::size_t>(size) : 0;
    return decode_sync_mark(key, {bytes.data(), read}).value_or(SyncMark());
}

// Returns an error if the log of the mark was synced, and neither it nor a later one exists. A log
// is removed only after the next one was created.
Result<void> require_log(const SyncMark& mark, const std::string& directory, LogKind kind) {
    if (mark.bytes == 0) return {};
    std::error_code failed;
    for (std::filesystem::directory_iterator entry(directory, failed), end; !failed && entry != end;
         entry.increment(failed)) {
        if (log_number(entry->path().string(), kind) >= mark.log) return {};
    }
    if (failed) return system_error("cannot list " + directory, failed.value());
    return Error(ErrorCode::corrupt, "log " + std::to_string(mark.log) + " in " + directory +
                                         " is missing, and " + std::to_string(mark.bytes) +
                                         " bytes of it were synced to the disk");
}

}  // namespace

std::string_view suffix_of(LogKind kind) { return kind == LogKind::rocksdb ? ".log" : ".commits"; }

std::optional<std::uint64_t> log_number(std::string_view path, LogKind kind) {
    std::string_view name = path;
    if (!name.ends_with(suffix_of(kind))) return std::nullopt;
    name.remove_suffix(suffix_of(kind).size());
    name.remove_prefix(name.find_last_of('/') + 1);
    std::uint64_t number = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
    if (read.ec != std::errc() || read.ptr != name.data() + name.size()) return std::nullopt;
    return number;
}

// Does not lock the mutex, which another thread may have held when this process was forked.
LogRecovery::~LogRecovery() ROCKLOCK_NO_THREAD_SAFETY_ANALYSIS {
    if (file_ >= 0) ::close(file_);
}

Result<void> LogRecovery::begin(std::uint64_t key, const std::string& directory, bool thorough) {
    key_ = key;
    thorough_ = thorough;
    cut_ = false;
    discarded_ = 0;
    last_run_ = read_mark_file(key, mark_file(directory, kind_));
    active_ = true;
    if (mutated(Mutant::synced_damage_recovered)) return {};
    return require_log(last_run_, directory, kind_);
}

// Returns what the mark file states about a log.
LogRecovery::Evidence LogRecovery::stated(std::uint64_t log) const {
    return {log == last_run_.log ? last_run_.bytes : 0, log < last_run_.log};
}

IOStatus LogRecovery::judge(FileSystem& files, const std::string& path, const LogTail& tail) {
    Evidence evidence = stated(log_number(path, kind_).value_or(0));
    const bool whole = tail.clean() && tail.end() >= evidence.synced && !evidence.all;
    if (whole && !thorough_ && !cut_) return {};
    std::string log;
    if (auto status = rocksdb::ReadFileToString(&files, path, &log); !status.ok()) return status;
    const LogExtent extent = measure_log(log);
    if (cut_) {
        discarded_ += extent.written;
        return {};
    }
    if (auto status = collect(files, path, log, evidence); !status.ok()) return status;
    const bool damaged = extent.intact < extent.written;
    const bool lost = extent.intact < evidence.synced || (damaged && evidence.all);
    if (lost && !mutated(Mutant::synced_damage_recovered)) {
        return IOStatus::Corruption(path,
                                    "a record at byte " + std::to_string(extent.intact) +
                                        " is damaged or missing although it was synced to the "
                                        "disk; a crash or a power cut does not cause this");
    }
    if (damaged) {
        cut_ = true;
        discarded_ += extent.discarded;
    }
    return {};
}

IOStatus LogRecovery::collect(FileSystem& files, const std::string& path, std::string_view log,
                              Evidence& evidence) const {
    const std::string directory = std::filesystem::path(path).parent_path();
    const auto number = log_number(path, kind_);
    const auto note = [&](std::string_view bytes, bool later) {
        for (const SyncMark& mark : find_sync_marks(key_, bytes)) {
            if (mark.log == number) evidence.synced = std::max(evidence.synced, mark.bytes);
            if (mark.log > number || (later && kind_ == LogKind::rocksdb)) evidence.all = true;
        }
    };
    note(log, false);
    std::vector<std::string> names;
    if (auto status = files.GetChildren(directory, IOOptions(), &names, nullptr); !status.ok()) {
        return status;
    }
    for (const std::string& name : names) {
        if (log_number(name, kind_) <= number) continue;
        std::string later;
        const std::string file = (std::filesystem::path(directory) / name).string();
        auto status = rocksdb::ReadFileToString(&files, file, &later);
        // Another process that has the store open may have removed the file.
        if (status.IsNotFound() || status.IsPathNotFound()) continue;
        if (!status.ok()) return status;
        note(later, true);
    }
    return {};
}

Result<void> LogRecovery::keep_marks(std::uint64_t key, const std::string& directory) {
    const std::string path = mark_file(directory, kind_);
    MutexLock lock(mutex_);
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file_ < 0) return system_error("cannot open " + path, errno);
    file_key_ = key;
    // Allocates the space, so that later marks can be written even if the disk is full.
    if (::lseek(file_, 0, SEEK_END) > 0) return {};
    encode_sync_mark(key, synced_, bytes_);
    const ssize_t size = ::pwrite(file_, bytes_.data(), bytes_.size(), 0);
    if (size < 0) return system_error("cannot write to " + path, errno);
    return {};
}

void LogRecovery::appended(std::uint64_t log, std::uint64_t bytes) {
    MutexLock lock(mutex_);
    appended_ = {log, bytes};
}

void LogRecovery::completed() {
    MutexLock lock(mutex_);
    written_ = appended_;
}

SyncMark LogRecovery::written() const {
    MutexLock lock(mutex_);
    return written_;
}

void LogRecovery::synced(const SyncMark& mark) {
    MutexLock lock(mutex_);
    if (mark.log < synced_.log || (mark.log == synced_.log && mark.bytes <= synced_.bytes)) return;
    synced_ = mark;
    fresh_ = true;
    if (file_ < 0) return;
    encode_sync_mark(file_key_, synced_, bytes_);
    // If this fails, the file contains an older mark, which is also true.
    std::ignore = ::pwrite(file_, bytes_.data(), bytes_.size(), 0);
}

std::optional<SyncMark> LogRecovery::take_mark() {
    MutexLock lock(mutex_);
    if (!fresh_) return std::nullopt;
    fresh_ = false;
    return synced_;
}

}  // namespace rocklock
