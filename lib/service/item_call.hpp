// A request of the DynamoDB API between its connection and its answer. It is moved along, and each
// step is done at most once: the operation is looked up, the signature is checked, the body is
// unpacked and parsed, and the typed request is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <rocklock/items/table.hpp>
#include <rocklock/result.hpp>

#include "service/service_request.hpp"
#include "service/signature.hpp"
#include "wire/table_call.hpp"

namespace rocklock {

// Reasons why a packed body cannot be unpacked.
enum class PackingFault : std::uint8_t { unknown_coding, damaged, too_long };

// Threads: one at a time.
class ItemCall {
public:
    explicit ItemCall(ServiceRequest request);

    // Without the body, once that has been read.
    const ServiceRequest& request() const { return request_; }
    // Null if the request names no operation that is implemented.
    const TableOperation* operation() const { return operation_; }
    // Empty if the target is not of this API and version.
    std::string_view operation_name() const;

    // Returns true if the call may be answered without waiting: a short body that is not packed,
    // no headers of locks, and a header that needs no further checks.
    bool is_simple();

    // The fault of the signature, if it has one.
    const std::optional<SignatureProblem>& signature_problem();

    // Unpacks the body if it is packed. Returns the fault if that is impossible.
    std::optional<PackingFault> unpack();

    // The body as JSON. Errors: malformed.
    const Result<TableBody>& body();

    // The typed request. Requires an operation and a body. Errors: as read_table_call().
    Result<TableCall>& call();

private:
    ServiceRequest request_;
    const TableOperation* operation_;
    bool signature_checked_ = false;
    std::optional<SignatureProblem> signature_problem_;
    std::optional<Result<TableBody>> body_;
    std::optional<Result<TableCall>> call_;
};

}  // namespace rocklock
