// Scan.
#include <utility>

#include "item/key_codec.hpp"
#include "table/read/page.hpp"
#include "table/schema/validation.hpp"
#include "table/store/table_store.hpp"

namespace rocklock::table {
namespace {

constexpr std::int64_t max_segments = 1'000'000;

std::optional<Error> check_segments(const Scan& request) {
    if (request.segment && !request.total_segments) {
        return validation_error(
            "The TotalSegments parameter is required but was not present in the request when "
            "Segment parameter is present");
    }
    if (request.total_segments && !request.segment) {
        return validation_error(
            "The Segment parameter is required but was not present in the request when parameter "
            "TotalSegments is present");
    }
    if (!request.segment) return std::nullopt;
    if (auto error = check_range(*request.total_segments, 1, max_segments, "totalSegments")) {
        return error;
    }
    if (auto error = check_range(*request.segment, 0, max_segments - 1, "segment")) return error;
    if (*request.segment < *request.total_segments) return std::nullopt;
    return validation_error(
        "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
        "Segment: " +
        std::to_string(*request.segment) +
        " is not less than TotalSegments: " + std::to_string(*request.total_segments));
}

// Returns an error if the start key belongs to another segment.
std::optional<Error> check_start_row(const Scan& request, const PagePlan& plan,
                                     const RowRange& rows) {
    const std::string row = row_key(*plan.schema, plan.index, *request.options.start_key);
    if (!request.segment || (row >= rows.first && (rows.last.empty() || row < rows.last))) {
        return std::nullopt;
    }
    return validation_error(
        "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use "
        "ExclusiveStartKey with correct Segment. TotalSegments: " +
        std::to_string(*request.total_segments) + " Segment: " + std::to_string(*request.segment));
}

RowRange rows_of(const Scan& request, const PagePlan& plan) {
    const std::string prefix = row_prefix(*plan.schema, plan.index);
    HashRange hashes;
    if (request.segment) {
        hashes = hashes_of_segment(static_cast<std::uint32_t>(*request.segment),
                                   static_cast<std::uint32_t>(*request.total_segments));
    }
    return {prefix + hash_prefix(hashes.first), end_of_prefix(prefix + hash_prefix(hashes.last)),
            true};
}

}  // namespace

Result<Page> TableStore::scan(const Scan& request) {
    const PageOptions& options = request.options;
    if (auto error = check_page_request(request.table, options)) return *std::move(error);
    if (auto error = check_segments(request)) return *std::move(error);
    const auto read =
        read_page_expressions(expression::RequestKind::scan, request.expressions, options);
    if (!read) return Error(read.error());
    const auto plan = plan_page(schema(request.table), options, *read);
    if (!plan) return Error(plan.error());
    if (auto error = check_read_paths(*plan)) return *std::move(error);
    RowRange rows = rows_of(request, *plan);
    if (options.start_key) {
        if (check_start_key(*plan, *options.start_key) != StartKeyFault::none) {
            return validation_error(
                "The provided starting key is invalid: The provided key element does not match "
                "the schema");
        }
        if (auto error = check_start_row(request, *plan, rows)) return *std::move(error);
        begin_after(rows, *plan, *options.start_key);
    }
    return read_guarded(options_.gate, options.proof, [&](GuardedRead& guard) {
        return read_page(*snapshot_for(*plan), *plan, rows, {}, guard);
    });
}

}  // namespace rocklock::table
