#include "service/item_call.hpp"

#include <cstddef>
#include <utility>

#include "base/assert.hpp"
#include "base/equal_ignoring_case.hpp"
#include "service/gzip.hpp"
#include "service/table_frames.hpp"
#include "wire/table_frame.hpp"

namespace rocklock {
namespace {

// Parsing a longer body would block the connection's thread for too long.
constexpr std::size_t max_inline_body = 8U << 10;

const TableOperation* operation_of(const ServiceRequest& request) {
    const std::string_view target(request.operation);
    for (const auto prefix : {table_target_prefix, table_frame_target}) {
        if (target.starts_with(prefix)) return find_table_operation(target.substr(prefix.size()));
    }
    return nullptr;
}

}  // namespace

ItemCall::ItemCall(ServiceRequest&& request)
    : request_(std::move(request)),
      operation_(operation_of(request_)),
      has_json_type_(is_json(request_.content_type)),
      is_frame_(is_table_frame_request(request_)) {}

std::string_view ItemCall::operation_name() const {
    return operation_ != nullptr ? operation_->name : std::string_view();
}

bool ItemCall::is_simple() {
    return !is_frame_ && request_.body.size() <= max_inline_body &&
           request_.content_encoding.empty() && request_.lock_headers.empty() && has_json_type_ &&
           !signature_problem();
}

const std::optional<SignatureProblem>& ItemCall::signature_problem() {
    if (!std::exchange(signature_checked_, true)) signature_problem_ = check_signature(request_);
    return signature_problem_;
}

std::optional<PackingFault> ItemCall::unpack() {
    const auto& coding = request_.content_encoding;
    if (coding.empty() || equal_ignoring_case(coding, "identity")) return std::nullopt;
    if (!equal_ignoring_case(coding, "gzip")) return PackingFault::unknown_coding;
    // A packed body is not simple, so it has not been parsed yet.
    ROCKLOCK_ASSERT(!body_ && !call_);
    auto unpacked = unpack_gzip(request_.body, max_request_body);
    if (!unpacked) return PackingFault::damaged;
    if (unpacked->too_long) return PackingFault::too_long;
    request_.body = std::move(unpacked->bytes);
    request_.content_encoding.clear();
    return std::nullopt;
}

const Error* ItemCall::body_error() {
    if (!call_ && !body_ && operation_ != nullptr) {
        if (auto usual = read_usual_call(*operation_, request_.body)) call_ = *std::move(usual);
    }
    if (call_) return nullptr;
    if (!body_) body_ = TableBody::parse(request_.body);
    return *body_ ? nullptr : &body_->error();
}

Result<TableCall>& ItemCall::call() {
    ROCKLOCK_ASSERT(operation_ != nullptr && body_error() == nullptr);
    if (!call_) call_ = read_table_call(*operation_, **body_);
    return *call_;
}

}  // namespace rocklock
