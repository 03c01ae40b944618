#include "service/item_endpoint.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.hpp"
#include "base/random.hpp"
#include "service/gzip.hpp"
#include "service/item_call.hpp"
#include "service/lock_headers.hpp"
#include "service/signature.hpp"
#include "service/table_frames.hpp"
#include "table/write/answer_limit.hpp"
#include "wire/json/attribute_json.hpp"
#include "wire/table_call.hpp"

namespace rocklock {
namespace {

using std::chrono::steady_clock;

constexpr std::string_view service_prefix = "DynamoDB";
constexpr std::string_view unknown_operation = "UnknownOperationException";
constexpr std::string_view stream_target_prefix = "DynamoDBStreams_20120810.";
constexpr std::size_t max_shown_target = 64;
constexpr int internal_status = 500;

std::mt19937_64 seeded_generator() {
    const auto bytes = random_bytes<64>();
    std::seed_seq seed(bytes.begin(), bytes.end());
    return std::mt19937_64(seed);
}

// The 1024 pairs of two digits of a request id.
constexpr auto digit_pairs = [] {
    constexpr std::string_view digits = "0123456789ABCDEFGHIJKLMNOPQRSTUV";
    std::array<std::array<char, 2>, 1024> pairs{};
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        pairs[i] = {digits[i / digits.size()], digits[i % digits.size()]};
    }
    return pairs;
}();

// Appends 52 characters, as DynamoDB does. The id must be unique, but not secret.
void append_request_id(std::string& out) {
    constexpr std::size_t bits_each = 10;
    constexpr std::size_t pairs_each = 64 / bits_each;
    thread_local std::mt19937_64 generator = seeded_generator();
    std::array<char, 52> id{};
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < id.size() / 2; ++i, bits >>= bits_each) {
        if (i % pairs_each == 0) bits = generator();
        const auto& pair = digit_pairs[bits % digit_pairs.size()];
        id[2 * i] = pair[0];
        id[2 * i + 1] = pair[1];
    }
    out.append(id.data(), id.size());
}

// Returns the target that a client sent for a message: shortened, and valid UTF-8.
std::string shown_target(std::string_view target) {
    std::string shown = "'" + std::string(target.substr(0, max_shown_target)) +
                        (target.size() > max_shown_target ? "...'" : "'");
    for (char& byte : shown) {
        if (static_cast<unsigned char>(byte) >= 0x80) byte = '?';
    }
    return shown;
}

void append_number(std::string& out, std::uint64_t number) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

ServiceAnswer with_headers(int status, std::string body,
                           std::optional<std::uint64_t> version = std::nullopt) {
    std::string headers;
    // Space for all headers.
    headers.reserve(160);
    headers += "x-amzn-RequestId: ";
    append_request_id(headers);
    headers += "\r\nx-amz-crc32: ";
    append_number(headers, crc32_of(body));
    if (version) {
        headers += "\r\nx-rocklock-version: ";
        append_number(headers, *version);
    }
    headers += "\r\n";
    return {status, json_type, std::move(headers), std::move(body), std::nullopt};
}

ServiceAnswer with_headers(TableAnswer answer) {
    auto response =
        with_headers(answer.refused ? 400 : 200, std::move(answer.body), answer.version);
    response.refused = answer.refused;
    return response;
}

ServiceAnswer service_error(std::string_view name, std::string_view message) {
    auto response = with_headers(400, write_service_error(name, message));
    response.refused = ErrorCode::malformed;
    return response;
}

// DynamoDB's own response contains only the name of the exception.
ServiceAnswer unknown_operation_answer(std::string_view target) {
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

ServiceAnswer error_answer(const Error& error, const std::function<void(const Error&)>& failed) {
    const int status = table_error_status(error);
    if (status >= internal_status && failed) failed(error);
    auto response = with_headers(status, write_table_error(error));
    response.refused = counted_code(error);
    response.has_drafts = error.drafts != 0;
    return response;
}

ServiceAnswer packing_answer(PackingFault fault) {
    constexpr std::string_view name = "SerializationException";
    switch (fault) {
        case PackingFault::unknown_coding:
            return service_error(name, "the only supported Content-Encoding is gzip");
        case PackingFault::damaged:
            return service_error(name, "the body is not gzip data, or is incomplete");
        case PackingFault::too_long:
            break;
    }
    auto response =
        refusal(413, "RequestTooLargeException", "the body is longer than 16 MB unpacked");
    response.refused = ErrorCode::malformed;
    return response;
}

// The text of smaller attributes has at most some kilobytes, so it is not limited.
constexpr std::size_t min_limited_bytes = 256;

// Returns the check of AnswerLimit for a call.
table::AnswerLimit::Check answer_check(const ItemCall& call) {
    if (!call.room()) return {};
    return [&call](const Item& attributes) -> Result<void> {
        if (size_bytes(attributes) < min_limited_bytes) return {};
        JsonWriter json;
        write_item(json, attributes);
        return call.room()(json.take().size());
    };
}

// The names of all operations, and one name for requests without a known operation.
std::vector<std::string_view> counted_operations() {
    std::vector<std::string_view> names;
    for (const TableOperation& operation : table_operations()) names.push_back(operation.name);
    names.emplace_back("other");
    return names;
}

}  // namespace

bool is_table_request(const ServiceRequest& request) {
    const std::string_view target(request.operation);
    if (target.starts_with(service_prefix) || is_table_frame_request(request)) return true;
    // A request of an SDK with an unknown target, or without one, gets the response of DynamoDB.
    return !target.starts_with("Rocklock_") && is_sdk_json(request.content_type);
}

ServiceAnswer answer_table_request(ItemCall& call, TableService& tables, LockService* locks,
                                   const std::function<void(const Error&)>& failed,
                                   PrincipalRule* rule) {
    if (call.is_frame()) {
        const auto check = answer_check(call);
        const table::AnswerLimit limit(check);
        return answer_table_frame(call.request(), tables, locks, rule, failed);
    }
    if (!call.has_json_type()) {
        return {404, "text/plain", {}, "<UnknownOperationException/>\n", ErrorCode::malformed};
    }
    if (const auto fault = call.unpack()) return packing_answer(*fault);
    if (const Error* const error = call.body_error()) return error_answer(*error, {});
    if (call.operation() == nullptr) return unknown_operation_answer(call.request().operation);
    if (const auto& problem = call.signature_problem()) {
        return service_error(problem->name, problem->message);
    }
    const std::string_view operation = call.operation()->name;
    if (operation == "DescribeEndpoints") {
        return with_headers(200, describe_endpoints(call.request().host));
    }
    const auto guards = read_lock_headers(call.request(), operation, locks);
    if (!guards) return error_answer(guards.error(), failed);
    if (!call.call()) return error_answer(call.call().error(), {});
    const auto check = answer_check(call);
    const table::AnswerLimit limit(check);
    auto answer = (*call.call())(tables, *guards);
    if (!answer) return error_answer(answer.error(), failed);
    return with_headers(*std::move(answer));
}

ServiceAnswer answer_table_request(ServiceRequest request, TableService& tables, LockService* locks,
                                   const std::function<void(const Error&)>& failed) {
    ItemCall call(std::move(request));
    return answer_table_request(call, tables, locks, failed);
}

std::optional<ServiceAnswer> answer_from_cache(ItemCall& call, TableService& tables) {
    if (call.operation_name() != "GetItem" || !call.is_simple()) return std::nullopt;
    if (call.body_error() != nullptr || !call.call()) return std::nullopt;
    auto answer = call.call()->answer_from_cache(tables);
    if (!answer || !*answer) return std::nullopt;
    return with_headers(**std::move(answer));
}

namespace {

// Returns null if the call must be executed by answer_table_request().
std::unique_ptr<PendingWrite> begin_write(ItemCall& call, TableService& tables) {
    if (!is_write_of_one_item(call.operation_name()) || !call.is_simple()) return nullptr;
    if (call.body_error() != nullptr || !call.call()) return nullptr;
    const auto check = answer_check(call);
    const table::AnswerLimit limit(check);
    return call.call()->begin_write(tables);
}

}  // namespace

ItemEndpoint::ItemEndpoint(TableService& tables, LockService& locks,
                           std::function<void(const Error&)> failed,
                           std::function<void()> flush_soon, PrincipalRule* rule)
    : tables_(tables),
      locks_(locks),
      failed_(std::move(failed)),
      flush_soon_(std::move(flush_soon)),
      rule_(rule),
      operations_(counted_operations()),
      counters_("table_", "operation", operations_),
      threads_(max_concurrent) {}

std::size_t ItemEndpoint::index_of(const ItemCall& call) const {
    if (call.operation() == nullptr) return operations_.size() - 1;
    const auto index = static_cast<std::size_t>(call.operation() - table_operations().data());
    ROCKLOCK_ASSERT(index + 1 < operations_.size());
    return index;
}

void ItemEndpoint::count(std::size_t operation, const ServiceAnswer& answer,
                         steady_clock::time_point start) {
    counters_.add(operation, answer.refused, steady_clock::now() - start);
}

std::optional<ServiceAnswer> ItemEndpoint::ask_cache(ItemCall& call) {
    const auto start = steady_clock::now();
    auto answer = answer_from_cache(call, tables_);
    if (answer) count(index_of(call), *answer, start);
    return answer;
}

void ItemEndpoint::ask(std::unique_ptr<ItemCall> call, Done done) {
    const auto start = steady_clock::now();
    const auto operation = index_of(*call);
    done = [this, operation, start, done = std::move(done)](ServiceAnswer answer) {
        count(operation, answer, start);
        done(std::move(answer));
    };
    auto pending = begin_write(*call, tables_);
    if (pending == nullptr) {
        hand_over(std::move(call), std::move(done));
    } else if (pending->is_queued()) {
        queue({std::move(call), std::move(pending), std::move(done)});
    } else {
        hand_over({std::move(call), std::move(pending), std::move(done)});
    }
}

void ItemEndpoint::hand_over(std::unique_ptr<ItemCall> call, Done done) {
    // A task must be copyable, so the call is shared.
    auto shared = std::shared_ptr<ItemCall>(std::move(call));
    threads_.run([this, shared = std::move(shared), done = std::move(done)] {
        done(answer_table_request(*shared, tables_, &locks_, failed_, rule_));
    });
}

void ItemEndpoint::hand_over(BegunWrite write) {
    threads_.run([this, shared = std::make_shared<BegunWrite>(std::move(write))] {
        const auto check = answer_check(*shared->call);
        const table::AnswerLimit limit(check);
        answer(*shared, shared->pending->write());
    });
}

void ItemEndpoint::queue(BegunWrite write) {
    ROCKLOCK_ASSERT(write.call != nullptr && write.pending != nullptr);
    ROCKLOCK_ASSERT(write.pending->is_queued());
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
    std::vector<BegunWrite> writes;
    {
        const MutexLock lock(mutex_);
        writes.swap(queued_);
        finishing_ = !writes.empty() && !flush_soon_;
    }
    for (BegunWrite& write : writes) finish(std::move(write));
    return !writes.empty();
}

void ItemEndpoint::finish(BegunWrite write) {
    auto written = write.pending->finish();
    if (!written) return hand_over(std::move(write));
    answer(write, *std::move(written));
}

void ItemEndpoint::answer(const BegunWrite& write, Result<WriteAnswer> written) const {
    const auto answer = write_answer_of(std::move(written));
    write.done(answer ? with_headers(*answer) : error_answer(answer.error(), failed_));
}

}  // namespace rocklock
