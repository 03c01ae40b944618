#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/time_format.hpp"
#include "table/write/cancellation.hpp"
#include "wire/call_json.hpp"
#include "wire/error_names.hpp"
#include "wire/json/attribute_json.hpp"
#include "wire/json/json_writer.hpp"
#include "wire/table_call.hpp"

namespace rocklock {
namespace {

constexpr std::string_view validation_space = "com.amazon.coral.validate#";
constexpr std::string_view service_space = "com.amazon.coral.service#";
constexpr std::string_view modelled_space = "com.amazonaws.dynamodb.v20120810#";
// The namespace of refusals that DynamoDB does not have.
constexpr std::string_view own_space = "rocklock#";
constexpr std::string_view internal_error = "InternalServerError";

// Returns whether the error is a refusal because of locks.
bool is_own(ErrorCode code) {
    return code == ErrorCode::lock_required || code == ErrorCode::stale_token ||
           code == ErrorCode::locked || code == ErrorCode::not_owner;
}

bool is_internal(ErrorCode code) {
    if (is_own(code)) return false;
    switch (code) {
        case ErrorCode::invalid_argument:
        case ErrorCode::malformed:
        case ErrorCode::access_denied:
        case ErrorCode::condition_failed:
        case ErrorCode::resource_not_found:
        case ErrorCode::resource_in_use:
        case ErrorCode::limit_exceeded:
        case ErrorCode::transaction_cancelled:
        case ErrorCode::transaction_in_progress:
        case ErrorCode::transaction_conflict:
        case ErrorCode::throttled:
        case ErrorCode::parameter_mismatch:
            return false;
        default:
            return true;
    }
}

std::string full_name(ErrorCode code) {
    if (is_internal(code)) return std::string(modelled_space).append(internal_error);
    auto space = modelled_space;
    if (code == ErrorCode::invalid_argument) space = validation_space;
    if (is_own(code)) space = own_space;
    if (code == ErrorCode::malformed || code == ErrorCode::access_denied) space = service_space;
    return std::string(space).append(error_name(code));
}

// In DynamoDB, only these errors write the member with a capital letter.
std::string_view message_member(ErrorCode code) {
    const bool capital = code == ErrorCode::transaction_cancelled ||
                         code == ErrorCode::transaction_in_progress ||
                         code == ErrorCode::parameter_mismatch || code == ErrorCode::malformed;
    return capital ? "Message" : "message";
}

// DynamoDB does not report the last write of an item.
enum class ReasonFormat : std::uint8_t { of_the_service, with_the_last_write };

void write_reason(JsonWriter& json, const CancellationReason& reason, ReasonFormat format) {
    json.begin_object();
    json.key("Code");
    json.string(table::reason_name(reason));
    if (reason.code) {
        json.key("Message");
        json.string(reason.message);
    }
    if (reason.item) {
        json.key("Item");
        write_item(json, *reason.item);
    }
    if (format == ReasonFormat::with_the_last_write && reason.code == ErrorCode::condition_failed) {
        json.key("Version");
        json.number(reason.item_version);
        if (reason.last_write) write_last_write(json, *reason.last_write);
    }
    if (reason.code && is_own(*reason.code)) {
        Error facts(*reason.code, {});
        facts.blockers = reason.blockers;
        facts.ended = reason.ended;
        write_facts(json, facts);
    }
    json.end_object();
}

}  // namespace

void write_last_write(JsonWriter& json, const LastWrite& last) {
    json.key("LastWrite");
    json.begin_object();
    json.key("By");
    json.string(last.by);
    json.key("At");
    json.string(format_time(last.at));
    json.end_object();
}

std::string write_save_error(const Error& error) {
    JsonWriter json;
    json.begin_object();
    json.key("__type");
    json.string(std::string(own_space).append(error_name(error.code)));
    json.key("message");
    json.string(error.message);
    json.key("CancellationReasons");
    json.begin_array();
    for (const auto& reason : error.reasons)
        write_reason(json, reason, ReasonFormat::with_the_last_write);
    json.end_array();
    json.end_object();
    return json.take();
}

std::string write_table_error(const Error& error) {
    JsonWriter json;
    json.begin_object();
    json.key("__type");
    json.string(full_name(error.code));
    if (!error.message.empty()) {
        json.key(message_member(error.code));
        json.string(error.message);
    }
    if (error.item) {
        json.key("Item");
        write_item(json, *error.item);
    }
    if (is_own(error.code)) {
        write_facts(json, error);
    } else if (error.drafts > 0) {
        json.key("Drafts");
        json.number(error.drafts);
    }
    if (!error.reasons.empty()) {
        json.key("CancellationReasons");
        json.begin_array();
        for (const auto& reason : error.reasons)
            write_reason(json, reason, ReasonFormat::of_the_service);
        json.end_array();
    }
    json.end_object();
    return json.take();
}

int table_error_status(const Error& error) { return is_internal(error.code) ? 500 : 400; }

ErrorCode counted_code(const Error& error) {
    const bool stale =
        std::any_of(error.reasons.begin(), error.reasons.end(),
                    [](const auto& reason) { return reason.code == ErrorCode::stale_token; });
    return stale ? ErrorCode::stale_token : error.code;
}

namespace {

std::string write_named_error(std::string_view space, std::string_view name,
                              std::string_view message) {
    JsonWriter json;
    json.begin_object();
    json.key("__type");
    json.string(std::string(space).append(name));
    if (!message.empty()) {
        json.key("message");
        json.string(message);
    }
    json.end_object();
    return json.take();
}

}  // namespace

std::string write_modelled_error(std::string_view name, std::string_view message) {
    return write_named_error(modelled_space, name, message);
}

std::string write_service_error(std::string_view name, std::string_view message) {
    return write_named_error(service_space, name, message);
}

}  // namespace rocklock
