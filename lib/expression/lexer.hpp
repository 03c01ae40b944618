// An expression's text as words and signs.
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
    // 0, or digits that do not begin with it.
    integer,
    // Words that are no names, in any case of letters.
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
    // A character that no expression has.
    other,
};

struct Token {
    TokenKind kind = TokenKind::end;
    // Where it lies in the text.
    std::uint32_t begin = 0;
    std::uint32_t size = 0;

    std::uint32_t end() const { return begin + size; }
};

// The first token at or behind `position`: of the kind `end` when none follows. No text is wrong.
Token next_token(std::string_view text, std::size_t position);

}  // namespace rocklock::expression
