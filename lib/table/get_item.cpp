// GetItem.
#include <utility>

#include "expression/request.hpp"
#include "item/capacity.hpp"
#include "table/capacity_report.hpp"
#include "table/faults.hpp"
#include "table/table_store.hpp"

namespace rocklock::table {

Result<GetAnswer> TableStore::get_item(const GetItem& request) {
    if (auto error = check_table(request.table, "tableName")) return *std::move(error);
    const auto read =
        expression::read_expressions(expression::RequestKind::get, request.expressions);
    if (!read) return Error(read.error());
    const auto found = schema(request.table);
    if (!found) return Error(found.error());
    const Schema& schema = **found;
    if (auto checked = check_key(request.key, schema.key.list()); !checked) {
        return std::move(checked).error();
    }
    auto stored = read_row(row_key(schema, nullptr, request.key));
    if (!stored) return std::move(stored).error();
    GetAnswer answer;
    std::size_t bytes = 0;
    if (*stored) {
        answer.version = (*stored)->version;
        bytes = size_bytes((*stored)->item);
        answer.item = read->projection ? expression::project(*read->projection, (*stored)->item)
                                       : std::move((*stored)->item);
    }
    answer.consumed = report_read(schema, nullptr, request.return_capacity,
                                  read_units(bytes, request.consistent), 0);
    return answer;
}

}  // namespace rocklock::table
