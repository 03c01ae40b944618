#include "crash/operation.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/bytes.hpp"

namespace rocklock::crash {
namespace {

constexpr std::array<std::string_view, verb_count> verb_names = {
    "recovery",    "open",  "close", "renew",     "renew_longer", "acquire",
    "acquire_set", "wait",  "count", "release",   "convert_up",   "convert_down",
    "transfer",    "steal", "break", "put_class", "delete_class"};

// ---- Encoding ----

// fields() lists the members of each type once, for encoding and decoding.
class Writing {
public:
    std::string take() { return std::move(out_); }
    void number(std::uint64_t value) { append_u64(out_, value); }

    template <typename T>
    void operator()(const T& value) {
        if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
            number(static_cast<std::uint64_t>(value));
        } else if constexpr (requires { value.time_since_epoch(); }) {
            number(static_cast<std::uint64_t>(value.time_since_epoch().count()));
        } else if constexpr (requires {
                                 typename T::rep;
                                 value.count();
                             }) {
            number(static_cast<std::uint64_t>(value.count()));
        } else {
            fields(*this, value);
        }
    }
    void operator()(const std::string& text) { append_string(out_, text); }
    void operator()(const SessionId& id) {
        for (const std::uint8_t byte : id.bytes) append_u8(out_, byte);
    }
    template <typename T>
    void operator()(const std::optional<T>& value) {
        number(value ? 1 : 0);
        if (value) (*this)(*value);
    }
    template <typename T>
    void operator()(const std::vector<T>& values) {
        number(values.size());
        for (const T& value : values) (*this)(value);
    }

private:
    std::string out_;
};

class Reading {
public:
    explicit Reading(std::string_view bytes) : reader_(bytes) {}
    bool done() const { return reader_.done(); }
    std::uint64_t number() { return reader_.u64().value_or(0); }

    template <typename T>
    void operator()(T& value) {
        if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
            value = static_cast<T>(number());
        } else if constexpr (requires { value.time_since_epoch(); }) {
            value = T(typename T::duration(static_cast<typename T::rep>(number())));
        } else if constexpr (requires {
                                 typename T::rep;
                                 value.count();
                             }) {
            value = T(static_cast<typename T::rep>(number()));
        } else {
            fields(*this, value);
        }
    }
    void operator()(std::string& text) { text = reader_.string().value_or(""); }
    void operator()(SessionId& id) {
        for (std::uint8_t& byte : id.bytes) byte = reader_.u8().value_or(0);
    }
    template <typename T>
    void operator()(std::optional<T>& value) {
        value.reset();
        if (number() != 0) (*this)(value.emplace());
    }
    template <typename T>
    void operator()(std::vector<T>& values) {
        values.clear();
        for (std::uint64_t left = number(); left > 0 && reader_.ok(); --left) {
            (*this)(values.emplace_back());
        }
    }

private:
    Reader reader_;
};

template <typename Code, typename Value>
void fields(Code& code, Value& value);

template <typename Code, typename... Values>
void all(Code& code, Values&... values) {
    (code(values), ...);
}

// `Value` is const when encoding.
template <typename Code, typename Value>
void request_fields(Code& code, Value& v) {
    using T = std::remove_const_t<Value>;
    if constexpr (std::is_same_v<T, OpenSession>) all(code, v.principal, v.lease);
    if constexpr (std::is_same_v<T, RenewSession>) all(code, v.session, v.lease);
    if constexpr (std::is_same_v<T, CloseSession>) all(code, v.session);
    if constexpr (std::is_same_v<T, Acquire>) all(code, v.session, v.locks, v.patience, v.held);
    if constexpr (std::is_same_v<T, Convert>) all(code, v.session, v.grant, v.mode);
    if constexpr (std::is_same_v<T, Release>) all(code, v.session, v.grant);
    if constexpr (std::is_same_v<T, Transfer>) all(code, v.session, v.grant, v.to);
    if constexpr (std::is_same_v<T, Steal>) {
        all(code, v.session, v.grant, v.reason, v.administrator);
    }
    if constexpr (std::is_same_v<T, Break>) all(code, v.grant, v.reason, v.by);
    if constexpr (std::is_same_v<T, PutClass>) all(code, v.lock_class);
    if constexpr (std::is_same_v<T, DeleteClass>) all(code, v.pattern);
}

template <typename Code, typename Value>
void fields(Code& code, Value& v) {
    using T = std::remove_const_t<Value>;
    if constexpr (std::is_same_v<T, LockRequest>) {
        all(code, v.resource, v.mode, v.to, v.subtree, v.permits, v.modes);
    } else if constexpr (std::is_same_v<T, LockClass>) {
        all(code, v.pattern, v.policy, v.steal, v.permits);
    } else if constexpr (std::is_same_v<T, GrantedLock>) {
        all(code, v.resource, v.mode, v.subtree, v.permits, v.cause);
    } else if constexpr (std::is_same_v<T, Ending>) {
        all(code, v.outcome);
    } else if constexpr (std::is_same_v<T, Grant>) {
        all(code, v.id, v.token, v.session, v.locks, v.waited, v.count, v.deadline, v.ended);
    } else if constexpr (std::is_same_v<T, SessionInfo>) {
        all(code, v.id, v.lease, v.deadline);
    } else if constexpr (std::is_same_v<T, Released>) {
        all(code, v.outcome, v.count);
    } else if constexpr (std::is_same_v<T, ClosedSession>) {
        all(code, v.released);
    } else if constexpr (std::is_same_v<T, Holder>) {
        all(code, v.resource, v.mode, v.subtree, v.permits, v.grant, v.token, v.session, v.cause);
    } else if constexpr (std::is_same_v<T, Waiter>) {
        all(code, v.resource, v.session);
    } else if constexpr (std::is_same_v<T, Error>) {
        all(code, v.code, v.message, v.blockers, v.waiters, v.retry_after, v.policy);
    } else {
        request_fields(code, v);
    }
}

// Returns a variant that holds its alternative number `index`.
template <typename Variant, std::size_t... indices>
Variant alternative(std::size_t index, std::index_sequence<indices...>) {
    Variant value;
    ((indices == index ? void(value.template emplace<indices>()) : void()), ...);
    return value;
}

template <typename Variant>
Variant alternative(std::size_t index) {
    return alternative<Variant>(index, std::make_index_sequence<std::variant_size_v<Variant>>());
}

}  // namespace

std::string_view to_string(Verb verb) { return verb_names.at(static_cast<std::size_t>(verb)); }

bool is_deferred(Verb verb) { return verb == Verb::release || verb == Verb::close; }

std::string encode(const Operation& operation) {
    Writing out;
    all(out, operation.verb, operation.fresh);
    out.number(operation.request.index());
    std::visit([&](const auto& request) { request_fields(out, request); }, operation.request);
    return out.take();
}

std::optional<Operation> decode_operation(std::string_view bytes) {
    Reading in(bytes);
    Operation operation;
    all(in, operation.verb, operation.fresh);
    operation.request = alternative<Request>(in.number());
    std::visit([&](auto& request) { request_fields(in, request); }, operation.request);
    if (!in.done()) return std::nullopt;
    return operation;
}

std::string encode(const Result<Answer>& answer) {
    Writing out;
    out.number(answer ? answer->index() : std::variant_size_v<Answer>);
    if (answer) {
        std::visit([&](const auto& value) { fields(out, value); }, *answer);
    } else {
        fields(out, answer.error());
    }
    return out.take();
}

std::optional<Result<Answer>> decode_answer(std::string_view bytes) {
    Reading in(bytes);
    const std::size_t index = in.number();
    if (index == std::variant_size_v<Answer>) {
        Error error;
        fields(in, error);
        if (!in.done()) return std::nullopt;
        return Result<Answer>(std::move(error));
    }
    Answer answer = alternative<Answer>(index);
    std::visit([&](auto& value) { fields(in, value); }, answer);
    if (!in.done()) return std::nullopt;
    return Result<Answer>(std::move(answer));
}

}  // namespace rocklock::crash
