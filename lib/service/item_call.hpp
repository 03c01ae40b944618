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

    // Sets a limit for the response of a call that writes a single item. If the response will
    // contain attributes that are not small, `room` is called with the size of their JSON before
    // each attempt to commit the write. If `room` returns an error, the write fails with this error
    // and changes nothing.
    void limit_answer(AnswerRoom room) { room_ = std::move(room); }
    const AnswerRoom& room() const { return room_; }

    // Returns the request. After unpack(), its body is decompressed.
    const ServiceRequest& request() const { return request_; }
    // Returns the operation, or null if the request names no operation that is implemented.
    const TableOperation* operation() const { return operation_; }
    // Returns the name of the operation. Empty if the request is not for this API or not for its
    // supported version.
    std::string_view operation_name() const;

    // Returns true if the type of the body is JSON.
    bool has_json_type() const { return has_json_type_; }

    // Returns true if the request is a TableFrame of the C++ client rather than JSON.
    bool is_frame() const { return is_frame_; }

    // Returns true if it may be possible to answer the call without waiting. This requires that the
    // body is short and not compressed, that no headers present locks, and that the other headers
    // are valid.
    bool is_simple();

    // Returns the fault of the signature, if it has one.
    const std::optional<SignatureProblem>& signature_problem();

    // Decompresses the body if it is compressed. If the decompression fails, returns the reason.
    std::optional<PackingFault> unpack();

    // Parses the body. Returns null, or the error `malformed` if the body is not JSON.
    const Error* body_error();

    // Returns the typed request. Requires that operation() is not null and that body_error()
    // returns null. The errors are those of read_table_call().
    Result<TableCall>& call();

private:
    ServiceRequest request_;
    const TableOperation* operation_;
    bool has_json_type_;
    bool is_frame_;
    bool signature_checked_ = false;
    std::optional<SignatureProblem> signature_problem_;
    // Not set if `call_` was read without it.
    std::optional<Result<TableBody>> body_;
    std::optional<Result<TableCall>> call_;
    AnswerRoom room_;
};

}  // namespace rocklock
