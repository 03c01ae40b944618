#include "table/read/page.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "item/capacity.hpp"
#include "table/read/capacity_report.hpp"
#include "table/schema/index_entries.hpp"
#include "table/schema/layout.hpp"
#include "table/schema/validation.hpp"

namespace rocklock::table {
namespace {

constexpr std::size_t page_bytes = 1 << 20;
// Items need more memory than DynamoDB counts, tiny ones a hundred times as much, and the filter
// evaluates each of them. The limit shortens only pages of items smaller than 53 bytes.
constexpr std::size_t max_stored_rows = 20'000;
// The lock manager can list this many rows in one step without blocking other requests for long.
constexpr std::size_t max_system_rows = 2'000;

std::string listed(const std::vector<std::string_view>& names) {
    std::string text = "[";
    for (const auto name : names) text.append(text.size() > 1 ? ", " : "").append(name);
    return text + "]";
}

std::vector<std::string_view> not_projected(const PagePlan& plan,
                                            std::vector<std::string_view> attributes) {
    ROCKLOCK_ASSERT(plan.index != nullptr);
    std::erase_if(attributes, [&plan](std::string_view name) {
        return plan.schema->projects(*plan.index, name);
    });
    return attributes;
}

std::vector<std::string_view> missing_for_projection(const PagePlan& plan) {
    const auto& projection = plan.expressions->projection;
    if (!projection) return {};
    return not_projected(plan, expression::attributes(*projection));
}

std::vector<std::string_view> missing_for_filter(const PagePlan& plan) {
    const auto& filter = plan.expressions->filter;
    if (!filter) return {};
    return not_projected(plan, expression::attributes(*filter));
}

std::optional<Error> check_global(const PagePlan& plan) {
    const IndexSchema& index = *plan.index;
    if (plan.options->consistent) {
        return validation_error("Consistent reads are not supported on global secondary indexes");
    }
    if (index.status == IndexStatus::creating) {
        return validation_error("Cannot read from backfilling global secondary index: " +
                                index.name);
    }
    if (plan.options->select == Select::all_attributes &&
        index.projection.type != ProjectionType::all) {
        return invalid_parameter(
            "Select type ALL_ATTRIBUTES is not supported for global secondary index " + index.name +
            " because its projection type is not ALL");
    }
    if (const auto missing = missing_for_projection(plan); !missing.empty()) {
        return invalid_parameter("Global secondary index " + index.name + " does not project " +
                                 listed(missing));
    }
    if (const auto missing = missing_for_filter(plan); !missing.empty()) {
        return invalid_parameter(
            "Secondary index " + index.name +
            " does not project one or more filter attributes: " + listed(missing));
    }
    return std::nullopt;
}

bool lacks_something(const PagePlan& plan) {
    if (!plan.index || plan.index->projection.type == ProjectionType::all) return false;
    return plan.options->select == Select::all_attributes ||
           !missing_for_projection(plan).empty() || !missing_for_filter(plan).empty();
}

// Checks the options that do not depend on the table.
Result<void> check_options(const PageOptions& options,
                           const expression::RequestExpressions& expressions) {
    const auto& select = options.select;
    if (expressions.projection) {
        const std::string text = "Cannot specify the ProjectionExpression when choosing to get ";
        if (select == Select::count) return validation_error(text + "only the Count");
        if (select == Select::all_attributes) return validation_error(text + "ALL_ATTRIBUTES");
        if (select == Select::all_projected_attributes) {
            return validation_error(text + "ALL_PROJECTED_ATTRIBUTES");
        }
        return {};
    }
    if (select == Select::specific_attributes) {
        return validation_error(
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get "
            "SPECIFIC_ATTRIBUTES");
    }
    if (select == Select::all_projected_attributes && !options.index) {
        return validation_error(
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName");
    }
    return {};
}

// Reads one page, row by row.
class PageReader {
public:
    PageReader(const Snapshot& snapshot, const PagePlan& plan, GuardedRead& guard)
        : snapshot_(snapshot),
          plan_(plan),
          guard_(guard),
          only_counts_(plan.options->select == Select::count && !plan.expressions->filter &&
                       !plan.fetches && !plan.schema->binding) {}

    Result<Page> read(const RowRange& range);

private:
    // Decodes the row. If its attributes are not needed, leaves the item empty.
    Result<StoredItem> decode(std::string_view row) const;
    void take(Item item);
    Result<void> fetch(Item& item);
    bool is_full() const;

    const Snapshot& snapshot_;
    const PagePlan& plan_;
    GuardedRead& guard_;
    // Whether the attributes are needed only for the last key.
    const bool only_counts_;
    Page page_;
    std::size_t bytes_ = 0;
    // The size of the items that were read to complete entries of an index.
    std::size_t fetched_bytes_ = 0;
    double fetched_units_ = 0;
};

Result<Page> PageReader::read(const RowRange& range) {
    const Family family = row_family(plan_.index);
    const auto cursor = range.forward ? snapshot_.scan(family, range.first, range.last)
                                      : snapshot_.scan_back(family, range.first, range.last);
    for (; cursor->valid(); cursor->next()) {
        auto stored = decode(cursor->value());
        if (!stored) return std::move(stored).error();
        bytes_ += stored->bytes;
        ++page_.scanned;
        guard_.see(*plan_.schema, stored->item);
        if (plan_.fetches) {
            if (auto fetched = fetch(stored->item); !fetched) return std::move(fetched).error();
        }
        const bool full = is_full();
        if (full && only_counts_) {
            stored = decode_without_last_write(cursor->value());
            if (!stored) return std::move(stored).error();
        }
        if (full) page_.last_key = key_of(*plan_.schema, plan_.index, stored->item);
        take(std::move(stored->item));
        if (full) break;
    }
    if (auto status = cursor->status(); !status) return std::move(status).error();
    ROCKLOCK_ASSERT(page_.items.size() <= page_.count && page_.count <= page_.scanned);
    ROCKLOCK_ASSERT(page_.scanned <= plan_.max_rows);
    page_.consumed = report_read(*plan_.schema, plan_.index, plan_.options->return_capacity,
                                 read_units(bytes_, plan_.options->consistent), fetched_units_);
    return std::move(page_);
}

Result<StoredItem> PageReader::decode(std::string_view row) const {
    return only_counts_ ? measure_stored(row) : decode_without_last_write(row);
}

bool PageReader::is_full() const {
    const auto& limit = plan_.options->limit;
    return bytes_ >= page_bytes || fetched_bytes_ >= page_bytes ||
           page_.scanned >= plan_.max_rows ||
           (limit && page_.scanned >= static_cast<std::uint64_t>(*limit));
}

void PageReader::take(Item item) {
    const auto& filter = plan_.expressions->filter;
    const auto& projection = plan_.expressions->projection;
    if (filter && !expression::holds(*filter, item)) return;
    ++page_.count;
    if (plan_.options->select == Select::count) return;
    page_.items.push_back(projection ? expression::project(*projection, item) : std::move(item));
}

Result<void> PageReader::fetch(Item& item) {
    ROCKLOCK_ASSERT(plan_.index != nullptr && !plan_.schema->is_system());
    auto value = snapshot_.get(Family::items, row_key(*plan_.schema, nullptr, item));
    if (!value) return std::move(value).error();
    if (!*value) {
        return Error(ErrorCode::corrupt, "index " + plan_.index->name + " of table " +
                                             plan_.schema->name +
                                             " has an entry whose item does not exist");
    }
    auto stored = decode_without_last_write(**value);
    if (!stored) return std::move(stored).error();
    item = std::move(stored->item);
    fetched_bytes_ += stored->bytes;
    fetched_units_ += read_units(stored->bytes, plan_.options->consistent);
    return {};
}

}  // namespace

std::optional<Error> check_page_request(std::string_view table, const PageOptions& options) {
    if (auto error = check_table(table, "tableName")) return error;
    if (!options.limit) return std::nullopt;
    return check_range(*options.limit, 1, INT64_MAX, "limit");
}

Result<expression::RequestExpressions> read_page_expressions(expression::RequestKind kind,
                                                             const ExpressionParameters& parameters,
                                                             const PageOptions& options) {
    auto read = expression::read_expressions(kind, parameters);
    if (!read) return read;
    if (auto checked = check_options(options, *read); !checked) return std::move(checked).error();
    return read;
}

Result<PagePlan> plan_page(Result<SchemaPointer> schema, const PageOptions& options,
                           const expression::RequestExpressions& expressions) {
    if (!schema) return std::move(schema).error();
    ROCKLOCK_ASSERT(*schema != nullptr);
    PagePlan plan{*std::move(schema), nullptr, &options, &expressions, false, max_stored_rows};
    if (plan.schema->is_system()) plan.max_rows = max_system_rows;
    if (!options.index) return plan;
    plan.index = plan.schema->index(*options.index);
    if (!plan.index) {
        return validation_error("The table does not have the specified index: " + *options.index);
    }
    if (plan.index->kind == IndexKind::global) {
        if (auto error = check_global(plan)) return *std::move(error);
    }
    plan.fetches = lacks_something(plan);
    return plan;
}

std::optional<Error> check_projected_paths(const Schema& schema,
                                           const expression::RequestExpressions& expressions) {
    const auto& projection = expressions.projection;
    if (!projection) return std::nullopt;
    return check_key_paths(schema, expression::nested_attributes(*projection));
}

std::optional<Error> check_read_paths(const PagePlan& plan) {
    if (auto error = check_projected_paths(*plan.schema, *plan.expressions)) return error;
    const auto& filter = plan.expressions->filter;
    if (!filter) return std::nullopt;
    return check_key_paths(*plan.schema, expression::nested_attributes(*filter));
}

StartKeyFault check_start_key(const PagePlan& plan, const AttributeMap& start) {
    const auto key = plan.schema->key.list();
    std::vector<KeyAttribute> parts(key.begin(), key.end());
    if (plan.index) {
        for (const KeyAttribute& part : plan.index->key.list()) {
            if (!plan.schema->key.has(part.name)) parts.push_back(part);
        }
    }
    if (start.size() != parts.size()) return StartKeyFault::names;
    bool types_match = true;
    for (const KeyAttribute& part : parts) {
        const auto* value = start.find(part.name);
        if (!value) return StartKeyFault::names;
        types_match =
            types_match && value->type() == part.type && check_key_value(*value, part).has_value();
    }
    return types_match ? StartKeyFault::none : StartKeyFault::types;
}

void begin_after(RowRange& range, const PagePlan& plan, const AttributeMap& start) {
    ROCKLOCK_ASSERT(!range.first.empty());
    std::string row = row_key(*plan.schema, plan.index, start);
    if (range.forward) {
        row.push_back('\0');
        range.first = std::max(range.first, row);
    } else if (range.last.empty() || row < range.last) {
        range.last = std::move(row);
    }
}

Result<Page> read_page(const Snapshot& snapshot, const PagePlan& plan, const RowRange& range,
                       const AttributeMap& known, GuardedRead& guard) {
    // A range outside the table would show rows of other tables.
    ROCKLOCK_ASSERT(range.first.starts_with(row_prefix(*plan.schema, plan.index)));
    guard.add_resource(*plan.schema, known);
    return PageReader(snapshot, plan, guard).read(range);
}

}  // namespace rocklock::table
