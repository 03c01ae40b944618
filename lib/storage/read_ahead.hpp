// For whoever walks through very many records and has work with each: others are fetched meanwhile.
#pragma once

#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/storage/storage.hpp>

namespace rocklock {

// The records of a cursor, some thousands of them at a time: while the caller works at those, a
// thread of its own fetches the next ones. Few records are fetched at once, without a thread.
//
// Threads:  one at a time, as any cursor.
// Lifetime: borrows the snapshot that the cursor is of.
// Errors:   as of the cursor, behind what was fetched before.
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
    // One behind the other.
    struct Records {
        std::vector<Record> records;
        std::string bytes;
    };

    // Uses the memory of those before.
    Records fetch(Records into) const;
    void fetch_more();
    std::size_t start() const { return at_ == 0 ? 0 : fetched_.records[at_ - 1].end; }

    // The thread's, while there is one: the cursor, and records that were worked at.
    const std::unique_ptr<Snapshot::Cursor> cursor_;
    Records spent_;
    Records fetched_;
    std::size_t at_ = 0;
    // Without a state: there are no more.
    std::future<Records> more_;
};

}  // namespace rocklock
