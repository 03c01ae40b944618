// Result<T>: a value, or the Error that explains why there is no value.
//
// The names are those of std::expected, which C++20 does not have. The library reports errors only
// as Results. Result::value() is the only function that throws an exception for an error.
#pragma once

#include <stdexcept>
#include <utility>
#include <variant>

#include <rocklock/error.hpp>

namespace rocklock {

// The exception of Result::value().
class BadResult : public std::runtime_error {
public:
    explicit BadResult(Error error) : std::runtime_error(error.message), error_(std::move(error)) {}
    const Error& error() const noexcept { return error_; }

private:
    Error error_;
};

template <typename T>
class [[nodiscard]] Result {
public:
    using value_type = T;

    Result(T&& value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(const T& value) : state_(std::in_place_index<0>, value) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
    // Constructs the value from the arguments, without a move.
    template <typename... Args>
    explicit Result(std::in_place_t, Args&&... args)
        : state_(std::in_place_index<0>, std::forward<Args>(args)...) {}

    bool has_value() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }

    // Throws BadResult if there is no value.
    T& value() & {
        require();
        return std::get<0>(state_);
    }
    const T& value() const& {
        require();
        return std::get<0>(state_);
    }
    T&& value() && {
        require();
        return std::get<0>(std::move(state_));
    }

    // The behavior is undefined if there is no value.
    T& operator*() & noexcept { return *std::get_if<0>(&state_); }
    const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
    T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
    T* operator->() noexcept { return std::get_if<0>(&state_); }
    const T* operator->() const noexcept { return std::get_if<0>(&state_); }

    // The behavior is undefined if there is a value.
    Error& error() & noexcept { return *std::get_if<1>(&state_); }
    const Error& error() const& noexcept { return *std::get_if<1>(&state_); }
    Error&& error() && noexcept { return std::move(*std::get_if<1>(&state_)); }

private:
    void require() const {
        if (!has_value()) throw BadResult(*std::get_if<1>(&state_));
    }

    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
public:
    using value_type = void;

    Result() = default;
    Result(Error error) : error_(std::move(error)) {}

    bool has_value() const noexcept { return !error_.has_value(); }
    explicit operator bool() const noexcept { return has_value(); }
    // Throws BadResult if there is an error.
    void value() const {
        if (error_) throw BadResult(*error_);
    }

    Error& error() & noexcept { return *error_; }
    const Error& error() const& noexcept { return *error_; }
    Error&& error() && noexcept { return std::move(*error_); }

private:
    std::optional<Error> error_;
};

}  // namespace rocklock
