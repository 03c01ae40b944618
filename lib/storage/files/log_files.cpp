#include "storage/files/log_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.hpp"
#include "storage/files/log_tail.hpp"

namespace rocklock {
namespace {

using rocksdb::FileOptions;
using rocksdb::FSSequentialFile;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

// The number of bytes that are written in advance at a time. The next sync includes them.
constexpr std::uint64_t laid_out_bytes = 256U << 10;
// A log is extended in advance only if it has been synced at least this often since the last time.
constexpr std::uint32_t syncs_worth_it = 4;
// RocksDB skips a header whose record type is zero, as if no record were missing. This invalid type
// replaces the zero at a gap, so that RocksDB detects it.
constexpr char no_kind_at_all = '\xFF';

// The number of bytes of records in a log. Threads: one thread adds, others read.
using Written = std::shared_ptr<std::atomic<std::uint64_t>>;

// Writes zeros ahead of the records of a log. Uses a file descriptor of its own, since RocksDB's
// file objects do not expose theirs.
class SpaceAhead {
public:
    explicit SpaceAhead(const std::string& path)
        : file_(::open(path.c_str(), O_WRONLY | O_CLOEXEC)) {}
    SpaceAhead(const SpaceAhead&) = delete;
    SpaceAhead& operator=(const SpaceAhead&) = delete;
    ~SpaceAhead() {
        if (file_ >= 0) ::close(file_);
    }

    // Called before `size` more bytes are written. Ignores errors: if they matter, the write itself
    // fails.
    void prepare(std::uint64_t size) {
        const std::uint64_t needed = written_ + size;
        if (needed <= until_ || syncs_.load() < syncs_worth_it || file_ < 0) return;
        syncs_ = 0;
        static constexpr std::array<char, 64U << 10> zeros{};
        std::uint64_t at = std::max(until_, written_);
        for (const std::uint64_t end = needed + laid_out_bytes; at < end;) {
            const auto count = std::min<std::uint64_t>(zeros.size(), end - at);
            const ssize_t done = ::pwrite(file_, zeros.data(), count, static_cast<off_t>(at));
            if (done < 0 && errno == EINTR) continue;
            if (done <= 0) break;
            at += static_cast<std::uint64_t>(done);
        }
        until_ = at;
    }
    void written(std::uint64_t size) { written_ += size; }
    void cut(std::uint64_t size) {
        written_ = size;
        until_ = std::min(until_, size);
    }
    // Threads: thread-safe.
    void synced() { ++syncs_; }

private:
    const int file_;
    std::uint64_t written_ = 0;
    std::uint64_t until_ = 0;
    // Preallocation begins after the first sync.
    std::atomic<std::uint32_t> syncs_{syncs_worth_it - 1};
};

class WrittenLog final : public rocksdb::FSWritableFileOwnerWrapper {
public:
    WrittenLog(std::unique_ptr<FSWritableFile> file, const std::string& path, Written written,
               LogRecovery& recovery)
        : FSWritableFileOwnerWrapper(std::move(file)),
          ahead_(path),
          number_(log_number(path, recovery.kind()).value_or(0)),
          written_(std::move(written)),
          recovery_(recovery) {}

    IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
        ahead_.prepare(data.size());
        return note(data, target()->Append(data, options, debug));
    }
    IOStatus Append(const Slice& data, const IOOptions& options,
                    const rocksdb::DataVerificationInfo& verification,
                    IODebugContext* debug) override {
        ahead_.prepare(data.size());
        return note(data, target()->Append(data, options, verification, debug));
    }
    IOStatus Truncate(std::uint64_t size, const IOOptions& options,
                      IODebugContext* debug) override {
        ahead_.cut(size);
        *written_ = size;
        return target()->Truncate(size, options, debug);
    }
    IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
        ahead_.synced();
        return target()->Sync(options, debug);
    }
    IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
        ahead_.synced();
        return target()->Fsync(options, debug);
    }

private:
    IOStatus note(const Slice& data, IOStatus status) {
        if (status.ok()) {
            ahead_.written(data.size());
            *written_ += data.size();
            recovery_.appended(number_, *written_);
        }
        return status;
    }

    SpaceAhead ahead_;
    const std::uint64_t number_;
    const Written written_;
    LogRecovery& recovery_;
};

// Reads a log up to its last written byte.
class ReadLog final : public rocksdb::FSSequentialFileOwnerWrapper {
public:
    ReadLog(std::unique_ptr<FSSequentialFile> file, const LogTail& tail)
        : FSSequentialFileOwnerWrapper(std::move(file)), end_(tail.end()), gap_(tail.gap()) {}

    IOStatus Read(std::size_t size, const IOOptions& options, Slice* result, char* scratch,
                  IODebugContext* debug) override {
        const std::uint64_t from = offset_;
        const auto count = std::min<std::uint64_t>(size, end_ - from);
        auto status = target()->Read(count, options, result, scratch, debug);
        if (!status.ok()) return status;
        offset_ += result->size();
        if (!gap_) return status;
        const std::uint64_t kind = *gap_ + LogTail::kind_at;
        if (kind < from || kind >= offset_) return status;
        std::copy_n(result->data(), result->data() == scratch ? 0 : result->size(), scratch);
        scratch[kind - from] = no_kind_at_all;
        *result = Slice(scratch, result->size());
        return status;
    }
    IOStatus Skip(std::uint64_t size) override {
        const auto count = std::min(size, end_ - offset_);
        offset_ += count;
        return target()->Skip(count);
    }

private:
    const std::uint64_t end_;
    const std::optional<std::uint64_t> gap_;
    std::uint64_t offset_ = 0;
};

class LogFiles final : public rocksdb::FileSystemWrapper {
public:
    LogFiles(const std::shared_ptr<rocksdb::FileSystem>& target, LogRecovery& recovery)
        : FileSystemWrapper(target), recovery_(recovery) {}

    const char* Name() const override { return "RocklockLogFiles"; }

    IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                             std::unique_ptr<FSWritableFile>* result,
                             IODebugContext* debug) override {
        if (!is_log(path)) return target()->NewWritableFile(path, options, result, debug);
        // The commit log syncs its files itself.
        if (recovery_.kind() == LogKind::rocksdb) {
            if (auto status = sync_last(debug); !status.ok()) return status;
        }
        auto status = target()->NewWritableFile(path, options, result, debug);
        if (!status.ok()) return status;
        auto written = std::make_shared<std::atomic<std::uint64_t>>(0);
        *result = std::make_unique<WrittenLog>(std::move(*result), path, written, recovery_);
        MutexLock lock(mutex_);
        last_ = path;
        last_written_ = std::move(written);
        return status;
    }

    IOStatus NewSequentialFile(const std::string& path, const FileOptions& options,
                               std::unique_ptr<FSSequentialFile>* result,
                               IODebugContext* debug) override {
        if (!is_log(path)) return target()->NewSequentialFile(path, options, result, debug);
        LogTail tail;
        auto status = find_tail(path, tail, debug);
        if (status.ok() && recovery_.active()) {
            status = recovery_.judge(*target(), path, tail);
        }
        if (status.ok()) status = target()->NewSequentialFile(path, options, result, debug);
        if (!status.ok()) return status;
        *result = std::make_unique<ReadLog>(std::move(*result), tail);
        return status;
    }

    // Returns the size without the zeros at the end, so that a copy of a log reads exactly its
    // records.
    IOStatus GetFileSize(const std::string& path, const IOOptions& options, std::uint64_t* size,
                         IODebugContext* debug) override {
        if (!is_log(path)) return target()->GetFileSize(path, options, size, debug);
        LogTail tail;
        auto status = find_tail(path, tail, debug);
        if (status.ok()) *size = tail.end();
        return status;
    }

private:
    bool is_log(const std::string& path) const {
        return path.ends_with(suffix_of(recovery_.kind()));
    }

    // If another process writes the log meanwhile, a gap may be filled between two reads. A gap is
    // real only if two measurements in a row find it.
    IOStatus find_tail(const std::string& path, LogTail& tail, IODebugContext* debug) const {
        for (;;) {
            const auto gap = tail.gap();
            tail = LogTail();
            if (auto status = measure(path, tail, debug); !status.ok()) return status;
            if (tail.gap() == gap) return {};
        }
    }

    // Syncs the previous log, if it still exists.
    IOStatus sync_last(IODebugContext* debug) {
        std::string last;
        Written written;
        {
            MutexLock lock(mutex_);
            last = last_;
            written = last_written_;
        }
        if (last.empty() || !target()->FileExists(last, IOOptions(), debug).ok()) return {};
        std::unique_ptr<rocksdb::FSRandomRWFile> file;
        auto status = target()->NewRandomRWFile(last, FileOptions(), &file, debug);
        const std::uint64_t size = *written;
        if (status.ok()) status = file->Sync(IOOptions(), debug);
        if (status.ok()) recovery_.synced({log_number(last).value_or(0), size});
        return status.IsPathNotFound() ? IOStatus::OK() : status;
    }

    IOStatus measure(const std::string& path, LogTail& tail, IODebugContext* debug) const {
        std::unique_ptr<FSSequentialFile> file;
        auto status = target()->NewSequentialFile(path, FileOptions(), &file, debug);
        std::string scratch(LogTail::block_bytes, '\0');
        Slice block;
        do {
            if (status.ok()) {
                status = file->Read(scratch.size(), IOOptions(), &block, scratch.data(), debug);
            }
            if (!status.ok()) return status;
            tail.read(block.ToStringView());
        } while (block.size() == scratch.size());
        return status;
    }

    LogRecovery& recovery_;
    Mutex mutex_;
    std::string last_ ROCKLOCK_GUARDED_BY(mutex_);
    Written last_written_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> make_log_files(
    LogRecovery& recovery, const std::shared_ptr<rocksdb::FileSystem>& target) {
    return std::make_shared<LogFiles>(target, recovery);
}

std::unique_ptr<rocksdb::Env> make_log_env(LogRecovery& recovery,
                                           const std::shared_ptr<rocksdb::FileSystem>& target) {
    return rocksdb::NewCompositeEnv(make_log_files(recovery, target));
}

}  // namespace rocklock
