// A page of items: the common part of Query and Scan.
//
// A page reads rows in order until it has read its maximum number of rows, or 1 MB, or no row is
// left. The maximum is at most 20,000, which limits memory and time. The filter is applied to the
// rows that are read: a row that it drops counts as read.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <rocklock/items/item_requests.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

#include "expression/request.hpp"
#include "table/guard/guards.hpp"
#include "table/schema/catalog.hpp"

namespace rocklock::table {

// The parsed request for a page. Lifetime: borrows options and expressions.
struct PagePlan {
    SchemaPointer schema;
    // If null, the page is read from the table itself.
    const IndexSchema* index = nullptr;
    const PageOptions* options = nullptr;
    const expression::RequestExpressions* expressions = nullptr;
    // Whether attributes that the entries of the index do not contain must be read from the table.
    bool fetches = false;
    // The maximum number of rows that one page reads.
    std::size_t max_rows = 0;

    const KeyParts& key() const { return index ? index->key : schema->key; }
};

// The rows with first <= key < last.
struct RowRange {
    std::string first;
    std::string last;
    bool forward = true;
};

// Returns the first error of the request that is checked before its expressions.
std::optional<Error> check_page_request(std::string_view table, const PageOptions& options);

// Errors: invalid_argument  the first error of the expressions; if they are valid, of the options
//                           that can be checked without the table
Result<expression::RequestExpressions> read_page_expressions(expression::RequestKind kind,
                                                             const ExpressionParameters& parameters,
                                                             const PageOptions& options);

// Errors: the error of `schema`, if it has one
//         invalid_argument  the index does not exist or does not contain a requested attribute
Result<PagePlan> plan_page(Result<SchemaPointer> schema, const PageOptions& options,
                           const expression::RequestExpressions& expressions);

// Returns an error if the projection has a path into a key attribute.
std::optional<Error> check_projected_paths(const Schema& schema,
                                           const expression::RequestExpressions& expressions);
// As check_projected_paths(), but also checks the filter.
std::optional<Error> check_read_paths(const PagePlan& plan);

// The result of comparing a start key with the form of a last key. `names`: it does not have
// exactly the required attributes. `types`: an attribute has another type or an invalid value.
enum class StartKeyFault : std::uint8_t { none, names, types };
StartKeyFault check_start_key(const PagePlan& plan, const AttributeMap& start);

// Restricts the range to the rows after the start key, in the direction of the range.
void begin_after(RowRange& range, const PagePlan& plan, const AttributeMap& start);

// Reads a page. `known` contains the attributes that all of its rows have according to the request.
//
// Errors: those of Snapshot
Result<Page> read_page(const Snapshot& snapshot, const PagePlan& plan, const RowRange& range,
                       const AttributeMap& known, GuardedRead& guard);

}  // namespace rocklock::table
