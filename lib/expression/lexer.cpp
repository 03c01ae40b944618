#include "expression/lexer.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace rocklock::expression {

namespace {

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_name_part(char c) { return is_letter(c) || is_digit(c) || c == '_'; }
constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
constexpr bool continues_character(char c) {
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

constexpr auto words = std::to_array<std::pair<std::string_view, TokenKind>>({
    {"and", TokenKind::word_and},
    {"or", TokenKind::word_or},
    {"not", TokenKind::word_not},
    {"between", TokenKind::word_between},
    {"in", TokenKind::word_in},
    {"set", TokenKind::word_set},
    {"remove", TokenKind::word_remove},
    {"add", TokenKind::word_add},
    {"delete", TokenKind::word_delete},
});

TokenKind kind_of_word(std::string_view word) {
    for (const auto& [name, kind] : words) {
        if (word.size() == name.size() &&
            std::equal(word.begin(), word.end(), name.begin(),
                       [](char c, char lower) { return (c | 0x20) == lower; })) {
            return kind;
        }
    }
    return TokenKind::identifier;
}

TokenKind kind_of_sign(char c) {
    switch (c) {
        case '=':
            return TokenKind::equal;
        case '<':
            return TokenKind::less;
        case '>':
            return TokenKind::greater;
        case '(':
            return TokenKind::open;
        case ')':
            return TokenKind::close;
        case '[':
            return TokenKind::open_index;
        case ']':
            return TokenKind::close_index;
        case ',':
            return TokenKind::comma;
        case '.':
            return TokenKind::dot;
        case '+':
            return TokenKind::plus;
        case '-':
            return TokenKind::minus;
        default:
            return TokenKind::other;
    }
}

template <typename Predicate>
std::size_t end_of_run(std::string_view text, std::size_t position, Predicate predicate) {
    while (position < text.size() && predicate(text[position])) ++position;
    return position;
}

std::pair<TokenKind, std::size_t> read_sign(std::string_view text, std::size_t begin) {
    const std::string_view two = text.substr(begin, 2);
    if (two == "<>") return {TokenKind::not_equal, begin + 2};
    if (two == "<=") return {TokenKind::less_or_equal, begin + 2};
    if (two == ">=") return {TokenKind::greater_or_equal, begin + 2};
    const TokenKind kind = kind_of_sign(text[begin]);
    // A character of several bytes is one token, so that messages never contain a part of it.
    if (kind == TokenKind::other) return {kind, end_of_run(text, begin + 1, continues_character)};
    return {kind, begin + 1};
}

std::pair<TokenKind, std::size_t> read_token(std::string_view text, std::size_t begin) {
    const char first = text[begin];
    if (is_letter(first)) {
        const std::size_t end = end_of_run(text, begin + 1, is_name_part);
        return {kind_of_word(text.substr(begin, end - begin)), end};
    }
    if (first == '#' || first == ':') {
        const std::size_t end = end_of_run(text, begin + 1, is_name_part);
        if (end == begin + 1) return {TokenKind::other, end};
        return {first == '#' ? TokenKind::name_placeholder : TokenKind::value_placeholder, end};
    }
    if (first == '0') return {TokenKind::integer, begin + 1};
    if (is_digit(first)) return {TokenKind::integer, end_of_run(text, begin + 1, is_digit)};
    return read_sign(text, begin);
}

}  // namespace

Token next_token(std::string_view text, std::size_t position) {
    const std::size_t begin = end_of_run(text, position, is_blank);
    if (begin == text.size()) return {TokenKind::end, static_cast<std::uint32_t>(begin), 0};
    const auto [kind, end] = read_token(text, begin);
    return {kind, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - begin)};
}

}  // namespace rocklock::expression
