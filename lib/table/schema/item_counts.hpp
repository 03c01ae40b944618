// The number and size of the rows of a table or an index, as they are shown in descriptions.
//
// The counts are kept in memory. After a commit, the writer adds its changes to them. An orderly
// shutdown stores the counts, and the next start reads them. After a crash, the counts of the last
// orderly shutdown are used. These are not exact until the rows have been counted again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

namespace rocklock::table {

struct DataUse;
struct Schema;
struct IndexSchema;

// The number and size of the rows of a table, or of the entries of an index. Shared by all
// definitions of the table. While the object exists, its bytes count towards the user of the table.
//
// Threads: thread-safe after charge() was called.
struct ItemCounts {
    ItemCounts() = default;
    ItemCounts(const ItemCounts&) = delete;
    ItemCounts& operator=(const ItemCounts&) = delete;
    ~ItemCounts();

    // From now on, counts the rows towards this user. Null means no user. Has no effect if there is
    // a user already.
    void charge(const std::shared_ptr<DataUse>& user);
    void add(std::int64_t more, std::int64_t more_bytes);

    std::atomic<std::int64_t> count{0};
    std::atomic<std::int64_t> bytes{0};
    // Whether the counts are exact. The value of a table applies to its indexes, too.
    std::atomic<bool> exact{true};
    std::shared_ptr<DataUse> use;
    // Whether the rows are the drafts of a user.
    bool counts_drafts = false;
};

struct CountChange {
    std::shared_ptr<ItemCounts> item_counts;
    std::int64_t count = 0;
    std::int64_t bytes = 0;
};

void apply(const std::vector<CountChange>& changes);

// Returns the number of bytes that a change adds to the count of its user. For each row, this count
// includes a fixed number of bytes in addition to its attributes.
std::int64_t bytes_of(const CountChange& change);

// The rows that one or more writes change, and the resulting changes of counts.
struct RowChanges {
    std::vector<Write> writes;
    std::vector<CountChange> count_changes;
};

// A batch to commit, and the changes of counts to apply after the commit.
struct Decision {
    Batch batch;
    std::vector<CountChange> count_changes;
};

void append(RowChanges changes, Decision& decision);

// Encode and decode the counts of all tables. decode_item_counts() stores the counts in the tables.
// It marks the counts of a table as not exact if they were stored as not exact, or were not stored.
std::string encode_item_counts(const std::vector<std::shared_ptr<const Schema>>& tables,
                               bool exact);
// Errors: corrupt
Result<void> decode_item_counts(const std::optional<std::string>& record,
                                const std::vector<std::shared_ptr<const Schema>>& tables);

// Counts the rows of a table and of its indexes in a snapshot, in steps, and then corrects the
// counts. Writes that were being committed when the snapshot was taken may be counted twice or not
// at all.
//
// Threads: one at a time. Lifetime: must be destroyed before the storage.
class RowCounter {
public:
    RowCounter(const Storage& storage, std::shared_ptr<const Schema> schema);

    // Counts up to `rows_left` rows, and subtracts their number from `rows_left`. The last step
    // corrects the counts and returns true.
    //
    // Errors: those of Snapshot; corrupt
    Result<bool> step(std::size_t& rows_left);

private:
    struct Part {
        const IndexSchema* index = nullptr;
        std::shared_ptr<ItemCounts> item_counts;
        std::int64_t count_at_first = 0;
        std::int64_t bytes_at_first = 0;
        std::int64_t count = 0;
        std::int64_t bytes = 0;
    };

    Result<bool> walk(Part& part, std::size_t& rows_left);

    std::shared_ptr<const Schema> schema_;
    std::unique_ptr<Snapshot> snapshot_;
    std::vector<Part> parts_;
    std::size_t part_ = 0;
    // The key in the current part at which the count continues. An empty string means the first
    // row.
    std::string next_;
};

}  // namespace rocklock::table
