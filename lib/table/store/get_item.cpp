// GetItem.
#include <utility>

#include "expression/request.hpp"
#include "item/capacity.hpp"
#include "table/read/capacity_report.hpp"
#include "table/schema/request_limits.hpp"
#include "table/schema/validation.hpp"
#include "table/store/table_store.hpp"

namespace rocklock::table {
namespace {

GetAnswer answer_of(const GetItem& request, const ReadGet& read, std::optional<StoredItem> stored) {
    GetAnswer answer;
    std::size_t bytes = 0;
    if (stored) {
        const auto& projection = read.expressions.projection;
        answer.version = stored->version;
        answer.last_write = std::move(stored->last_write);
        bytes = stored->bytes;
        answer.item =
            projection ? expression::project(*projection, stored->item) : std::move(stored->item);
    }
    answer.consumed = report_read(*read.schema, nullptr, request.return_capacity,
                                  read_units(bytes, request.consistent), 0);
    return answer;
}

}  // namespace

Result<ReadGet> TableStore::read_get(const GetItem& request) const {
    if (auto error = check_table(request.table, "tableName")) return *std::move(error);
    auto expressions =
        expression::read_expressions(expression::RequestKind::get, request.expressions);
    if (!expressions) return std::move(expressions).error();
    auto found = schema(request.table);
    if (!found) return std::move(found).error();
    if (auto checked = check_key(request.key, (*found)->key.list()); !checked) {
        return std::move(checked).error();
    }
    if (auto error = check_projected_paths(**found, *expressions)) return *std::move(error);
    auto row = row_key(**found, nullptr, request.key);
    return ReadGet{*std::move(expressions), *std::move(found), std::move(row)};
}

Result<GetAnswer> TableStore::get_item(const GetItem& request) {
    auto read = read_get(request);
    if (!read) return std::move(read).error();
    auto stored = read_guarded(options_.gate, request.proof, [&](GuardedRead& guard) {
        guard.see(*read->schema, request.key);
        return read_one(*read, request.key);
    });
    if (!stored) return std::move(stored).error();
    return answer_of(request, *read, *std::move(stored));
}

std::optional<Result<GetAnswer>> TableStore::get_cached_item(const GetItem& request) {
    auto read = read_get(request);
    if (!read) return std::move(read).error();
    if (read->schema->is_system()) return std::nullopt;
    // Only if no read can be refused: a query of the locks could block.
    GuardedRead guard(options_.gate, request.proof);
    guard.begin();
    if (!guard.is_free(*read->schema)) return std::nullopt;
    const auto found = storage_.get_cached(Family::items, read->row, small_row_bytes);
    if (!found.is_known) return std::nullopt;
    auto stored = decode_stored(found.value);
    if (!stored) return std::move(stored).error();
    if (!guard.is_still_free(*read->schema)) return std::nullopt;
    return answer_of(request, *read, *std::move(stored));
}

}  // namespace rocklock::table
