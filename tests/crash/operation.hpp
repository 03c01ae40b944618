// What a worker does to a lock manager, small enough to be written down before it is done, and what
// it was answered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/lock.hpp>

namespace rocklock::crash {

// Kinds of operations, told apart where they differ in how durable their answer is.
enum class Verb : std::uint8_t {
    // Opening the store, which is no request.
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

// Whether its answer may be lost with the process: it is given when it is decided.
bool is_deferred(Verb verb);

struct Operation {
    Verb verb = Verb::open;
    Request request;
    // The name of the session that it opens.
    SessionId fresh;
};

std::string encode(const Operation& operation);
std::optional<Operation> decode_operation(std::string_view bytes);

// Of an answer, all that the reference model has an opinion on.
std::string encode(const Result<Answer>& answer);
std::optional<Result<Answer>> decode_answer(std::string_view bytes);

}  // namespace rocklock::crash
