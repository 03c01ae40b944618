#include "table/schema/item_counts.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "item/key_codec.hpp"
#include "table/schema/layout.hpp"
#include "table/schema/schema.hpp"
#include "table/schema/user_data.hpp"

namespace rocklock::table {
namespace {

// The index number that stands for the table's own rows.
constexpr std::uint16_t own_rows = 0;

// The bytes of a row in addition to its attributes, as DynamoDB bills storage.
constexpr std::int64_t row_bytes = 100;

using Key = std::pair<std::uint32_t, std::uint16_t>;

struct Stored {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
};

std::uint64_t stored(const std::atomic<std::int64_t>& value) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(value.load(), 0));
}

void append_item_counts(std::string& out, std::uint32_t table, std::uint16_t index,
                        const ItemCounts& item_counts) {
    append_u32(out, table);
    append_u16(out, index);
    append_u64(out, stored(item_counts.count));
    append_u64(out, stored(item_counts.bytes));
}

void set_item_counts(ItemCounts& item_counts, const std::map<Key, Stored>& known, Key key) {
    const auto found = known.find(key);
    if (found == known.end()) return;
    item_counts.add(static_cast<std::int64_t>(found->second.count),
                    static_cast<std::int64_t>(found->second.bytes));
}

std::int64_t charged(std::int64_t rows, std::int64_t bytes) { return rows * row_bytes + bytes; }

}  // namespace

ItemCounts::~ItemCounts() {
    if (use) use->bytes -= charged(count, bytes);
}

void ItemCounts::charge(const std::shared_ptr<DataUse>& user) {
    if (use || !user) return;
    use = user;
    use->bytes += charged(count, bytes);
}

void ItemCounts::add(std::int64_t more, std::int64_t more_bytes) {
    if (more != 0) count.fetch_add(more, std::memory_order_relaxed);
    if (more_bytes != 0) bytes.fetch_add(more_bytes, std::memory_order_relaxed);
    if (use) use->bytes.fetch_add(charged(more, more_bytes), std::memory_order_relaxed);
}

std::int64_t bytes_of(const CountChange& change) { return charged(change.count, change.bytes); }

void apply(const std::vector<CountChange>& changes) {
    for (const CountChange& change : changes) {
        ROCKLOCK_ASSERT(change.item_counts != nullptr);
        change.item_counts->add(change.count, change.bytes);
    }
}

void append(RowChanges changes, Decision& decision) {
    std::move(changes.writes.begin(), changes.writes.end(),
              std::back_inserter(decision.batch.writes));
    std::move(changes.count_changes.begin(), changes.count_changes.end(),
              std::back_inserter(decision.count_changes));
}

std::string encode_item_counts(const std::vector<std::shared_ptr<const Schema>>& tables,
                               bool exact) {
    std::string out;
    std::vector<std::uint32_t> exact_ones;
    for (const auto& table : tables) {
        ROCKLOCK_ASSERT(table != nullptr && table->item_counts != nullptr);
        if (exact && table->item_counts->exact) exact_ones.push_back(table->number);
    }
    append_varint(out, exact_ones.size());
    for (const std::uint32_t number : exact_ones) append_u32(out, number);
    for (const auto& table : tables) {
        append_item_counts(out, table->number, own_rows, *table->item_counts);
        for (const IndexSchema& index : table->indexes) {
            append_item_counts(out, table->number, index.number, *index.item_counts);
        }
    }
    return out;
}

Result<void> decode_item_counts(const std::optional<std::string>& record,
                                const std::vector<std::shared_ptr<const Schema>>& tables) {
    std::vector<std::uint32_t> exact_ones;
    std::map<Key, Stored> known;
    if (record) {
        Reader reader(*record);
        reader.u64();
        const auto count = reader.varint();
        for (std::uint64_t i = 0; reader.ok() && count && i < *count; ++i) {
            if (const auto number = reader.u32()) exact_ones.push_back(*number);
        }
        while (reader.ok() && !reader.rest().empty()) {
            const auto table = reader.u32();
            const auto index = reader.u16();
            const auto rows = reader.u64();
            const auto bytes = reader.u64();
            if (reader.ok()) known[{*table, *index}] = {*rows, *bytes};
        }
        if (!reader.done())
            return Error(ErrorCode::corrupt, "the counts of items of tables are damaged");
    }
    for (const auto& table : tables) {
        set_item_counts(*table->item_counts, known, {table->number, own_rows});
        table->item_counts->exact =
            std::find(exact_ones.begin(), exact_ones.end(), table->number) != exact_ones.end();
        for (const IndexSchema& index : table->indexes) {
            set_item_counts(*index.item_counts, known, {table->number, index.number});
        }
    }
    return {};
}

RowCounter::RowCounter(const Storage& storage, std::shared_ptr<const Schema> schema)
    : schema_(std::move(schema)) {
    const auto add = [this](const IndexSchema* index,
                            const std::shared_ptr<ItemCounts>& item_counts) {
        parts_.push_back({index, item_counts, item_counts->count, item_counts->bytes, 0, 0});
    };
    add(nullptr, schema_->item_counts);
    for (const IndexSchema& index : schema_->indexes) add(&index, index.item_counts);
    snapshot_ = storage.snapshot();
    ROCKLOCK_ASSERT(snapshot_ != nullptr);
}

Result<bool> RowCounter::step(std::size_t& rows_left) {
    for (; part_ < parts_.size(); ++part_) {
        const auto walked = walk(parts_[part_], rows_left);
        if (!walked) return Error(walked.error());
        if (!*walked) return false;
        next_.clear();
    }
    // Another counter may have finished first.
    ROCKLOCK_ASSERT(parts_.size() == schema_->indexes.size() + 1);
    if (schema_->item_counts->exact.exchange(true)) return true;
    for (const Part& part : parts_) {
        part.item_counts->add(part.count - part.count_at_first, part.bytes - part.bytes_at_first);
    }
    return true;
}

Result<bool> RowCounter::walk(Part& part, std::size_t& rows_left) {
    const std::string prefix = row_prefix(*schema_, part.index);
    const auto cursor = snapshot_->scan(row_family(part.index), next_.empty() ? prefix : next_,
                                        end_of_prefix(prefix));
    for (; cursor->valid(); cursor->next()) {
        if (rows_left == 0) {
            next_ = cursor->key();
            return false;
        }
        --rows_left;
        const auto row = measure_stored(cursor->value());
        if (!row) return Error(row.error());
        ++part.count;
        part.bytes += static_cast<std::int64_t>(row->bytes);
    }
    if (auto status = cursor->status(); !status) return std::move(status).error();
    return true;
}

}  // namespace rocklock::table
