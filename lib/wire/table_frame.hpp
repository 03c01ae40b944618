// The operations on tables in the form in which the C++ client sends them to a daemon. They are the
// typed requests and answers of TableService. They are sent as HTTP bodies, but their members have
// the same encoding as the members of frames of the lock API (frame_writer.hpp).
//
// DynamoDB's JSON cannot be used, because it has no members for some of these values:
//
// - the proof and the expected version of each write of a batch;
// - the time and the author of the last write of an item;
// - in errors, the details of the reasons (version, last write, blockers) and the changed items.
//
// docs/protocol.md, "Tables of the C++ client", defines the encoding. The encoded request is the
// body of an HTTP request:
//
//     X-Amz-Target: RocklockTables_20261125.<Operation>
//     body   = version (u8), members of the request
//     answer = version (u8), members of the answer (status 200) or of the error (another status)
//
// <Operation> is the name of an operation of DynamoDB, or "ConditionCheck".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <rocklock/error.hpp>
#include <rocklock/items/table.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

inline constexpr std::string_view table_frame_target = "RocklockTables_20261125.";
inline constexpr std::string_view table_frame_type = "application/x-rocklock-tables";

struct DescribeTable {
    std::string table;
};
struct DeleteTable {
    std::string table;
};
struct DescribeTimeToLive {
    std::string table;
};
// A PutItem, UpdateItem, DeleteItem or ConditionCheck. This wrapper selects the encoding by
// members: FrameWriter already encodes a plain WriteItem as JSON text, for the writes in drafts.
struct TypedWrite {
    WriteItem write;
};
// The answer to a request of an operation that has no result.
struct NoAnswer {};

using TableRequest =
    std::variant<CreateTable, DescribeTable, UpdateTable, DeleteTable, ListTables, UpdateTimeToLive,
                 DescribeTimeToLive, TagResource, UntagResource, ListTagsOfResource, TypedWrite,
                 GetItem, Query, Scan, BatchWrite, BatchGet, TransactWrite, TransactGet>;

// These functions are declared but not defined. The return type of a function is the type of the
// answer to its argument.
namespace table_reply {
TableDescription to(const CreateTable&);
TableDescription to(const DescribeTable&);
TableDescription to(const UpdateTable&);
TableDescription to(const DeleteTable&);
TableNames to(const ListTables&);
UpdateTimeToLive to(const UpdateTimeToLive&);
TimeToLive to(const DescribeTimeToLive&);
NoAnswer to(const TagResource&);
NoAnswer to(const UntagResource&);
TagPage to(const ListTagsOfResource&);
WriteAnswer to(const TypedWrite&);
GetAnswer to(const GetItem&);
Page to(const Query&);
Page to(const Scan&);
BatchWriteAnswer to(const BatchWrite&);
BatchGetAnswer to(const BatchGet&);
TransactWriteAnswer to(const TransactWrite&);
TransactGetAnswer to(const TransactGet&);
}  // namespace table_reply

template <typename Request>
using TableReplyTo = decltype(table_reply::to(std::declval<const Request&>()));

using TableReply = std::variant<NoAnswer, TableDescription, TableNames, UpdateTimeToLive,
                                TimeToLive, TagPage, WriteAnswer, GetAnswer, Page, BatchWriteAnswer,
                                BatchGetAnswer, TransactWriteAnswer, TransactGetAnswer>;

// The secret that proves the ownership of a session.
struct SessionSecret {
    SessionId session;
    Secret secret;
};

struct TableFrame {
    TableRequest request;
    // Contains one element for each session that a proof in the request names.
    std::vector<SessionSecret> sessions{};
};

// A grant that was released together with a write, because the request had AfterSave::release.
struct ReleasedGrant {
    SessionId session;
    GrantId grant{};
};

struct TableFrameReply {
    TableReply reply;
    std::vector<ReleasedGrant> released{};
};

// Returns pointers to the proofs in a request.
std::vector<LockProof*> proofs_in(TableRequest& request);

// Returns the principals that the writes of a request name (WriteItem::by).
std::vector<std::string*> principals_in(TableRequest& request);

// Returns the name of the operation, such as "GetItem".
std::string_view operation_name(const TableRequest& request);

// Returns an empty request of an operation, or nullopt if no operation has this name.
std::optional<TableRequest> table_request_named(std::string_view operation);

std::string write_table_frame(const TableFrame& frame);
// Reads a request from the body. `empty` is a result of table_request_named(), and determines which
// members are read. LockProof::user and LockProof::owner are not set, since frames do not contain
// them.
//
// Errors: invalid_argument  the body has another version, or a member is invalid, missing or
//                           unknown
Result<TableFrame> read_table_frame(TableRequest empty, std::string_view body);

std::string write_table_reply(const TableFrameReply& reply);
// Reads the answer to `request`. Uses only the type of `request`. Ignores unknown members. Errors:
// io_error if the body is not an answer to such a request.
Result<TableFrameReply> read_table_reply(const TableRequest& request, std::string_view body);

std::string write_table_refusal(const Error& error);
// Returns the error in an answer. If the body cannot be parsed, returns an io_error that states
// this. If the code of the error is unknown, returns an io_error that contains this code and the
// message.
Error read_table_refusal(std::string_view body);

// Returns true if the body begins with the version of this encoding. An answer of the daemon that
// does not begin with this version is an error as JSON.
bool is_table_frame(std::string_view body);

}  // namespace rocklock
