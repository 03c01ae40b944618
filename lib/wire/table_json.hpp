// The functions with which table_call.cpp reads requests from JSON and writes responses as JSON.
// Each family of operations has a file:
//
//     table_json_schema.cpp        CreateTable, UpdateTable, DescribeTable, DeleteTable, ListTables
//     table_json_item.cpp          PutItem, UpdateItem, DeleteItem, GetItem
//     table_json_page.cpp          Query, Scan
//     table_json_batch.cpp         BatchWriteItem, BatchGetItem
//     table_json_transaction.cpp   TransactWriteItems, TransactGetItems
//     table_json_settings.cpp      time to live, tags, limits
//     table_json_capacity.cpp      consumed capacity in responses
//
// The functions whose names begin with read_ record faults in the MemberReader that they get. After
// a fault, their results must not be used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/items/table.hpp>

#include "wire/json/json_writer.hpp"
#include "wire/json/member_reader.hpp"

namespace rocklock::table_json {

CreateTable read_create_table(const MemberReader& json);
UpdateTable read_update_table(const MemberReader& json);
ListTables read_list_tables(const MemberReader& json);
void write_description(JsonWriter& json, const TableDescription& table);
// Writes the short description of a table that the response to DeleteTable contains.
void write_short_description(JsonWriter& json, const TableDescription& table);
void write_names(JsonWriter& json, const TableNames& names);

UpdateTimeToLive read_update_time_to_live(const MemberReader& json);
void write_specification(JsonWriter& json, const UpdateTimeToLive& specification);
void write_description(JsonWriter& json, const TimeToLive& described);
// Reads the member Tags. Returns an empty map if the member is absent.
Tags read_tags(const MemberReader& json);
TagResource read_tag_resource(const MemberReader& json);
UntagResource read_untag_resource(const MemberReader& json);
ListTagsOfResource read_list_tags(const MemberReader& json);
void write_tags(JsonWriter& json, const TagPage& page);
void write_limits(JsonWriter& json, const ServiceLimits& limits);

WriteItem read_write(const MemberReader& json, WriteItem::Kind kind);
// Reads an action of a transaction.
WriteItem read_action(const MemberReader& json, WriteItem::Kind kind);
GetItem read_get(const MemberReader& json);
// Read the usual requests from their text; see read_usual_item_body(). Return nullopt for all other
// requests. Otherwise, the result is equal to that of read_get() or read_write(). `kind` must be
// `put` or `remove`.
std::optional<GetItem> read_usual_get(std::string_view body);
std::optional<WriteItem> read_usual_write(std::string_view body, WriteItem::Kind kind);
void write_answer(JsonWriter& json, const WriteAnswer& answer);
void write_answer(JsonWriter& json, const GetAnswer& answer);

Query read_query(const MemberReader& json);
Scan read_scan(const MemberReader& json);
void write_page(JsonWriter& json, const Page& page, const PageOptions& options);

BatchWrite read_batch_write(const MemberReader& json);
BatchGet read_batch_get(const MemberReader& json);
void write_answer(JsonWriter& json, const BatchWriteAnswer& answer);
void write_answer(JsonWriter& json, const BatchGetAnswer& answer);

TransactWrite read_transact_write(const MemberReader& json);
TransactGet read_transact_get(const MemberReader& json);
void write_answer(JsonWriter& json, const TransactWriteAnswer& answer);
void write_answer(JsonWriter& json, const TransactGetAnswer& answer);

ReturnCapacity read_return_capacity(const MemberReader& json);
bool read_return_metrics(const MemberReader& json);
// Write a member of a response. If the value is empty, the member is omitted.
void write_consumed(JsonWriter& json, const std::optional<ConsumedCapacity>& consumed);
// Determines which members report the consumed units. Every response has CapacityUnits. Responses
// to transactions repeat the number in ReadCapacityUnits (`reads`) or WriteCapacityUnits
// (`writes`); other responses use `either`.
enum class UnitsOf : std::uint8_t { either, reads, writes };
void write_consumed(JsonWriter& json, const std::vector<ConsumedCapacity>& consumed, UnitsOf of);
void write_collection(JsonWriter& json, const std::optional<AttributeMap>& key);
void write_collections(JsonWriter& json, const std::vector<WrittenCollection>& collections);

}  // namespace rocklock::table_json
