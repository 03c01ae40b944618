#include "storage/files/commit_log.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include <rocksdb/env.h>
#include <rocksdb/write_batch.h>

#include "base/bytes.hpp"
#include "storage/files/log_files.hpp"
#include "storage/files/log_sync.hpp"
#include "storage/files/log_tail.hpp"
#include "storage/files/store_directory.hpp"
#include "storage/files/sync_marks.hpp"

namespace rocklock {
namespace {

using rocksdb::IOOptions;
using rocksdb::Status;

// Appends the record to `out` in the format of RocksDB's logs. `at` is the offset of the record in
// the file.
void frame(std::string_view record, std::uint64_t at, std::string& out) {
    bool first = true;
    do {
        const std::size_t left = LogTail::block_bytes - at % LogTail::block_bytes;
        if (left < LogTail::header_bytes) {
            out.append(left, '\0');
            at += left;
            continue;
        }
        const auto part = record.substr(0, left - LogTail::header_bytes);
        const bool last = part.size() == record.size();
        const auto kind = first ? (last ? LogTail::Kind::whole : LogTail::Kind::first)
                                : (last ? LogTail::Kind::last : LogTail::Kind::middle);
        const std::size_t begin = out.size();
        out.append(4, '\0');
        out.push_back(static_cast<char>(part.size() & 0xFF));
        out.push_back(static_cast<char>(part.size() >> 8));
        out.push_back(static_cast<char>(kind));
        out += part;
        std::uint32_t checksum = LogTail::checksum_of(std::string_view(out).substr(begin));
        for (std::size_t i = 0; i < 4; ++i, checksum >>= 8) {
            out[begin + i] = static_cast<char>(checksum & 0xFF);
        }
        at += LogTail::header_bytes + part.size();
        record.remove_prefix(part.size());
        first = false;
    } while (first || !record.empty());
}

// Truncates the file to `size` bytes and syncs it.
Result<void> truncate_file(const std::string& path, std::uint64_t size) {
    if (::truncate(path.c_str(), static_cast<off_t>(size)) != 0) {
        return system_error("cannot truncate " + path, errno);
    }
    return sync_file(path);
}

bool has_no_bytes(const std::string& path) {
    std::error_code failed;
    return std::filesystem::file_size(path, failed) == 0 && !failed;
}

constexpr std::string_view link_text = "previous record ends at ";
constexpr std::size_t link_bytes = 16;

// Returns the first record of a file. `end` is the end of the last record before it.
std::string make_link(const SyncMark& end) {
    std::string text(link_text);
    append_u64(text, end.log);
    append_u64(text, end.bytes);
    rocksdb::WriteBatch batch;
    std::ignore = batch.PutLogData(text);
    return batch.Data();
}

// Returns the position in a link, or nullopt if the record is not a link.
std::optional<SyncMark> read_link(std::string_view record) {
    const std::string any = make_link({});
    const std::size_t same = any.size() - link_bytes;
    if (record.size() != any.size() || record.substr(0, same) != any.substr(0, same)) {
        return std::nullopt;
    }
    Reader reader(record.substr(same));
    SyncMark end;
    end.log = reader.u64().value_or(0);
    end.bytes = reader.u64().value_or(0);
    return end;
}

}  // namespace

// Reads the records of a file.
class CommitLog::RecordReader {
public:
    // How the records end.
    enum class End : std::uint8_t { complete, incomplete, damaged };

    // Reads at most the first `size` bytes.
    RecordReader(rocksdb::FSSequentialFile& file, std::uint64_t size)
        : file_(file), left_(size), buffer_(std::make_unique_for_overwrite<char[]>(piece_bytes)) {
        read_piece();
    }

    // Returns the next record, or nullopt at the end or after an error. Valid until the next call.
    std::optional<std::string_view> next() {
        whole_.clear();
        for (bool continued = false;; continued = true) {
            const auto part = next_part();
            if (!part) {
                if (end_ == End::complete && continued) end_ = End::incomplete;
                return std::nullopt;
            }
            const auto kind = static_cast<LogTail::Kind>((*part)[LogTail::kind_at]);
            const bool continues = kind == LogTail::Kind::middle || kind == LogTail::Kind::last;
            if (continues != continued) {
                end_ = End::damaged;
                return std::nullopt;
            }
            const auto payload = part->substr(LogTail::header_bytes);
            const bool ends = kind == LogTail::Kind::whole || kind == LogTail::Kind::last;
            if (ends) end_of_last_ = piece_begins_ + at_;
            if (kind == LogTail::Kind::whole) return payload;
            whole_ += payload;
            if (ends) return whole_;
        }
    }
    // The error of a read, after which end() is meaningless.
    const Status& status() const { return status_; }
    End end() const { return end_; }
    // The offset of the end of the last record that was returned.
    std::uint64_t offset() const { return end_of_last_; }
    bool is_empty() const { return piece_begins_ == 0 && piece_.empty(); }

private:
    // A part of a record is always in one block.
    static constexpr std::size_t piece_bytes = 2 * LogTail::block_bytes;

    // Returns whether there are more bytes.
    bool read_piece() {
        piece_begins_ += piece_.size();
        at_ = 0;
        const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes, left_));
        rocksdb::Slice read;
        status_ = file_.Read(wanted, IOOptions(), &read, buffer_.get(), nullptr);
        piece_ = status_.ok() ? read.ToStringView() : std::string_view();
        // A piece that is not full is the last one.
        left_ = piece_.size() == piece_bytes ? left_ - piece_bytes : 0;
        return !piece_.empty();
    }
    std::optional<std::string_view> next_part() {
        std::size_t in_block = LogTail::block_bytes - at_ % LogTail::block_bytes;
        if (in_block < LogTail::header_bytes) {
            at_ = std::min(at_ + in_block, piece_.size());
            in_block = LogTail::block_bytes;
        }
        if (at_ == piece_.size()) {
            if (left_ == 0 || !read_piece()) return std::nullopt;
            in_block = LogTail::block_bytes;
        }
        const auto rest = piece_.substr(at_);
        const auto record = LogTail::record_at(rest.substr(0, in_block));
        if (!record.empty() && LogTail::checksum_matches(record)) {
            at_ += record.size();
            return record;
        }
        end_ = record.empty() && is_incomplete(rest, in_block) ? End::incomplete : End::damaged;
        return std::nullopt;
    }
    // Whether the file ends before the record does.
    static bool is_incomplete(std::string_view rest, std::size_t in_block) {
        if (rest.size() >= in_block) return false;
        if (rest.size() < LogTail::header_bytes) return true;
        std::string longer(rest);
        longer.resize(in_block);
        return !LogTail::record_at(longer).empty();
    }

    rocksdb::FSSequentialFile& file_;
    Status status_;
    // The number of bytes that were not read yet.
    std::uint64_t left_;
    const std::unique_ptr<char[]> buffer_;
    // The bytes that were read last, their offset in the file, and the position in them.
    std::string_view piece_;
    std::uint64_t piece_begins_ = 0;
    std::size_t at_ = 0;
    std::uint64_t end_of_last_ = 0;
    // A record with several parts.
    std::string whole_;
    End end_ = End::complete;
};

CommitLog::CommitLog(const std::shared_ptr<rocksdb::FileSystem>& target)
    : files_(make_log_files(recovery_, target)) {}

// The memory is not freed, so that the destructors of the files are not called. Another thread of
// the parent may have held the mutex at the fork.
void CommitLog::abandon() ROCKLOCK_NO_THREAD_SAFETY_ANALYSIS {
    std::ignore = new std::vector<File>(std::move(unsynced_));
    std::ignore = new File(std::move(current_));
    std::ignore = new File(std::move(next_));
}

std::string CommitLog::path_of(std::uint64_t number) const {
    std::string digits = std::to_string(number);
    digits.insert(0, digits.size() < 6 ? 6 - digits.size() : 0, '0');
    return directory_ + "/" + digits + std::string(suffix_of(LogKind::commits));
}

Status CommitLog::read(const Reading& reading, const Apply& apply, Extent& extent) {
    directory_ = reading.directory;
    key_ = reading.key;
    extent = {};
    extent.oldest = reading.first;
    std::vector<std::uint64_t> numbers;
    std::vector<std::string> names;
    if (auto status = files_->GetChildren(directory_, IOOptions(), &names, nullptr); !status.ok()) {
        return status;
    }
    for (const std::string& name : names) {
        const auto number = log_number(name, LogKind::commits);
        if (!number) continue;
        extent.oldest = std::min(extent.oldest, *number);
        const bool late = reading.until && number > reading.until->log;
        if (*number >= reading.first && !late) numbers.push_back(*number);
    }
    std::sort(numbers.begin(), numbers.end());
    // The other process can append to the last file that contains records until it has started the
    // next one, which may be the prepared file.
    while (reading.shared && numbers.size() > 1 && has_no_bytes(path_of(numbers.back()))) {
        numbers.pop_back();
    }
    if (auto begun = recovery_.begin(key_, directory_, reading.end == LogEnd::power_cut); !begun) {
        return Status::Corruption(begun.error().message);
    }
    Status status;
    std::uint64_t expected = reading.first;
    for (const std::uint64_t number : numbers) {
        if (number != expected++) {
            status = reading.shared
                         ? Status::NotFound(path_of(number - 1))
                         : Status::Corruption(path_of(number - 1), "the file is missing");
        }
        extent.last = number;
        if (status.ok()) status = read_file(reading, number, apply, extent);
        if (!status.ok()) break;
    }
    recovery_.end();
    return status;
}

Status CommitLog::read_file(const Reading& reading, std::uint64_t number, const Apply& apply,
                            Extent& extent) {
    std::unique_ptr<rocksdb::FSSequentialFile> file;
    Status status =
        files_->NewSequentialFile(path_of(number), rocksdb::FileOptions(), &file, nullptr);
    if (!status.ok()) return status;
    const bool is_last = reading.until && number == reading.until->log;
    RecordReader records(*file, is_last ? reading.until->bytes : UINT64_MAX);
    extent.last_is_empty = records.is_empty();
    if (!records.status().ok()) return records.status();
    // The file was opened also if an earlier one was cut, so that its bytes are counted.
    if (!extent.cut) return apply_file(reading, number, records, apply, extent);
    if (reading.end == LogEnd::power_cut || records.is_empty()) return {};
    return damaged_at(*extent.cut);
}

Status CommitLog::apply_file(const Reading& reading, std::uint64_t number, RecordReader& records,
                             const Apply& apply, Extent& extent) {
    for (bool first = true; const auto record = records.next(); first = false) {
        const auto link = first ? read_link(*record) : std::nullopt;
        // The files before the first one are not needed any more.
        const SyncMark previous = link && link->log >= reading.first ? *link : SyncMark();
        if (first && previous != extent.end) return judge_lost_end(reading, number, extent);
        Status status;
        if (!link) status = apply(*record);
        if (!status.ok()) return status;
        extent.end = {number, records.offset()};
    }
    if (!records.status().ok()) return records.status();
    if (records.end() == RecordReader::End::complete) return {};
    const SyncMark cut{number, records.offset()};
    // A process that is killed leaves at most one incomplete record, at the end of the last file
    // that contains records.
    const bool damaged = records.end() == RecordReader::End::damaged;
    if (reading.end == LogEnd::whole || (reading.end == LogEnd::killed && damaged)) {
        return damaged_at(cut);
    }
    extent.cut = cut;
    return {};
}

Status CommitLog::damaged_at(const SyncMark& position) const {
    return Status::Corruption(
        path_of(position.log),
        "the record at byte " + std::to_string(position.bytes) + " is damaged or incomplete");
}

Status CommitLog::judge_lost_end(const Reading& reading, std::uint64_t number, Extent& extent) {
    const SyncMark lost = extent.end.log == 0 ? SyncMark{reading.first, 0} : extent.end;
    bool synced = recovery_.states_later_than(lost.log);
    std::uint64_t discarded = 0;
    for (std::uint64_t later = number;; ++later) {
        std::string log;
        const auto status =
            rocksdb::ReadFileToString(rocksdb::Env::Default(), path_of(later), &log);
        if (status.IsNotFound() || status.IsPathNotFound()) break;
        if (!status.ok()) return status;
        if (later == number) discarded = measure_log(log).written;
        for (const SyncMark& mark : find_sync_marks(key_, log)) {
            if (mark.log > lost.log) synced = true;
        }
    }
    if (reading.end != LogEnd::power_cut || synced) {
        return Status::Corruption(path_of(lost.log),
                                  "the records after byte " + std::to_string(lost.bytes) +
                                      " are missing, although a later file follows");
    }
    recovery_.cut(discarded);
    extent.cut = lost;
    return {};
}

// The later files are deleted durably before a file is truncated, so that a power failure during
// this function leaves a log that is cut at the same record.
Result<std::uint64_t> CommitLog::open(const Reading& reading, const Extent& extent) {
    directory_ = reading.directory;
    key_ = reading.key;
    std::uint64_t last = extent.last;
    for (; extent.cut && last > extent.cut->log; --last) {
        if (::unlink(path_of(last).c_str()) != 0) {
            return system_error("cannot delete " + path_of(last), errno);
        }
    }
    if (extent.cut) {
        auto synced = sync_file(directory_);
        if (synced) synced = truncate_file(path_of(extent.cut->log), extent.cut->bytes);
        if (!synced) return synced.error();
    }
    {
        const MutexLock lock(mutex_);
        oldest_ = extent.oldest;
    }
    remove_before(reading.first);
    end_ = extent.end;
    if (auto kept = recovery_.keep_marks(key_, directory_); !kept) return kept.error();
    const bool reuses_last = last == extent.last && extent.last_is_empty;
    return reuses_last ? last : last + 1;
}

Status CommitLog::create(std::uint64_t number, std::unique_ptr<rocksdb::FSWritableFile>& file) {
    rocksdb::FileOptions options;
    options.use_mmap_writes = false;
    return files_->NewWritableFile(path_of(number), options, &file, nullptr);
}

Status CommitLog::start(std::uint64_t number) {
    if (failed_.load()) return failure();
    File file;
    {
        const MutexLock lock(mutex_);
        file = std::exchange(next_, nullptr);
    }
    const bool prepared = file != nullptr;
    if (!prepared) {
        std::unique_ptr<rocksdb::FSWritableFile> created;
        if (auto status = create(number, created); !status.ok()) return noted(status);
        file = std::move(created);
    }
    current_ = std::move(file);
    number_ = number;
    bytes_ = 0;
    const MutexLock lock(mutex_);
    unsynced_.push_back(current_);
    if (!prepared) new_file_ = true;
    return {};
}

Status CommitLog::prepare_next() {
    if (failed_.load()) return failure();
    {
        const MutexLock lock(mutex_);
        // A sync in another thread must see the error if the entry of the current file is lost.
        if (new_file_) return {};
    }
    std::unique_ptr<rocksdb::FSWritableFile> file;
    if (!create(number_ + 1, file).ok()) return {};
    if (auto status = noted(sync_directory()); !status.ok()) return status;
    const MutexLock lock(mutex_);
    next_ = std::move(file);
    return {};
}

const std::string* CommitLog::sync_mark() {
    const auto mark = recovery_.take_mark();
    if (!mark) return nullptr;
    encode_sync_mark(key_, *mark, mark_);
    return &mark_;
}

Status CommitLog::append(std::string_view record) {
    if (current_ == nullptr) return Status::NotSupported("the store is open for reading only");
    if (failed_.load()) return failure();
    framed_.clear();
    if (bytes_ == 0 && end_.log != 0) frame(make_link(end_), 0, framed_);
    frame(record, bytes_ + framed_.size(), framed_);
    Status status = current_->Append(framed_, IOOptions(), nullptr);
    if (!status.ok()) return noted(status);
    bytes_ += framed_.size();
    end_ = {number_, bytes_};
    recovery_.completed();
    return status;
}

Status CommitLog::noted(Status status) {
    if (status.ok()) return status;
    const MutexLock lock(mutex_);
    if (failure_.ok()) failure_ = status;
    failed_.store(true);
    return status;
}

Status CommitLog::failure() {
    const MutexLock lock(mutex_);
    return failure_;
}

Status CommitLog::sync() {
    const MutexLock syncing(syncing_);
    if (failed_.load()) return failure();
    return noted(sync_files());
}

Status CommitLog::sync_directory() {
    std::unique_ptr<rocksdb::FSDirectory> directory;
    Status status = files_->NewDirectory(directory_, IOOptions(), &directory, nullptr);
    if (status.ok()) status = directory->Fsync(IOOptions(), nullptr);
    return status;
}

Status CommitLog::sync_files() {
    // Read before the files, so that they include the file of this position.
    const SyncMark through = recovery_.written();
    std::vector<File> files;
    bool new_file = false;
    {
        const MutexLock lock(mutex_);
        files = unsynced_;
        new_file = new_file_;
    }
    Status status;
    if (new_file) status = sync_directory();
    for (const File& file : files) {
        if (status.ok()) status = file->Sync(IOOptions(), nullptr);
    }
    if (!status.ok()) return status;
    recovery_.synced(through);
    const MutexLock lock(mutex_);
    // Records may have been appended to the last file meanwhile.
    if (!files.empty()) {
        const auto last = std::find(unsynced_.begin(), unsynced_.end(), files.back());
        unsynced_.erase(unsynced_.begin(), last);
        if (new_file && unsynced_.size() == 1) new_file_ = false;
    }
    return status;
}

void CommitLog::remove_before(std::uint64_t number) {
    std::uint64_t from = 0;
    {
        const MutexLock lock(mutex_);
        if (pins_ > 0) return;
        from = std::exchange(oldest_, std::max(oldest_, number));
    }
    for (; from < number; ++from) {
        std::ignore = files_->DeleteFile(path_of(from), IOOptions(), nullptr);
    }
}

CommitLog::Pin::Pin(CommitLog& log) : log_(log) {
    const MutexLock lock(log_.mutex_);
    ++log_.pins_;
}

CommitLog::Pin::~Pin() {
    const MutexLock lock(log_.mutex_);
    --log_.pins_;
}

bool has_commit_log(const std::string& directory) {
    std::error_code failed;
    if (std::filesystem::exists(directory + "/SYNCED_COMMITS", failed)) return true;
    return oldest_commit_log(directory).has_value();
}

std::optional<std::uint64_t> oldest_commit_log(const std::string& directory) {
    std::optional<std::uint64_t> oldest;
    std::error_code failed;
    for (std::filesystem::directory_iterator entry(directory, failed), end; !failed && entry != end;
         entry.increment(failed)) {
        const auto number = log_number(entry->path().string(), LogKind::commits);
        if (number) oldest = std::min(oldest.value_or(*number), *number);
    }
    return oldest;
}

}  // namespace rocklock
