#include "storage/rocksdb/store_copy.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include "base/bytes.hpp"
#include "storage/files/log_files.hpp"
#include "storage/files/store_directory.hpp"
#include "storage/files/sync_marks.hpp"
#include "storage/rocksdb/rocksdb_database.hpp"
#include "storage/rocksdb/rocksdb_setup.hpp"

namespace rocklock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view partial = "db.partial";
constexpr std::size_t max_batch_bytes = std::size_t{1} << 20;

// Closes the file in its destructor.
class File {
public:
    explicit File(int number) : number_(number) {}
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        if (number_ >= 0) ::close(number_);
    }
    int number() const { return number_; }
    bool valid() const { return number_ >= 0; }

private:
    int number_;
};

// The directory that will contain a copy. The object holds the lock on it, and its destructor
// removes an incomplete copy.
class CopyDirectory {
public:
    explicit CopyDirectory(std::string path) : path_(std::move(path)) {}
    CopyDirectory(const CopyDirectory&) = delete;
    CopyDirectory& operator=(const CopyDirectory&) = delete;
    ~CopyDirectory() {
        if (complete_ || !ours_) return;
        remove_rest();
        if (made_) ::rmdir(path_.c_str());
    }

    Result<void> take();
    std::string partial_path() const { return path_ + "/" + std::string(partial); }
    Result<void> complete();

private:
    Result<void> require_outside() const;
    Result<void> require_empty() const;
    void remove_rest() const;

    std::string path_;
    std::unique_ptr<File> directory_;
    bool made_ = false;
    bool ours_ = false;
    bool complete_ = false;
};

Result<void> CopyDirectory::take() {
    if (auto outside = require_outside(); !outside) return outside;
    made_ = ::mkdir(path_.c_str(), 0700) == 0;
    if (!made_ && (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG)) {
        return Error(ErrorCode::invalid_argument,
                     "cannot make the directory " + path_ + ": " +
                         std::generic_category().message(errno) +
                         "; give a new directory whose parent directory exists");
    }
    if (!made_ && errno != EEXIST) return system_error("cannot make the directory " + path_, errno);
    directory_ = std::make_unique<File>(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory_->valid()) return system_error("cannot open " + path_, errno);
    if (::flock(directory_->number(), LOCK_EX | LOCK_NB) != 0) {
        return Error(ErrorCode::store_in_use, "another copy is being made in " + path_);
    }
    if (auto empty = require_empty(); !empty) return empty;
    ours_ = true;
    remove_rest();
    return {};
}

Result<void> CopyDirectory::require_outside() const {
    std::error_code failed;
    auto path = fs::weakly_canonical(path_, failed);
    while (!failed && path.has_relative_path()) {
        path = path.parent_path();
        if (!fs::exists(path / "db" / "CURRENT", failed)) continue;
        return Error(ErrorCode::invalid_argument,
                     path_ + " is inside the store " + path.string() +
                         ": give a directory outside of the store, because a copy or removal of "
                         "the store includes everything in it");
    }
    return {};
}

// RocksDB creates a checkpoint in a temporary directory next to the target.
bool is_rest(const std::string& name) {
    return name == partial || name == std::string(partial) + ".tmp";
}

Result<void> CopyDirectory::require_empty() const {
    std::error_code failed;
    for (fs::directory_iterator entry(path_, failed), end; !failed && entry != end;
         entry.increment(failed)) {
        const auto name = entry->path().filename().string();
        if (is_rest(name) || name == "lost+found") continue;
        return Error(
            ErrorCode::invalid_argument,
            path_ + " is not empty (" + name +
                "): give a directory that is new or empty; existing files are not overwritten");
    }
    if (failed) return system_error("cannot list " + path_, failed.value());
    return {};
}

void CopyDirectory::remove_rest() const {
    std::error_code ignored;
    fs::remove_all(partial_path(), ignored);
    fs::remove_all(partial_path() + ".tmp", ignored);
}

Result<void> CopyDirectory::complete() {
    const auto database = path_ + "/db";
    if (::rename(partial_path().c_str(), database.c_str()) != 0) {
        return system_error("cannot make " + database, errno);
    }
    complete_ = true;
    if (::fsync(directory_->number()) != 0) return system_error("cannot sync " + path_, errno);
    auto parent = fs::absolute(path_).lexically_normal();
    if (!parent.has_filename()) parent = parent.parent_path();
    const File above(::open(parent.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (above.valid() && made_ && ::fsync(above.number()) != 0) {
        return system_error("cannot sync " + parent.parent_path().string(), errno);
    }
    return {};
}

// A database that no other process has open.
class CopyDatabase {
public:
    CopyDatabase() : env_(make_log_env(recovery_)) {}
    CopyDatabase(const CopyDatabase&) = delete;
    CopyDatabase& operator=(const CopyDatabase&) = delete;
    ~CopyDatabase() { std::ignore = close(); }

    // Must be called first.
    rocksdb::Status open(const std::string& path, bool creating) {
        rocksdb::DB* opened = nullptr;
        auto status = rocksdb::DB::Open(database_options({}, creating, LogEnd::whole, *env_), path,
                                        family_descriptors({}), &handles_, &opened);
        database_.reset(opened);
        return status;
    }
    rocksdb::ColumnFamilyHandle* family(Family family) const {
        return handles_[static_cast<std::size_t>(family) + 1];
    }
    rocksdb::DB* operator->() const { return database_.get(); }
    // Writes the contents of memory to files, and syncs them.
    rocksdb::Status flush() { return database_->Flush(rocksdb::FlushOptions(), handles_); }
    rocksdb::Status close() {
        if (!database_) return rocksdb::Status::OK();
        for (auto* const handle : handles_) {
            std::ignore = database_->DestroyColumnFamilyHandle(handle);
        }
        auto closed = database_->Close();
        database_.reset();
        return closed;
    }

private:
    LogRecovery recovery_;
    std::unique_ptr<rocksdb::Env> env_;
    std::vector<rocksdb::ColumnFamilyHandle*> handles_;
    std::unique_ptr<rocksdb::DB> database_;
};

// Writes the marks, synced, into a database that no process has open.
Result<void> write_marks(const std::string& path, const std::vector<Write>& marks) {
    CopyDatabase database;
    if (auto status = database.open(path, false); !status.ok()) return to_error(status);
    rocksdb::WriteBatch batch;
    rocksdb::Status status;
    for (const Write& mark : marks) {
        auto* const family = database.family(mark.family);
        status =
            mark.value ? batch.Put(family, mark.key, *mark.value) : batch.Delete(family, mark.key);
        if (!status.ok()) break;
    }
    rocksdb::WriteOptions synced;
    synced.sync = true;
    if (status.ok()) status = database->Write(synced, &batch);
    const auto closed = database.close();
    if (status.ok()) status = closed;
    return status.ok() ? Result<void>() : Result<void>(to_error(status));
}

Result<void> copy_file(const fs::path& from, const fs::path& to,
                       const std::function<void(std::uint64_t)>& copied) {
    const File source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
    if (!source.valid()) return system_error("cannot read " + from.string(), errno);
    const File target(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!target.valid()) return system_error("cannot write " + to.string(), errno);
    std::vector<char> buffer(std::size_t{1} << 20);
    while (true) {
        const ssize_t size = ::read(source.number(), buffer.data(), buffer.size());
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return system_error("cannot read " + from.string(), errno);
        if (size == 0) break;
        for (ssize_t done = 0; done < size;) {
            const ssize_t part = ::write(target.number(), buffer.data() + done,
                                         static_cast<std::size_t>(size - done));
            if (part < 0 && errno == EINTR) continue;
            if (part < 0) return system_error("cannot write " + to.string(), errno);
            done += part;
        }
        copied(static_cast<std::uint64_t>(size));
    }
    if (::fsync(target.number()) != 0) return system_error("cannot sync " + to.string(), errno);
    return {};
}

}  // namespace

Result<void> make_copy(const std::string& directory, const std::vector<Write>& marks,
                       const std::function<Result<void>(const std::string& database)>& fill) {
    CopyDirectory copy(directory);
    if (auto taken = copy.take(); !taken) return taken;
    if (auto filled = fill(copy.partial_path()); !filled) return filled;
    if (auto marked = write_marks(copy.partial_path(), marks); !marked) return marked;
    return copy.complete();
}

Result<void> apply_log(const std::string& path, CommitLog::Reading reading) {
    CopyDatabase database;
    auto status = database.open(path, false);
    std::string first;
    if (status.ok()) {
        status = database->Get(rocksdb::ReadOptions(), database->DefaultColumnFamily(),
                               first_log_key, &first);
    }
    if (status.ok()) reading.first = Reader(first).u64().value_or(reading.first);
    if (status.ok() || status.IsNotFound()) {
        rocksdb::WriteOptions without_log;
        without_log.disableWAL = true;
        CommitLog log(rocksdb::FileSystem::Default());
        CommitLog::Extent extent;
        const auto apply = [&](std::string_view record) {
            rocksdb::WriteBatch batch{std::string(record)};
            return database->Write(without_log, &batch);
        };
        status = log.read(reading, apply, extent);
        if (status.ok()) {
            status = database->Delete(without_log, database->DefaultColumnFamily(), first_log_key);
        }
    }
    if (status.ok()) status = database.flush();
    const auto closed = database.close();
    if (status.ok()) status = closed;
    return status.ok() ? Result<void>() : Result<void>(to_error(status));
}

Result<void> apply_own_log(const std::string& path) {
    if (!has_commit_log(path)) return {};
    std::string identity;
    const auto status =
        rocksdb::ReadFileToString(rocksdb::Env::Default(), path + "/IDENTITY", &identity);
    if (!status.ok()) return to_error(status);
    CommitLog::Reading reading;
    reading.directory = path;
    reading.key = sync_mark_key(identity);
    if (auto applied = apply_log(path, reading); !applied) return applied;
    std::error_code failed;
    for (fs::directory_iterator entry(path, failed), end; !failed && entry != end;
         entry.increment(failed)) {
        const std::string name = entry->path().filename().string();
        if (!log_number(name, LogKind::commits) && name != "SYNCED_COMMITS") continue;
        if (::unlink(entry->path().c_str()) != 0) {
            return system_error("cannot delete " + entry->path().string(), errno);
        }
    }
    if (failed) return system_error("cannot list " + path, failed.value());
    return {};
}

Result<void> write_database(const std::string& path, const Snapshot& values,
                            const ExceptValue& except) {
    CopyDatabase database;
    if (auto status = database.open(path, true); !status.ok()) return to_error(status);
    // Without a log, because flush() makes the values durable.
    rocksdb::WriteOptions without_log;
    without_log.disableWAL = true;
    for (int i = 0; i < family_count; ++i) {
        const auto family = static_cast<Family>(i);
        rocksdb::WriteBatch batch;
        rocksdb::Status status;
        const auto cursor = values.scan_once(family, "", "");
        for (; status.ok() && cursor->valid(); cursor->next()) {
            if (except(family, cursor->key())) continue;
            const auto key = cursor->key();
            const auto value = cursor->value();
            status = batch.Put(database.family(family), {key.data(), key.size()},
                               {value.data(), value.size()});
            if (!status.ok() || batch.GetDataSize() < max_batch_bytes) continue;
            status = database->Write(without_log, &batch);
            batch.Clear();
        }
        if (auto read = cursor->status(); !read) return read;
        if (status.ok()) status = database->Write(without_log, &batch);
        if (!status.ok()) return to_error(status);
    }
    auto status = database.flush();
    const auto closed = database.close();
    if (status.ok()) status = closed;
    return status.ok() ? Result<void>() : Result<void>(to_error(status));
}

Result<void> copy_files(const std::string& from, const std::string& to,
                        const CopyProgress& progress) {
    const auto size = size_of_directory(from);
    if (!size) return size.error();
    if (::mkdir(to.c_str(), 0700) != 0) return system_error("cannot make " + to, errno);
    std::uint64_t done = 0;
    std::error_code failed;
    for (fs::directory_iterator entry(from, failed), end; !failed && entry != end;
         entry.increment(failed)) {
        if (!entry->is_regular_file()) continue;
        auto copied = copy_file(entry->path(), fs::path(to) / entry->path().filename(),
                                [&](std::uint64_t bytes) {
                                    done += bytes;
                                    if (progress) progress(done, size->bytes);
                                });
        if (!copied) return copied;
    }
    if (failed) return system_error("cannot list " + from, failed.value());
    const File directory(::open(to.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.valid() || ::fsync(directory.number()) != 0) {
        return system_error("cannot sync " + to, errno);
    }
    return {};
}

Result<DirectorySize> size_of_directory(const std::string& path) {
    DirectorySize size;
    std::error_code failed;
    for (fs::directory_iterator entry(path, failed), end; !failed && entry != end;
         entry.increment(failed)) {
        std::error_code gone;
        const auto bytes = entry->file_size(gone);
        if (gone) continue;
        ++size.files;
        size.bytes += bytes;
    }
    if (failed) return system_error("cannot list " + path, failed.value());
    return size;
}

}  // namespace rocklock
