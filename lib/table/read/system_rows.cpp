#include "table/read/system_rows.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "item/key_codec.hpp"
#include "storage/preconditions.hpp"
#include "table/schema/validation.hpp"

namespace rocklock::table {
namespace {

std::size_t index_in_system_tables(const Schema& schema) {
    ROCKLOCK_ASSERT(schema.is_system() && schema.number >= first_system_number);
    return schema.number - first_system_number;
}

// Iterates over rows that were computed in advance. If that failed, status() returns the error.
class MadeRows final : public Snapshot::Cursor {
public:
    MadeRows(Result<std::vector<Item>> items, const Schema& schema) : schema_(schema) {
        if (items) {
            items_ = *std::move(items);
        } else {
            error_ = std::move(items).error();
        }
        show();
    }
    bool valid() const override { return at_ < items_.size(); }
    std::string_view key() const override { return key_; }
    std::string_view value() const override { return value_; }
    void next() override {
        ROCKLOCK_ASSERT(valid());
        ++at_;
        show();
    }
    Result<void> status() const override {
        if (error_) return *error_;
        return {};
    }

private:
    void show() {
        if (!valid()) return;
        key_ = row_key(schema_, nullptr, items_[at_]);
        value_ = encode_stored(0, items_[at_]);
    }

    const Schema& schema_;
    std::vector<Item> items_;
    std::optional<Error> error_;
    std::size_t at_ = 0;
    std::string key_;
    std::string value_;
};

class SystemMoment final : public Snapshot {
public:
    SystemMoment(SystemTables& source, const PagePlan& plan)
        : source_(source), plan_(plan), order_(row_prefix(*plan.schema, nullptr)) {}

    // A page of a system table reads no rows by key.
    Result<std::optional<std::string>> get(Family /*family*/,
                                           std::string_view /*key*/) const override {
        return std::optional<std::string>();
    }
    std::unique_ptr<Cursor> scan(Family /*family*/, std::string_view first,
                                 std::string_view last) const override {
        return rows(first, last, true);
    }
    std::unique_ptr<Cursor> scan_back(Family /*family*/, std::string_view first,
                                      std::string_view last) const override {
        return rows(first, last, false);
    }

private:
    std::unique_ptr<Cursor> rows(std::string_view first, std::string_view last,
                                 bool forward) const {
        SystemTables::Range range;
        range.table = index_in_system_tables(*plan_.schema);
        range.order = &order_;
        range.hash = hash_of_all(first, last);
        range.first = first;
        range.last = last;
        range.forward = forward;
        range.max_rows = plan_.max_rows;
        const auto& limit = plan_.options->limit;
        if (limit) range.max_rows = std::min(range.max_rows, static_cast<std::size_t>(*limit));
        return std::make_unique<MadeRows>(source_.scan(range), *plan_.schema);
    }

    // Returns the hash key if all rows of the range have the same one.
    std::optional<std::string> hash_of_all(std::string_view first, std::string_view last) const {
        const std::string prefix = row_prefix(*plan_.schema, nullptr);
        if (!first.starts_with(prefix) || last.empty()) return std::nullopt;
        std::string_view rest = first.substr(prefix.size());
        auto hash = take_partition(rest);
        if (!hash) return std::nullopt;
        const auto partition = first.substr(0, first.size() - rest.size());
        if (last > end_of_prefix(partition)) return std::nullopt;
        auto* text = hash->get_if<std::string>();
        if (text == nullptr) return std::nullopt;
        return std::move(*text);
    }

    SystemTables& source_;
    const PagePlan& plan_;
    const RowOrder order_;
};

}  // namespace

std::vector<SchemaPointer> system_schemas(const SystemTables& tables, WallTime created) {
    std::vector<SchemaPointer> list;
    for (const SystemTable& table : tables.tables()) {
        Schema schema;
        schema.number = first_system_number + static_cast<std::uint32_t>(list.size());
        schema.name = table.name;
        schema.id = "00000000-0000-0000-0000-00000000000" + std::to_string(list.size() + 1);
        schema.created_at = created;
        schema.key.hash = table.hash;
        schema.key.range = table.range;
        schema.billing = BillingMode::pay_per_request;
        schema.deletion_protection = true;
        schema.can_be_checked = table.can_be_checked;
        list.push_back(std::make_shared<const Schema>(std::move(schema)));
    }
    return list;
}

std::optional<Error> check_writable(const Schema& schema, const WriteItem& request) {
    if (!schema.is_system()) return std::nullopt;
    if (request.kind != WriteItem::Kind::check) return only_read(schema.name);
    if (!schema.can_be_checked) {
        return validation_error("A transaction cannot check a condition on table " + schema.name +
                                ": its items change without a write");
    }
    if (request.expected_version) {
        return validation_error("Items of table " + schema.name +
                                " have no versions: give a condition");
    }
    return std::nullopt;
}

void SystemRows::want(const Schema& schema, const std::string& row, const AttributeMap& key) {
    if (!schema.is_system()) return;
    ROCKLOCK_ASSERT(source_ != nullptr);
    if (indexes_.emplace(row, keys_.size()).second) {
        keys_.push_back({index_in_system_tables(schema), &key});
    }
}

Result<void> SystemRows::read() {
    if (keys_.empty()) return {};
    ROCKLOCK_ASSERT(indexes_.size() == keys_.size());
    auto rows = source_->get(keys_);
    if (!rows) return std::move(rows).error();
    rows_ = *std::move(rows);
    ROCKLOCK_ASSERT(rows_.size() == keys_.size());
    return {};
}

const SystemRow& SystemRows::at(const std::string& row) const {
    const auto found = indexes_.find(row);
    ROCKLOCK_ASSERT(found != indexes_.end() && found->second < rows_.size());
    return rows_[found->second];
}

std::optional<StoredItem> SystemRows::item_at(const std::string& row) const {
    const auto& item = at(row).item;
    return item ? std::optional(StoredItem{0, *item, {}, size_bytes(*item)}) : std::nullopt;
}

Result<void> SystemRows::add_terms(const std::string& row, const Snapshot& before,
                                   Batch& batch) const {
    const SystemRow& seen = at(row);
    for (const auto& record : seen.depends_on) {
        const auto value = before.get(record.family, record.key);
        if (!value) return Error(value.error());
        batch.preconditions.push_back({record.family, record.key, std::nullopt});
        if (*value) batch.preconditions.back().version = version_of(**value);
    }
    if (seen.until != BootTime::max()) {
        batch.not_after = std::min(batch.not_after.value_or(seen.until), seen.until);
    }
    return {};
}

Result<void> SystemRows::add_terms(const Snapshot& before, Batch& batch) const {
    for (const auto& [row, index] : indexes_) {
        if (auto added = add_terms(row, before, batch); !added) return added;
    }
    return {};
}

Result<bool> still_holds(const Batch& terms, const Snapshot& moment, BootTime now) {
    const auto version = [&](Family family,
                             std::string_view key) -> Result<std::optional<std::uint64_t>> {
        const auto value = moment.get(family, key);
        if (!value) return Error(value.error());
        if (!*value) return std::optional<std::uint64_t>();
        return std::optional(version_of(**value));
    };
    const auto refused = judge(terms, now, version);
    if (!refused) return Error(refused.error());
    return !refused->has_value();
}

Result<std::optional<StoredItem>> read_item(const Snapshot& moment, const SystemRows& system,
                                            const Schema& schema, const std::string& row) {
    if (schema.is_system()) return system.item_at(row);
    auto value = moment.get(Family::items, row);
    if (!value) return std::move(value).error();
    return decode_stored(*value);
}

std::shared_ptr<const Snapshot> system_moment(SystemTables& source, const PagePlan& plan) {
    return std::make_shared<SystemMoment>(source, plan);
}

}  // namespace rocklock::table
