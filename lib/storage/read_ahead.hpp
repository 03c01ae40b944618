// Reads and decodes the records of a long scan before they are needed.
#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <rocklock/storage/storage.hpp>

#include "base/assert.hpp"
#include "base/mutex.hpp"

namespace rocklock {

// Reads the records of a cursor in blocks, and decodes them. While the caller processes one block,
// a background thread reads and decodes the next ones. If all records fit into the first block, or
// if no thread can be started, the caller's thread reads and decodes them.
//
// Threads:  one at a time. `decode` is also called on the background thread.
// Lifetime: borrows the snapshot of the cursor.
// Errors:   those of the cursor, reported after all records that were read before the error.
//           Exceptions of `decode`, of the cursor and of allocations are thrown by the constructor
//           or by next().
template <typename Record>
class ReadAhead {
public:
    // Must set `record`, which may be a record that has been processed, so that its memory can be
    // reused.
    using Decode = void (*)(std::string_view key, std::string_view value, Record& record);

    // A block ends with the first record that reaches one of these limits. `max_bytes` applies to
    // the keys and values. Blocks are so small that malloc() reuses their memory, and does not map
    // and unmap it: its threshold is 128 KB.
    static constexpr std::size_t max_records = 256;
    static constexpr std::size_t max_bytes = std::size_t{1} << 20;
    // The maximum number of blocks that are read ahead.
    static constexpr std::size_t max_blocks = 16;

    ReadAhead(std::unique_ptr<Snapshot::Cursor> cursor, Decode decode)
        : cursor_(std::move(cursor)), decode_(decode), current_(read({})) {
        if (!cursor_->valid()) return;
        try {
            thread_ = std::thread([this] { read_ahead(); });
        } catch (const std::system_error&) {
            // Without the thread, next() reads.
        }
    }
    ~ReadAhead() {
        if (!thread_.joinable()) return;
        {
            MutexLock lock(mutex_);
            stop_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;

    // Returns whether there is a current record.
    bool valid() const { return at_ < current_.count; }
    Record& record() {
        ROCKLOCK_ASSERT(valid());
        return current_.records[at_];
    }
    void next() {
        ROCKLOCK_ASSERT(valid());
        if (++at_ < current_.count) return;
        at_ = 0;
        if (thread_.joinable()) {
            current_ = take_block(std::exchange(current_, {}));
        } else {
            current_ = read(std::exchange(current_, {}));
        }
    }
    Result<void> status() const {
        // The current record was read before any error.
        if (valid()) return {};
        return cursor_->status();
    }

private:
    // The records after the first `count` ones are not in use.
    struct Block {
        std::vector<Record> records;
        std::size_t count = 0;
    };

    // Reads the next block. Reuses the memory of `into`. The block is empty after the last record.
    Block read(Block into) const {
        into.count = 0;
        std::size_t bytes = 0;
        for (; cursor_->valid(); cursor_->next()) {
            if (into.count == max_records || bytes >= max_bytes) break;
            const std::string_view value = cursor_->value();
            bytes += cursor_->key().size() + value.size();
            if (into.count == into.records.size()) into.records.emplace_back();
            decode_(cursor_->key(), value, into.records[into.count++]);
        }
        return into;
    }

    // Returns the next block, which is empty after the last record.
    Block take_block(Block spent) ROCKLOCK_EXCLUDES(mutex_) {
        MutexLock lock(mutex_);
        spent_.push_back(std::move(spent));
        while (blocks_.empty() && !ended_) changed_.wait(mutex_);
        if (blocks_.empty()) {
            if (failure_) std::rethrow_exception(failure_);
            return {};
        }
        Block block = std::move(blocks_.front());
        blocks_.pop_front();
        changed_.notify_all();
        return block;
    }

    // The background thread. It uses `cursor_` until it sets `ended_`.
    void read_ahead() ROCKLOCK_EXCLUDES(mutex_) {
        std::exception_ptr failure;
        try {
            while (auto spent = wait_for_space()) {
                spent->records.reserve(max_records);
                Block block = read(*std::move(spent));
                if (block.count == 0) break;
                MutexLock lock(mutex_);
                blocks_.push_back(std::move(block));
                changed_.notify_all();
            }
        } catch (...) {
            failure = std::current_exception();
        }
        MutexLock lock(mutex_);
        failure_ = failure;
        ended_ = true;
        changed_.notify_all();
    }

    // Returns a block whose memory can be reused, or nullopt if no more blocks are needed.
    std::optional<Block> wait_for_space() ROCKLOCK_EXCLUDES(mutex_) {
        MutexLock lock(mutex_);
        while (blocks_.size() >= max_blocks && !stop_) changed_.wait(mutex_);
        if (stop_) return std::nullopt;
        Block spent;
        if (!spent_.empty()) {
            spent = std::move(spent_.back());
            spent_.pop_back();
        }
        return spent;
    }

    const std::unique_ptr<Snapshot::Cursor> cursor_;
    const Decode decode_;
    Block current_;
    // The index of the current record in `current_`.
    std::size_t at_ = 0;

    Mutex mutex_;
    // Notified when one of the members below changes.
    CondVar changed_;
    std::deque<Block> blocks_ ROCKLOCK_GUARDED_BY(mutex_);
    // Blocks that have been processed.
    std::vector<Block> spent_ ROCKLOCK_GUARDED_BY(mutex_);
    bool stop_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    // Whether the thread has read the last block, or has failed.
    bool ended_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    std::exception_ptr failure_ ROCKLOCK_GUARDED_BY(mutex_);
    std::thread thread_;
};

}  // namespace rocklock
