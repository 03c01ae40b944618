// The operations of a worker on a lock manager, the responses to them, and the encoding of both for
// the journal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/lock.hpp>

namespace rocklock::crash {

// The kinds of operations. Operations whose responses differ in durability are different kinds.
enum class Verb : std::uint8_t {
    // The recovery when the store is opened, which is not a request.
    recovery,
    open,
    close,
    renew,
    renew_longer,
    acquire,
    acquire_set,
    wait,
    count,
    release,
    convert_up,
    convert_down,
    transfer,
    steal,
    break_grant,
    put_class,
    delete_class,
};
inline constexpr std::size_t verb_count = 17;

std::string_view to_string(Verb verb);

// Returns whether the response is sent before the decision is written. A crash can then lose the
// decision after the response.
bool is_deferred(Verb verb);

struct Operation {
    Verb verb = Verb::open;
    Request request;
    // The id of the session that the operation opens.
    SessionId fresh;
};

std::string encode(const Operation& operation);
std::optional<Operation> decode_operation(std::string_view bytes);

// Encodes the parts of a response that the reference model checks.
std::string encode(const Result<Answer>& answer);
std::optional<Result<Answer>> decode_answer(std::string_view bytes);

}  // namespace rocklock::crash
