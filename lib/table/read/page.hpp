// A page of items: the common part of Query and Scan.
//
// A page reads rows in order until it has read its maximum number of rows, or 1 MB, or no row is
// left. The maximum is at most 20,000 rows, which limits memory and time. The filter is applied
// after the rows are read. Therefore, a row that the filter drops counts towards the maximum.
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

// The parsed request for a page. Lifetime: borrows the options and the expressions of the request.
struct PagePlan {
    SchemaPointer schema;
    // If null, the page is read from the table itself.
    const IndexSchema* index = nullptr;
    const PageOptions* options = nullptr;
    const expression::RequestExpressions* expressions = nullptr;
    // Whether some attributes must be read from the table, because the entries of the index do not
    // contain them.
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

// Performs the checks of the request that DynamoDB makes before it checks the expressions. Returns
// the first error.
std::optional<Error> check_page_request(std::string_view table, const PageOptions& options);

// Errors: invalid_argument  the first error of the expressions; if they are valid, the first error
//                           of the options that can be checked without the table
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

// The result of the check whether a start key can be the last key of an earlier page of this
// request. `names`: the start key does not have exactly the required attributes. `types`: an
// attribute of the start key has a wrong type or an invalid value.
enum class StartKeyFault : std::uint8_t { none, names, types };
StartKeyFault check_start_key(const PagePlan& plan, const AttributeMap& start);

// Restricts the range to the rows after the start key, in the direction of the range.
void begin_after(RowRange& range, const PagePlan& plan, const AttributeMap& start);

// Reads a page. `known` contains the attributes that, according to the request, all rows of the
// page have.
//
// Errors: those of Snapshot
Result<Page> read_page(const Snapshot& snapshot, const PagePlan& plan, const RowRange& range,
                       const AttributeMap& known, GuardedRead& guard);

}  // namespace rocklock::table
