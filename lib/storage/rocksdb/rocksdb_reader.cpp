#include "storage/rocksdb/rocksdb_reader.hpp"

#include <optional>
#include <utility>

#include <rocksdb/db.h>

#include "base/assert.hpp"
#include "base/fork.hpp"
#include "storage/merged_cursor.hpp"
#include "storage/preconditions.hpp"
#include "storage/rocksdb/rocksdb_setup.hpp"

namespace rocklock {
namespace {

class RocksdbCursor final : public Snapshot::Cursor {
public:
    RocksdbCursor(const RocksdbReader& reader, rocksdb::ReadOptions options, std::string_view first,
                  std::string_view last)
        : reader_(reader),
          first_(first),
          last_(last),
          lower_(first_),
          upper_(last_),
          options_(std::move(options)) {
        if (!last_.empty()) options_.iterate_upper_bound = &upper_;
        options_.iterate_lower_bound = &lower_;
    }

    void start(Family family, ScanDirection direction) {
        ROCKLOCK_ASSERT(iterator_ == nullptr);
        // RocksDB requires ordered bounds.
        if (!last_.empty() && last_ <= first_) return;
        direction_ = direction;
        family_ = family;
        iterator_.reset(
            reader_.database()->NewIterator(options_, reader_.database().family(family)));
        if (direction == ScanDirection::ascending) {
            iterator_->Seek(lower_);
        } else {
            iterator_->SeekToLast();
        }
    }

    bool valid() const override { return iterator_ && iterator_->Valid(); }
    std::string_view key() const override { return iterator_->key().ToStringView(); }
    std::string_view value() const override { return iterator_->value().ToStringView(); }
    void next() override {
        ROCKLOCK_ASSERT(valid());
        if (direction_ == ScanDirection::ascending) {
            iterator_->Next();
        } else {
            iterator_->Prev();
        }
    }
    Result<void> status() const override {
        if (!iterator_ || iterator_->status().ok()) return {};
        return reader_.report(iterator_->status(), family_);
    }

private:
    const RocksdbReader& reader_;
    const std::string first_;
    const std::string last_;
    const rocksdb::Slice lower_;
    const rocksdb::Slice upper_;
    rocksdb::ReadOptions options_;
    ScanDirection direction_ = ScanDirection::ascending;
    Family family_ = Family::meta;
    std::unique_ptr<rocksdb::Iterator> iterator_;
};

class RocksdbSnapshot final : public Snapshot {
public:
    explicit RocksdbSnapshot(const RocksdbReader& reader) : reader_(reader) {
        const MutexLock lock(reader.unflushed().publishing);
        options_.snapshot = reader.database()->GetSnapshot();
        view_.emplace(reader.unflushed().buffer.view());
    }
    ~RocksdbSnapshot() override {
        if (!fork_check_.in_child()) reader_.database()->ReleaseSnapshot(options_.snapshot);
    }

    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        if (reader_.unflushed().contains(family)) {
            auto found = view_->get(family, key);
            if (found.known) return std::move(found).value;
        }
        return reader_.get_flushed(options_, family, key);
    }
    std::unique_ptr<Cursor> scan(Family family, std::string_view first,
                                 std::string_view last) const override {
        return start_cursor(options_, family, first, last, ScanDirection::ascending);
    }
    std::unique_ptr<Cursor> scan_once(Family family, std::string_view first,
                                      std::string_view last) const override {
        rocksdb::ReadOptions options = options_;
        options.fill_cache = false;
        options.readahead_size = scan_once_bytes;
        return start_cursor(options, family, first, last, ScanDirection::ascending);
    }
    std::unique_ptr<Cursor> scan_back(Family family, std::string_view first,
                                      std::string_view last) const override {
        return start_cursor(options_, family, first, last, ScanDirection::descending);
    }

private:
    // The size of the pieces that scan_once() reads. With RocksDB's alignment, it is below the 128
    // KB from which malloc() maps and unmaps memory.
    static constexpr std::size_t scan_once_bytes = 112U << 10;

    std::unique_ptr<Cursor> start_cursor(const rocksdb::ReadOptions& options, Family family,
                                         std::string_view first, std::string_view last,
                                         ScanDirection direction) const {
        auto cursor = std::make_unique<RocksdbCursor>(reader_, options, first, last);
        cursor->start(family, direction);
        if (!reader_.unflushed().contains(family)) return cursor;
        return merge_cursors(view_->scan(family, first, last, direction), std::move(cursor),
                             direction);
    }

    const RocksdbReader& reader_;
    ForkCheck fork_check_;
    rocksdb::ReadOptions options_;
    std::optional<const RecordBuffer::View> view_;
};

// The snapshot of a child process, which must not read either.
class NoSnapshot final : public Snapshot {
public:
    explicit NoSnapshot(Error error) : error_(std::move(error)) {}
    Result<std::optional<std::string>> get(Family, std::string_view) const override {
        return error_;
    }
    std::unique_ptr<Cursor> scan(Family, std::string_view, std::string_view) const override {
        return std::make_unique<NoCursor>(error_);
    }
    std::unique_ptr<Cursor> scan_back(Family, std::string_view, std::string_view) const override {
        return std::make_unique<NoCursor>(error_);
    }

private:
    class NoCursor final : public Cursor {
    public:
        explicit NoCursor(Error error) : error_(std::move(error)) {}
        bool valid() const override { return false; }
        std::string_view key() const override { return {}; }
        std::string_view value() const override { return {}; }
        void next() override {}
        Result<void> status() const override { return error_; }

    private:
        Error error_;
    };
    Error error_;
};

}  // namespace

// The buffer is read first: a record that is moved to RocksDB meanwhile is found there.
Result<std::optional<std::string>> RocksdbReader::get(Family family, std::string_view key) const {
    if (unflushed_.contains(family)) {
        auto found = unflushed_.buffer.get(family, key);
        if (found.known) return std::move(found).value;
    }
    return get_flushed(rocksdb::ReadOptions(), family, key);
}

Result<std::optional<std::string>> RocksdbReader::get_flushed(const rocksdb::ReadOptions& options,
                                                              Family family,
                                                              std::string_view key) const {
    std::string value;
    const auto status = database_->Get(options, database_.family(family), key, &value);
    if (status.ok()) return std::optional(std::move(value));
    if (status.IsNotFound()) return std::optional<std::string>();
    return report(status, family);
}

CachedValue RocksdbReader::get_cached(Family family, std::string_view key,
                                      std::size_t max_bytes) const {
    if (unflushed_.contains(family)) {
        auto found = unflushed_.buffer.get(family, key);
        if (found.known && found.value && found.value->size() > max_bytes) return {};
        if (found.known) return {true, std::move(found).value};
    }
    rocksdb::ReadOptions options;
    options.read_tier = rocksdb::kBlockCacheTier;
    rocksdb::PinnableSlice value;
    const auto status = database_->Get(options, database_.family(family), key, &value);
    if (status.IsNotFound()) return {true, std::nullopt};
    if (!status.ok() || value.size() > max_bytes) return {};
    return {true, value.ToString()};
}

Error RocksdbReader::report(const rocksdb::Status& status, Family family) const {
    Error error = to_error(status);
    if (fails_store(error, family)) group_.fail(error);
    return error;
}

std::unique_ptr<Snapshot> make_rocksdb_snapshot(const RocksdbReader& reader) {
    return std::make_unique<RocksdbSnapshot>(reader);
}

std::unique_ptr<Snapshot> make_no_snapshot(Error error) {
    return std::make_unique<NoSnapshot>(std::move(error));
}

}  // namespace rocklock
