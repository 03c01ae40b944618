#include "daemon/api/item_endpoint.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include <boost/beast/core/string.hpp>

#include "base/random.hpp"
#include "daemon/api/http_gate.hpp"
#include "daemon/api/lock_headers.hpp"
#include "daemon/api/signature.hpp"
#include "daemon/http/gzip.hpp"
#include "wire/table_call.hpp"

namespace rocklock {
namespace {

using std::chrono::steady_clock;

constexpr std::string_view service_prefix = "DynamoDB";
constexpr std::string_view unknown_operation = "UnknownOperationException";
constexpr std::string_view stream_target_prefix = "DynamoDBStreams_20120810.";
constexpr std::size_t max_shown_target = 64;
constexpr int internal_status = 500;
// A longer body takes a while to read.
constexpr std::size_t max_inline_body = 8U << 10;

std::mt19937_64 seeded_generator() {
    const auto bytes = random_bytes<64>();
    std::seed_seq seed(bytes.begin(), bytes.end());
    return std::mt19937_64(seed);
}

// 52 characters, as the service's are. No secret: no two are to be the same, and that is all.
void append_request_id(std::string& out) {
    static constexpr std::string_view digits = "0123456789ABCDEFGHIJKLMNOPQRSTUV";
    static constexpr std::size_t bits_each = 5;
    thread_local std::mt19937_64 generator = seeded_generator();
    std::array<char, 52> id{};
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < id.size(); ++i, bits >>= bits_each) {
        if (i % (64 / bits_each) == 0) bits = generator();
        id[i] = digits[bits % digits.size()];
    }
    out.append(id.data(), id.size());
}

// What a client sent as a target, for messages: short, and UTF-8 whatever it was.
std::string shown_target(std::string_view target) {
    std::string shown = "'" + std::string(target.substr(0, max_shown_target)) +
                        (target.size() > max_shown_target ? "...'" : "'");
    for (char& byte : shown) {
        if (static_cast<unsigned char>(byte) >= 0x80) byte = '?';
    }
    return shown;
}

HttpAnswer with_headers(int status, std::string body) {
    std::string headers;
    // Both of them, and a version.
    headers.reserve(160);
    headers += "x-amzn-RequestId: ";
    append_request_id(headers);
    headers += "\r\nx-amz-crc32: ";
    headers += std::to_string(crc32_of(body));
    headers += "\r\n";
    return {status, json_type, std::move(headers), std::move(body), std::nullopt};
}

HttpAnswer with_headers(TableAnswer answer) {
    auto response = with_headers(answer.refused ? 400 : 200, std::move(answer.body));
    response.refused = answer.refused;
    if (answer.version) {
        response.more_headers += "x-rocklock-version: " + std::to_string(*answer.version) + "\r\n";
    }
    return response;
}

HttpAnswer service_error(std::string_view name, std::string_view message) {
    auto response = with_headers(400, write_service_error(name, message));
    response.refused = ErrorCode::malformed;
    return response;
}

// The service says no more than the name of the exception.
HttpAnswer unknown_operation_answer(std::string_view target) {
    const std::string name(target.substr(target.find('.') + 1));
    const bool versioned =
        target.starts_with(table_target_prefix) || target.starts_with(stream_target_prefix);
    if (versioned && is_service_operation(name)) {
        return service_error(unknown_operation,
                             "Rocklock does not implement the operation " + name + " of DynamoDB");
    }
    return service_error(unknown_operation, "The operation " + shown_target(target) +
                                                " is unknown: the header X-Amz-Target must be " +
                                                std::string(table_target_prefix) +
                                                "NAME with the name of an operation");
}

HttpAnswer error_answer(const Error& error, const std::function<void(const Error&)>& failed) {
    const int status = table_error_status(error);
    if (status >= internal_status && failed) failed(error);
    auto response = with_headers(status, write_table_error(error));
    response.refused = error.code;
    return response;
}

// Without the name of the service and its version; empty where those are others.
std::string_view operation_of(const HttpRequest& request) {
    const std::string_view target(request.operation);
    return target.starts_with(table_target_prefix) ? target.substr(table_target_prefix.size())
                                                   : std::string_view();
}

// Unpacks the body where it is packed; an answer where that cannot be.
std::optional<HttpAnswer> unpack(HttpRequest& request) {
    using boost::beast::iequals;
    const auto& coding = request.content_encoding;
    if (coding.empty() || iequals(coding, "identity")) return std::nullopt;
    if (!iequals(coding, "gzip")) {
        return service_error("SerializationException",
                             "the only Content-Encoding that is understood here is gzip");
    }
    auto unpacked = unpack_gzip(request.body, http_body_bytes);
    if (!unpacked) {
        return service_error("SerializationException", "the body is no gzip, or not whole");
    }
    if (unpacked->too_long) {
        auto response =
            refusal(413, "RequestTooLargeException", "the body is longer than 16 MB unpacked");
        response.refused = ErrorCode::malformed;
        return response;
    }
    request.body = std::move(unpacked->bytes);
    return std::nullopt;
}

// What is wrong in another way than its body can be is told like everything else.
bool is_simple(const HttpRequest& request) {
    return request.body.size() <= max_inline_body && request.content_encoding.empty() &&
           request.lock_headers.empty() && is_json(request.content_type) &&
           !check_signature(request);
}

std::unique_ptr<PendingWrite> begin(const HttpRequest& request, TableService& tables) {
    const auto operation = operation_of(request);
    if (!is_write_of_one_item(operation) || !is_simple(request)) return nullptr;
    const auto body = TableBody::parse(request.body);
    if (!body) return nullptr;
    return begin_write(tables, operation, *body);
}

// The names of all operations, and one for what names none.
std::vector<std::string_view> counted_operations() {
    auto names = table_operations();
    names.emplace_back("other");
    return names;
}

}  // namespace

bool is_table_request(const HttpRequest& request) {
    const std::string_view target(request.operation);
    if (target.starts_with(service_prefix)) return true;
    // An SDK's with a target that is nobody's, or none, is answered as the service would.
    return is_sdk_json(request.content_type) && !target.starts_with("Rocklock_");
}

HttpAnswer answer_table_request(HttpRequest request, TableService& tables, LockService* locks,
                                const std::function<void(const Error&)>& failed) {
    if (!is_json(request.content_type)) {
        return {404, "text/plain", {}, "<UnknownOperationException/>\n", ErrorCode::malformed};
    }
    if (auto problem = unpack(request)) return *std::move(problem);
    const auto body = TableBody::parse(request.body);
    if (!body) return error_answer(body.error(), {});
    const auto operation = operation_of(request);
    if (!is_table_operation(operation)) return unknown_operation_answer(request.operation);
    if (const auto problem = check_signature(request)) {
        return service_error(problem->name, problem->message);
    }
    if (operation == "DescribeEndpoints")
        return with_headers(200, describe_endpoints(request.host));
    const auto guards = read_lock_headers(request, operation, locks);
    if (!guards) return error_answer(guards.error(), failed);
    const auto call = read_table_call(operation, *body);
    if (!call) return error_answer(call.error(), {});
    auto answer = (*call)(tables, *guards);
    if (!answer) return error_answer(answer.error(), failed);
    return with_headers(*std::move(answer));
}

std::optional<HttpAnswer> answer_from_cache(const HttpRequest& request, TableService& tables) {
    if (operation_of(request) != "GetItem" || !is_simple(request)) return std::nullopt;
    const auto body = TableBody::parse(request.body);
    if (!body) return std::nullopt;
    auto answer = get_cached_item(tables, *body);
    if (!answer || !*answer) return std::nullopt;
    return with_headers(**std::move(answer));
}

ItemEndpoint::ItemEndpoint(TableService& tables, LockService& locks,
                           std::function<void(const Error&)> failed,
                           std::function<void()> flush_soon)
    : tables_(tables),
      locks_(locks),
      failed_(std::move(failed)),
      flush_soon_(std::move(flush_soon)),
      operations_(counted_operations()),
      counters_("table_", "operation", operations_),
      threads_(max_concurrent) {}

std::size_t ItemEndpoint::index_of(std::string_view operation) const {
    const auto last = operations_.end() - 1;
    return static_cast<std::size_t>(std::find(operations_.begin(), last, operation) -
                                    operations_.begin());
}

void ItemEndpoint::count(std::size_t operation, const HttpAnswer& answer,
                         steady_clock::time_point start) {
    counters_.add(operation, answer.refused, steady_clock::now() - start);
}

std::optional<HttpAnswer> ItemEndpoint::ask_cache(const HttpRequest& request) {
    const auto start = steady_clock::now();
    auto answer = answer_from_cache(request, tables_);
    if (answer) count(index_of(operation_of(request)), *answer, start);
    return answer;
}

void ItemEndpoint::ask(HttpRequest request, Done done) {
    done = [this, operation = index_of(operation_of(request)), start = steady_clock::now(),
            done = std::move(done)](HttpAnswer answer) {
        count(operation, answer, start);
        done(std::move(answer));
    };
    if (auto pending = begin(request, tables_)) {
        return queue({std::move(pending), std::make_unique<HttpRequest>(std::move(request)),
                      std::move(done)});
    }
    hand_over(std::move(request), std::move(done));
}

void ItemEndpoint::hand_over(HttpRequest request, Done done) {
    // What runs can be copied, and a request of many megabytes is better not.
    auto shared = std::make_shared<HttpRequest>(std::move(request));
    threads_.run([this, shared = std::move(shared), done = std::move(done)] {
        done(answer_table_request(std::move(*shared), tables_, &locks_, failed_));
    });
}

void ItemEndpoint::queue(Queued write) {
    {
        const MutexLock lock(mutex_);
        queued_.push_back(std::move(write));
        if (std::exchange(finishing_, true)) return;
    }
    if (flush_soon_) return flush_soon_();
    threads_.run([this] { finish_queued(); });
}

void ItemEndpoint::flush() {
    if (flush_soon_) finish_those_queued();
}

void ItemEndpoint::finish_queued() {
    while (finish_those_queued()) {
    }
}

bool ItemEndpoint::finish_those_queued() {
    std::vector<Queued> writes;
    {
        const MutexLock lock(mutex_);
        writes.swap(queued_);
        finishing_ = !writes.empty() && !flush_soon_;
    }
    for (Queued& write : writes) finish(write);
    return !writes.empty();
}

void ItemEndpoint::finish(Queued& write) {
    auto answer = write.pending->finish();
    if (!answer) return hand_over(std::move(*write.request), std::move(write.done));
    const auto response = write_answer_of(*std::move(answer));
    write.done(response ? with_headers(*response) : error_answer(response.error(), failed_));
}

}  // namespace rocklock
