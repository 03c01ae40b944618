// DynamoDB's operations over HTTP. Converts the name of an operation and the JSON of its request to
// a typed request, calls the tables, and converts the result to JSON.
//
// See "DynamoDB low-level API" in DynamoDB's documentation.
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
#include <rocklock/identity.hpp>
#include <rocklock/items/table.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

class JsonWriter;
class MemberReader;

inline constexpr std::string_view table_target_prefix = "DynamoDB_20120810.";

// Returns whether DynamoDB has an operation with this name, even if Rocklock does not implement it.
bool is_service_operation(std::string_view name);

// The parsed body of a request.
class TableBody {
public:
    // Errors: malformed if `text` is not a JSON object.
    static Result<TableBody> parse(std::string_view text);

    const boost::json::object& members() const { return json_.get_object(); }

private:
    TableBody(std::shared_ptr<void> memory, boost::json::value json)
        : memory_(std::move(memory)), json_(std::move(json)) {}

    // Owns the memory of `json_`.
    std::shared_ptr<void> memory_;
    boost::json::value json_;
};

// The parts of a request that come from its headers and its sender, not from its body.
struct TableGuards {
    // The proof for all items that the request reads or writes.
    std::optional<LockProof> proof;
    // As WriteItem::expected_version, for requests that write one item.
    std::optional<std::uint64_t> expected_version;
    // As WriteItem::after and TransactWrite::after.
    AfterSave after = AfterSave::keep;
    // The draft of WriteItem::from_draft, or the drafts of TransactWrite::from_drafts.
    std::vector<DraftId> drafts;
    // The uid of the sender. A table that it creates counts towards its limits.
    std::optional<UserId> user{};
};

struct TableAnswer {
    std::string body;
    // If one item was written or read, the version of the item, or 0 if the item does not exist
    // now.
    std::optional<std::uint64_t> version;
    // Set if `body` is an error that only this operation can return. The value is the code under
    // which the error is counted, and the HTTP status of the response is 400. All other errors are
    // returned as a failed Result.
    std::optional<ErrorCode> refused{};
};

// A typed request of one operation.
class TableCall {
public:
    using Ask = std::function<Result<TableAnswer>(TableService& tables, const TableGuards& guards)>;

    template <std::invocable<TableService&, const TableGuards&> F>
    TableCall(F ask) : request_(Ask(std::move(ask))) {}
    // A request for one item, for which answer_from_cache() or begin_write() can be called.
    TableCall(GetItem get) : request_(std::make_unique<GetItem>(std::move(get))) {}
    TableCall(WriteItem write) : request_(std::make_unique<WriteItem>(std::move(write))) {}

    // Calls the tables and returns the response as JSON. Can block. Must be called at most once.
    Result<TableAnswer> operator()(TableService& tables, const TableGuards& guards);

    // For a GetItem, returns the response if the item is cached (TableService::get_cached_item()).
    // Returns nullopt if the item is not cached, and for other operations.
    std::optional<Result<TableAnswer>> answer_from_cache(TableService& tables) const;

    // For PutItem, UpdateItem and DeleteItem, calls TableService::begin_write() and returns the
    // pending write, which borrows this call. Returns null if the caller must use operator()
    // instead, and for other operations.
    std::unique_ptr<PendingWrite> begin_write(TableService& tables) const;

private:
    // The large requests are held by pointers, because a call is moved several times.
    std::variant<Ask, std::unique_ptr<GetItem>, std::unique_ptr<WriteItem>> request_;
};

// An operation that this API implements.
struct TableOperation {
    std::string_view name;
    // Reads the members of a request and reports faults to the reader.
    TableCall (*read)(const MemberReader& json);
};

// Returns all operations, ordered by name.
std::span<const TableOperation> table_operations();
// Returns null if there is no operation of that name.
const TableOperation* find_table_operation(std::string_view name);

// Returns true for PutItem, UpdateItem and DeleteItem.
bool is_write_of_one_item(std::string_view operation);

// Errors: malformed         a member has the wrong JSON type
//         invalid_argument  a member is not permitted, regardless of the table
Result<TableCall> read_table_call(const TableOperation& operation, const TableBody& body);

// Reads the usual requests for one item from the text of their bodies, with fewer instructions than
// TableBody::parse() and read_table_call() take. Returns nullopt for all other requests, and if the
// request has a fault; these functions must then read it.
std::optional<TableCall> read_usual_call(const TableOperation& operation, std::string_view body);

// Returns the response to a write that TableCall::begin_write() began.
Result<TableAnswer> write_answer_of(Result<WriteAnswer> answer);

// Returns the response to DescribeEndpoints. The endpoint in the response is the host to which the
// client has sent the request.
std::string describe_endpoints(std::string_view host);

// Returns the body of the response to a failed request. table_error_status() returns the HTTP
// status of the response.
std::string write_table_error(const Error& error);
// Returns the body of the response to a SaveEdit that was cancelled, as an error of the lock API.
// The body contains the current version of each item and the principal that wrote this version.
std::string write_save_error(const Error& error);
// Writes the member "LastWrite": {"By", "At"}.
void write_last_write(JsonWriter& json, const LastWrite& last);
int table_error_status(const Error& error);
// Returns the code under which a refusal is counted. If a transaction was cancelled because one of
// its locks was lost, the code is stale_token. Otherwise, it is the code of the error.
ErrorCode counted_code(const Error& error);
// Returns the body of an error response. `name` is an exception of DynamoDB to which no ErrorCode
// corresponds. Adds the namespace to `name`.
std::string write_modelled_error(std::string_view name, std::string_view message);
// Returns the body of an error that exists only over HTTP. Adds the namespace to `name`. Omits the
// message if it is empty.
std::string write_service_error(std::string_view name, std::string_view message);

}  // namespace rocklock
