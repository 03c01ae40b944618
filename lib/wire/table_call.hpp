// The service's operations as it tells them: an operation by name and its request as JSON, to a
// typed request that tables can be asked, and the answer as JSON again.
//
// docs: semantics of DynamoDB, "Wire protocol".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include <rocklock/error.hpp>
#include <rocklock/items/table.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

class JsonWriter;

inline constexpr std::string_view table_target_prefix = "DynamoDB_20120810.";

// The names of all operations, in order.
std::vector<std::string_view> table_operations();
bool is_table_operation(std::string_view name);
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

// A request that was read: asks the tables, and has their answer as JSON.
using TableCall =
    std::function<Result<TableAnswer>(TableService& tables, const TableGuards& guards)>;

// PutItem, UpdateItem, DeleteItem.
bool is_write_of_one_item(std::string_view operation);

// Errors: malformed         a member is of another kind of JSON
//         invalid_argument  it is not as it must be, as far as that needs no table
Result<TableCall> read_table_call(std::string_view operation, const TableBody& body);

// A GetItem of what is at hand: TableService::get_cached_item(). Nothing where it is not. Errors:
// as read_table_call(), and the tables'.
std::optional<Result<TableAnswer>> get_cached_item(TableService& tables, const TableBody& body);

// A write of one item, begun: TableService::begin_write(). Nothing where it is not, or not as it
// must be.
std::unique_ptr<PendingWrite> begin_write(TableService& tables, std::string_view operation,
                                          const TableBody& body);
// What came of it.
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
