#include "storage/log_recovery.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "base/mutant.hpp"

namespace rocklock {

using rocksdb::FileSystem;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

std::optional<std::uint64_t> log_number(const std::string& path) {
    std::string_view name = path;
    if (!name.ends_with(".log")) return std::nullopt;
    name.remove_suffix(4);
    name.remove_prefix(name.find_last_of('/') + 1);
    std::uint64_t number = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
    if (read.ec != std::errc() || read.ptr != name.data() + name.size()) return std::nullopt;
    return number;
}

void LogRecovery::begin(std::uint64_t key, bool thorough) {
    key_ = key;
    thorough_ = thorough;
    active_ = true;
}

IOStatus LogRecovery::judge(FileSystem& files, const std::string& path, bool clean) {
    if (clean && !thorough_ && !cut_) return {};
    std::string log;
    if (auto status = rocksdb::ReadFileToString(&files, path, &log); !status.ok()) return status;
    const LogExtent extent = measure_log(log);
    if (cut_) {
        discarded_ += extent.written;
        return {};
    }
    Evidence evidence;
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
        discarded_ += extent.written - extent.intact;
    }
    return {};
}

IOStatus LogRecovery::collect(FileSystem& files, const std::string& path, std::string_view log,
                              Evidence& evidence) const {
    const std::string directory = std::filesystem::path(path).parent_path();
    const auto number = log_number(path);
    const auto note = [&](std::string_view bytes) {
        const auto marks = find_sync_marks(key_, bytes);
        for (const SyncMark& mark : marks) {
            if (mark.log == number) evidence.synced = std::max(evidence.synced, mark.bytes);
        }
        return !marks.empty();
    };
    note(log);
    std::vector<std::string> names;
    if (auto status = files.GetChildren(directory, IOOptions(), &names, nullptr); !status.ok()) {
        return status;
    }
    for (const std::string& name : names) {
        if (log_number(name) <= number) continue;
        std::string later;
        const std::string file = (std::filesystem::path(directory) / name).string();
        auto status = rocksdb::ReadFileToString(&files, file, &later);
        // Another process that has the store open may have removed the file.
        if (status.IsNotFound() || status.IsPathNotFound()) continue;
        if (!status.ok()) return status;
        if (note(later)) evidence.all = true;
    }
    return {};
}

void LogRecovery::synced(std::uint64_t log, std::uint64_t bytes) {
    MutexLock lock(mutex_);
    if (log < synced_.log || (log == synced_.log && bytes <= synced_.bytes)) return;
    synced_ = {log, bytes};
    fresh_ = true;
}

std::optional<SyncMark> LogRecovery::take_mark() {
    MutexLock lock(mutex_);
    if (!fresh_) return std::nullopt;
    fresh_ = false;
    return synced_;
}

}  // namespace rocklock
