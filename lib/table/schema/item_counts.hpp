// The number and size of the rows of a table or an index, as they are shown in descriptions.
//
// They are kept in memory: after a commit, the writer adds its changes. An orderly shutdown stores
// the counts, and the next start reads them. After a crash, the counts of the last orderly shutdown
// are used; they are not exact until the rows have been counted.
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
// definitions of the table. While the object exists, it counts towards the user of the table.
//
// Threads: thread-safe after charge() was called.
struct ItemCounts {
    ItemCounts() = default;
    ItemCounts(const ItemCounts&) = delete;
    ItemCounts& operator=(const ItemCounts&) = delete;
    ~ItemCounts();

    // Counts the rows towards a user from now on; null means no user. Has no effect if there is a
    // user already.
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

// Returns the number of bytes that a change adds to its user. The size of a row includes more than
// its attributes.
std::int64_t bytes_of(const CountChange& change);

// The rows that one or more writes change, and the resulting changes of counts.
struct RowChanges {
    std::vector<Write> writes;
    std::vector<CountChange> count_changes;
};

// A batch to commit, and the changes of counts that apply after the commit.
struct Decision {
    Batch batch;
    std::vector<CountChange> count_changes;
};

void append(RowChanges changes, Decision& decision);

// Encodes the counts of all tables, and restores them. decode_item_counts() marks the counts of a
// table as not exact if they were stored as not exact, or were not stored.
std::string encode_item_counts(const std::vector<std::shared_ptr<const Schema>>& tables,
                               bool exact);
// Errors: corrupt
Result<void> decode_item_counts(const std::optional<std::string>& record,
                                const std::vector<std::shared_ptr<const Schema>>& tables);

// Counts the rows of a table and of its indexes in a snapshot, in steps, and then corrects the
// counts. Writes that were being committed when the snapshot was taken may be counted twice or not
// at all.
//
// Threads: one at a time. Lifetime: must end before the storage does.
class RowCounter {
public:
    RowCounter(const Storage& storage, std::shared_ptr<const Schema> schema);

    // Counts up to `rows_left` rows and decrements it. Returns true after the last step, which
    // corrects the counts.
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
    // The key in the current part at which the count continues; an empty string means the first
    // row.
    std::string next_;
};

}  // namespace rocklock::table
