// The service's operations as it tells them: an operation by name and its request as JSON, to a
// typed request that tables can be asked, and the answer as JSON again.
//
// docs: semantics of DynamoDB, "Wire protocol".
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <boost/json/value.hpp>

#include <rocklock/error.hpp>
#include <rocklock/items/table.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

class JsonWriter;
class MemberReader;

inline constexpr std::string_view table_target_prefix = "DynamoDB_20120810.";

// Whether the service has an operation of that name. It may not be offered here.
bool is_service_operation(std::string_view name);

// The body of a request, parsed.
class TableBody {
public:
    // Errors: malformed  no JSON, or no object
    static Result<TableBody> parse(std::string_view text);

    const boost::json::object& members() const { return json_.get_object(); }

private:
    TableBody(std::shared_ptr<void> memory, boost::json::value json)
        : memory_(std::move(memory)), json_(std::move(json)) {}

    // What the JSON lies in.
    std::shared_ptr<void> memory_;
    boost::json::value json_;
};

// What a request shows besides its body.
struct TableGuards {
    // Of all that it reads or writes.
    std::optional<LockProof> proof;
    // As WriteItem has it, of writes of one item.
    std::optional<std::uint64_t> expected_version;
    // As WriteItem and TransactWrite have it.
    AfterSave after = AfterSave::keep;
    // As WriteItem::from_draft, of which there is one, and TransactWrite::from_drafts.
    std::vector<DraftId> drafts;
    // The uid of the sender, towards whose limits a new table counts.
    std::optional<std::uint32_t> user{};
};

struct TableAnswer {
    std::string body;
    // Of the item, where one was written or got: 0 where there is none now.
    std::optional<std::uint64_t> version;
    // The body is that of an error with a name that only this operation has.
    std::optional<ErrorCode> refused{};
};

// A typed request of some operation.
class TableCall {
public:
    using Ask = std::function<Result<TableAnswer>(TableService& tables, const TableGuards& guards)>;

    template <std::invocable<TableService&, const TableGuards&> F>
    TableCall(F ask) : request_(Ask(std::move(ask))) {}
    // The operations on one item can also be answered without waiting.
    TableCall(GetItem get) : request_(std::move(get)) {}
    TableCall(WriteItem write) : request_(std::move(write)) {}

    // Calls the tables and returns their answer as JSON. May wait. At most once.
    Result<TableAnswer> operator()(TableService& tables, const TableGuards& guards);

    // For a GetItem: the answer from memory (TableService::get_cached_item()). None for other
    // operations, and if the item has to be read from storage.
    std::optional<Result<TableAnswer>> answer_from_cache(TableService& tables) const;

    // For PutItem, UpdateItem and DeleteItem: the write after TableService::begin_write(). Null for
    // other operations, and if the write has to take the way of operator().
    std::unique_ptr<PendingWrite> begin_write(TableService& tables) const;

private:
    std::variant<Ask, GetItem, WriteItem> request_;
};

// An operation that this API implements.
struct TableOperation {
    std::string_view name;
    // Reads the members of a request. Faults go to the reader.
    TableCall (*read)(const MemberReader& json);
};

// All operations, in the order of their names.
std::span<const TableOperation> table_operations();
// Returns null if there is no operation of that name.
const TableOperation* find_table_operation(std::string_view name);

// PutItem, UpdateItem, DeleteItem.
bool is_write_of_one_item(std::string_view operation);

// Errors: malformed         a member is of another kind of JSON
//         invalid_argument  it is not as it must be, as far as that needs no table
Result<TableCall> read_table_call(const TableOperation& operation, const TableBody& body);

// The answer to a write that TableCall::begin_write() began.
Result<TableAnswer> write_answer_of(Result<WriteAnswer> answer);

// The answer of DescribeEndpoints, which asks no tables: the service is where it was reached.
std::string describe_endpoints(std::string_view host);

// An error as the body of an answer, and its status.
std::string write_table_error(const Error& error);
// That of a SaveEdit that was cancelled, as the lock API tells errors: with what the items are now,
// and who wrote them.
std::string write_save_error(const Error& error);
// As a member: {"By", "At"}.
void write_last_write(JsonWriter& json, const LastWrite& last);
int table_error_status(const Error& error);
// An error of one of the service's own exceptions that has no code: `name` with its namespace.
std::string write_modelled_error(std::string_view name, std::string_view message);
// One that has a name only in HTTP: `name` with its namespace. Without a text where that is empty.
std::string write_service_error(std::string_view name, std::string_view message);

}  // namespace rocklock
