// Splits the text of an expression into tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rocklock::expression {

enum class TokenKind : std::uint8_t {
    end,
    identifier,
    // `#name` and `:value`.
    name_placeholder,
    value_placeholder,
    // 0, or digits that do not begin with 0.
    integer,
    // Keywords, in upper, lower or mixed case.
    word_and,
    word_or,
    word_not,
    word_between,
    word_in,
    word_set,
    word_remove,
    word_add,
    word_delete,
    equal,
    not_equal,
    less,
    less_or_equal,
    greater,
    greater_or_equal,
    open,
    close,
    open_index,
    close_index,
    comma,
    dot,
    plus,
    minus,
    // A character that is not allowed in expressions.
    other,
};

struct Token {
    TokenKind kind = TokenKind::end;
    // The position of the token in the text.
    std::uint32_t begin = 0;
    std::uint32_t size = 0;

    std::uint32_t end() const { return begin + size; }
};

// Returns the first token at or after `position`, or a token of the kind `end` if there is no
// further token. This function cannot fail. It returns invalid characters as tokens of the kind
// `other`.
Token next_token(std::string_view text, std::size_t position);

}  // namespace rocklock::expression
