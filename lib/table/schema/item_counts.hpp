// How many rows a table or an index has, and how many bytes: what descriptions tell.
//
// They are kept in memory: whoever has committed a write adds what it changed, which costs it two
// additions. An orderly end of the service stores them, and the next one begins with those. After a
// crash they are those of the last orderly end, not `sound`, until the rows have been counted.
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

// The number and size of the rows of a table, or of the entries of an index. It outlives changes of
// the definition, and counts towards the user of the table until its end.
//
// Threads: thread-safe, once charge() was called.
struct ItemCounts {
    ItemCounts() = default;
    ItemCounts(const ItemCounts&) = delete;
    ItemCounts& operator=(const ItemCounts&) = delete;
    ~ItemCounts();

    // Counts it towards a user from now on, null: towards none. Does nothing the second time.
    void charge(const std::shared_ptr<DataUse>& user);
    void add(std::int64_t more, std::int64_t more_bytes);

    std::atomic<std::int64_t> count{0};
    std::atomic<std::int64_t> bytes{0};
    // Whether nothing was missed; with a table's, its indexes' are meant too.
    std::atomic<bool> sound{true};
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

// What a change adds to the bytes of a user: a row takes more than its attributes.
std::int64_t bytes_of(const CountChange& change);

// What one or several writes change: the rows, and the figures behind them.
struct RowChanges {
    std::vector<Write> writes;
    std::vector<CountChange> count_changes;
};

// What is to be committed, and what of figures it changes then.
struct Decision {
    Batch batch;
    std::vector<CountChange> count_changes;
};

void append(RowChanges changes, Decision& decision);

// All figures as they are stored, and back into those of the tables that are there: of those that
// were stored as not sound, or not at all, it is said that they are not.
std::string encode_item_counts(const std::vector<std::shared_ptr<const Schema>>& tables,
                               bool sound);
// Errors: corrupt
Result<void> decode_item_counts(const std::optional<std::string>& record,
                                const std::vector<std::shared_ptr<const Schema>>& tables);

// Counts the rows of a table and of its indexes, in steps, as of the moment at which it began, and
// then puts the figures right by what it found. What was just being written at that moment may be
// counted twice, or not at all.
//
// Threads: one at a time. Lifetime: must end before the storage does.
class RowCounter {
public:
    RowCounter(const Storage& storage, std::shared_ptr<const Schema> schema);

    // Counts rows as long as some are left. True when the figures are right.
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
    // Where in that part it goes on; empty: at its beginning.
    std::string next_;
};

}  // namespace rocklock::table
