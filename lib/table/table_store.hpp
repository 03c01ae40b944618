// TableService over a Storage. One file for each family of operations:
//
//     table_store.cpp    opening; the loop that commits decisions
//     tables.cpp         CreateTable, DescribeTable, UpdateTable, DeleteTable, ListTables
//     write_item.cpp     PutItem, UpdateItem, DeleteItem
//     get_item.cpp       GetItem
//     query.cpp, scan.cpp
//     batch_write.cpp    BatchWriteItem
//     many_reads.cpp     BatchGetItem, TransactGetItems
//     transact_write.cpp TransactWriteItems
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/table.hpp>

#include "table/catalog.hpp"
#include "table/layout.hpp"
#include "table/turns.hpp"
#include "table/versions.hpp"
#include "table/write_plan.hpp"

namespace rocklock::table {

class TableStore final : public TableService {
public:
    TableStore(Storage& storage, Clock& clock, const TableOptions& options)
        : storage_(storage),
          clock_(clock),
          options_(options),
          versions_(storage),
          catalog_(storage, versions_) {}

    Result<void> open();

    Result<TableDescription> create_table(const CreateTable& request) override;
    Result<TableDescription> describe_table(const std::string& table) override;
    Result<TableDescription> update_table(const UpdateTable& request) override;
    Result<TableDescription> delete_table(const std::string& table) override;
    Result<TableNames> list_tables(const ListTables& request) override;

    Result<WriteAnswer> write_item(const WriteItem& request) override;
    Result<GetAnswer> get_item(const GetItem& request) override;
    Result<Page> query(const Query& request) override;
    Result<Page> scan(const Scan& request) override;

    Result<BatchWriteAnswer> batch_write(const BatchWrite& request) override;
    Result<BatchGetAnswer> batch_get(const BatchGet& request) override;
    Result<TransactWriteAnswer> transact_write(const TransactWrite& request) override;
    Result<TransactGetAnswer> transact_get(const TransactGet& request) override;

private:
    // Of data; those of calls about tables name the table. Errors: resource_not_found
    Result<SchemaPointer> schema(const std::string& table) const;

    // Makes a batch, commits it, and makes another one as long as what it rests on changed
    // meanwhile. Whoever meets others at one of the rows has a turn after them.
    //
    // `decide` leaves the batch empty when there is nothing to write.
    // Errors: those of `decide`; those of Storage::commit() but precondition_failed
    Result<void> commit_decision(const std::vector<std::string>& rows, Durability durability,
                                 const std::function<Result<Batch>()>& decide);

    // Errors: those of Storage; corrupt
    Result<std::optional<StoredItem>> read_row(const std::string& row) const;

    Result<WriteAnswer> write_planned(const ReadWrite& read);

    // Makes the entries of all items that were there before the index, and opens it to readers.
    Result<SchemaPointer> fill_index(const std::string& table, std::uint16_t index);
    Result<void> fill_entries(const Schema& schema, const IndexSchema& index);
    Result<void> fill_entry(const Schema& schema, const IndexSchema& index, const std::string& row);

    Storage& storage_;
    Clock& clock_;
    const TableOptions options_;
    Versions versions_;
    Catalog catalog_;
    Turns turns_;
};

}  // namespace rocklock::table
