// A request of the DynamoDB API that is being processed. Each step is executed at most once:
// decompress the body, parse it, find the operation, check the signature, and read the typed
// request.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <rocklock/items/table.hpp>
#include <rocklock/result.hpp>

#include "service/service_answer.hpp"
#include "service/service_request.hpp"
#include "service/signature.hpp"
#include "wire/table_call.hpp"

namespace rocklock {

// Reasons why a compressed body cannot be decompressed.
enum class PackingFault : std::uint8_t { unknown_coding, damaged, too_long };

// Threads: one at a time.
class ItemCall {
public:
    explicit ItemCall(ServiceRequest&& request);

    // Before the commit of a write of one item that returns attributes, `room` is called with their
    // size, unless they are small.
    void limit_answer(AnswerRoom room) { room_ = std::move(room); }
    const AnswerRoom& room() const { return room_; }

    // After unpack(), its body is decompressed.
    const ServiceRequest& request() const { return request_; }
    // Null if the request names no operation that is implemented.
    const TableOperation* operation() const { return operation_; }
    // Empty if the target is not of this API and version.
    std::string_view operation_name() const;

    // Returns true if the type of the body is JSON.
    bool has_json_type() const { return has_json_type_; }

    // Returns true if it may be possible to answer the call without waiting: the body is short and
    // not compressed, no headers present locks, and the other headers are valid.
    bool is_simple();

    // Returns the fault of the signature, if it has one.
    const std::optional<SignatureProblem>& signature_problem();

    // Decompresses the body if it is compressed. Returns the fault if that fails.
    std::optional<PackingFault> unpack();

    // Returns the body as JSON. Errors: malformed if it is not JSON.
    const Result<TableBody>& body();

    // Returns the typed request. Requires an operation and a body. Errors: as read_table_call().
    Result<TableCall>& call();

private:
    ServiceRequest request_;
    const TableOperation* operation_;
    bool has_json_type_;
    bool signature_checked_ = false;
    std::optional<SignatureProblem> signature_problem_;
    std::optional<Result<TableBody>> body_;
    std::optional<Result<TableCall>> call_;
    AnswerRoom room_;
};

}  // namespace rocklock
