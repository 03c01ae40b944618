// Prefetching for long scans whose records take time to process.
#pragma once

#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/storage/storage.hpp>

namespace rocklock {

// Reads the records of a cursor in large blocks. While the caller processes one block, a background
// thread reads the next one. If all records fit into the first block, no thread is started.
//
// Threads:  one at a time, as for any cursor.
// Lifetime: borrows the snapshot of the cursor.
// Errors:   those of the cursor, reported after all records that were read before the error.
class ReadAhead final : public Snapshot::Cursor {
public:
    static constexpr std::size_t max_records = 16'384;
    static constexpr std::size_t max_bytes = std::size_t{4} << 20;

    explicit ReadAhead(std::unique_ptr<Snapshot::Cursor> cursor);

    bool valid() const override { return at_ < fetched_.records.size(); }
    std::string_view key() const override;
    std::string_view value() const override;
    void next() override;
    Result<void> status() const override;

private:
    struct Record {
        std::size_t key_end;
        std::size_t end;
    };
    // The keys and values of a block, concatenated.
    struct Records {
        std::vector<Record> records;
        std::string bytes;
    };

    // Reads the next block. Reuses the memory of `into`.
    Records fetch(Records into) const;
    void fetch_more();
    std::size_t start() const { return at_ == 0 ? 0 : fetched_.records[at_ - 1].end; }

    // `cursor_` and `spent_` are used by the background thread while it runs. `spent_` is the
    // previous block, whose memory the thread reuses.
    const std::unique_ptr<Snapshot::Cursor> cursor_;
    Records spent_;
    Records fetched_;
    std::size_t at_ = 0;
    // The next block. Not valid() if there are no more records.
    std::future<Records> more_;
};

}  // namespace rocklock
