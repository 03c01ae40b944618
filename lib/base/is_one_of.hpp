// Tests at compile time whether a type is an alternative of a variant.
#pragma once

#include <type_traits>
#include <variant>

namespace rocklock {

template <typename T, typename Variant>
inline constexpr bool is_one_of = false;
template <typename T, typename... Types>
inline constexpr bool is_one_of<T, std::variant<Types...>> = (std::is_same_v<T, Types> || ...);

}  // namespace rocklock
