// A page of items: what Query and Scan have in common.
//
// A page reads rows in order until it has read as many as it may, or 1 MB of them, or none is left.
// As many as it may are no more than 20,000, so that neither memory nor time is without bound.
// Only then comes the filter: what it drops has been read, and counts.
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

// What is read, and what of it is answered. Lifetime: borrows options and expressions.
struct PagePlan {
    SchemaPointer schema;
    // Nothing: the table itself.
    const IndexSchema* index = nullptr;
    const PageOptions* options = nullptr;
    const expression::RequestExpressions* expressions = nullptr;
    // Whether the entries of the index lack something, which is then read from the table.
    bool fetches = false;
    // Looked at in one page, at most.
    std::size_t max_rows = 0;

    const KeyParts& key() const { return index ? index->key : schema->key; }
};

// Rows of first <= key < last.
struct RowRange {
    std::string first;
    std::string last;
    bool forward = true;
};

// The first fault of the request before its expressions.
std::optional<Error> check_page_request(std::string_view table, const PageOptions& options);

// Errors: invalid_argument  the first fault of the expressions, or behind them one of the options
//                           that need no table
Result<expression::RequestExpressions> read_page_expressions(expression::RequestKind kind,
                                                             const ExpressionParameters& parameters,
                                                             const PageOptions& options);

// Errors: that of the schema, if there is none
//         invalid_argument  no such index, or one that has not what is asked for
Result<PagePlan> plan_page(Result<SchemaPointer> schema, const PageOptions& options,
                           const expression::RequestExpressions& expressions);

// The fault of a projection that goes into a key attribute.
std::optional<Error> check_projected_paths(const Schema& schema,
                                           const expression::RequestExpressions& expressions);
// The fault of a projection or a filter that goes into a key attribute.
std::optional<Error> check_read_paths(const PagePlan& plan);

// Whether the start key has just the attributes of a last key, each of its type. What is wrong with
// it otherwise.
enum class StartKeyFault : std::uint8_t { none, names, types };
StartKeyFault check_start_key(const PagePlan& plan, const AttributeMap& start);

// Leaves of the range what lies behind the start key.
void begin_behind(RowRange& range, const PagePlan& plan, const AttributeMap& start);

// `known` are attributes that all of its rows have by the request.
//
// Errors: those of Snapshot
Result<Page> read_page(const Snapshot& snapshot, const PagePlan& plan, const RowRange& range,
                       const AttributeMap& known, GuardedRead& guard);

}  // namespace rocklock::table
