#include "storage/rocksdb/reserved_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "storage/space_reserve.hpp"

namespace rocklock {
namespace {

using rocksdb::FileOptions;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

bool names_log(const std::string& path) {
    return path.ends_with(".log") || path.ends_with(".commits");
}
bool names_options(const std::string& path) { return path.find("/OPTIONS-") != path.npos; }

// Threads: one at a time.
class ReservedFile final : public rocksdb::FSWritableFileOwnerWrapper {
public:
    ReservedFile(std::unique_ptr<FSWritableFile> file, std::string path, SpaceReserve& reserve)
        : FSWritableFileOwnerWrapper(std::move(file)), path_(std::move(path)), reserve_(reserve) {}
    ReservedFile(const ReservedFile&) = delete;
    ReservedFile& operator=(const ReservedFile&) = delete;
    // If RocksDB has deleted the log before, its space is free only now.
    ~ReservedFile() override {
        close_own();
        if (reserve_.accepts_growth() || !names_log(path_)) return;
        if (::access(path_.c_str(), F_OK) != 0) reserve_.take_back(size_);
    }

    IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
        prepare(data.size());
        return note(data, target()->Append(data, options, debug));
    }
    IOStatus Append(const Slice& data, const IOOptions& options,
                    const rocksdb::DataVerificationInfo& verification,
                    IODebugContext* debug) override {
        prepare(data.size());
        return note(data, target()->Append(data, options, verification, debug));
    }
    IOStatus Truncate(std::uint64_t size, const IOOptions& options,
                      IODebugContext* debug) override {
        size_ = size;
        return target()->Truncate(size, options, debug);
    }

    IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
        close_own();
        return target()->Close(options, debug);
    }

private:
    void close_own() {
        if (file_ >= 0) ::close(file_);
        file_ = -1;
    }
    IOStatus note(const Slice& data, IOStatus status) {
        if (status.ok()) size_ += data.size();
        return status;
    }

    // Allocates the space of the next `size` bytes, except for a compaction. Ignores errors: if
    // they matter, the write itself fails.
    //
    // Space for the log, which is written with each commit, is allocated only if the disk is almost
    // full. Space for the other files is always allocated, because another program can fill the
    // disk before the next check of the free space.
    void prepare(std::uint64_t size) {
        if (size == 0) return;
        // RocksDB gives the files of compactions the lowest priority. A compaction can fill the
        // disk within milliseconds, and the log must then already take space from the reserve.
        if (GetIOPriority() == rocksdb::Env::IO_LOW) return reserve_.check();
        if (names_log(path_) && reserve_.accepts_growth()) return;
        if (file_ < 0) file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
        if (file_ < 0) return;
        while (::fallocate(file_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(size_),
                           static_cast<off_t>(size)) != 0) {
            if (errno == EINTR) continue;
            if ((errno != ENOSPC && errno != EDQUOT) || !reserve_.give(size)) return;
        }
    }

    const std::string path_;
    SpaceReserve& reserve_;
    std::uint64_t size_ = 0;
    int file_ = -1;
};

class ReservedFiles final : public rocksdb::FileSystemWrapper {
public:
    explicit ReservedFiles(SpaceReserve& reserve)
        : FileSystemWrapper(rocksdb::FileSystem::Default()), reserve_(reserve) {}

    const char* Name() const override { return "RocklockReservedFiles"; }

    IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                             std::unique_ptr<FSWritableFile>* result,
                             IODebugContext* debug) override {
        // RocksDB ignores this error (DBOptions::fail_if_options_file_error is false).
        if (names_options(path)) return IOStatus::NotSupported("options are not written");
        auto status = target()->NewWritableFile(path, options, result, debug);
        if (status.ok()) {
            *result = std::make_unique<ReservedFile>(std::move(*result), path, reserve_);
        }
        return status;
    }

    IOStatus DeleteFile(const std::string& path, const IOOptions& options,
                        IODebugContext* debug) override {
        std::uint64_t size = 0;
        const bool wanted = !reserve_.accepts_growth() && names_log(path) &&
                            target()->GetFileSize(path, options, &size, debug).ok();
        auto status = target()->DeleteFile(path, options, debug);
        if (wanted && status.ok()) reserve_.take_back(size);
        return status;
    }

private:
    SpaceReserve& reserve_;
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> make_reserved_files(SpaceReserve& reserve) {
    return std::make_shared<ReservedFiles>(reserve);
}

}  // namespace rocklock
