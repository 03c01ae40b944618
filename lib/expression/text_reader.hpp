// What the parsers of all expressions share: tokens, paths, operands, and the first fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expression/lexer.hpp"
#include "expression/tree.hpp"

namespace rocklock::expression {

// The name of a function as NodeKind; unknown_function for no function's name.
NodeKind function_named(std::string_view name);

// The fault of a text that cannot be read at all: empty, or too long.
std::optional<Error> unreadable(ExpressionKind kind, std::string_view text);

// Reads tokens one after the other and makes parts of `tree`.
//
// Where the syntax is wrong its functions return nothing, and the reader has the fault. Other
// faults are remembered, the first of each sort, since wrong syntax further on would go before.
class TextReader {
public:
    explicit TextReader(Tree& tree);

    TokenKind current_kind() const { return current_.kind; }
    bool at(TokenKind kind) const { return current_.kind == kind; }
    bool at_end() const { return at(TokenKind::end); }
    // Goes on to the next token.
    Token take();
    // The kind of the token after the current one.
    TokenKind kind_of_next() const { return next_token(tree_.text, current_.end()).kind; }
    std::string_view text_of(const Token& token) const {
        return std::string_view(tree_.text).substr(token.begin, token.size);
    }
    // Takes a token of that kind; with another the syntax is wrong.
    bool expect(TokenKind kind);
    bool take_if(TokenKind kind);

    // Wrong syntax, at the current token. Returns false, for who returns that.
    bool fail_here();
    // Goes a level deeper into the text, unless that is too deep to be right.
    bool descend();
    void ascend() { --depth_; }

    // A path that begins at the current token.
    std::optional<Path> read_path();
    std::optional<Placeholder> read_value();

    // Takes the name of a function and what opens its operands, a level deeper.
    struct Function {
        NodeKind kind = NodeKind::unknown_function;
        std::string_view name;
    };
    std::optional<Function> begin_function();
    // Remembers the fault of a function that there is not, or that is not allowed in such an
    // expression: "a condition", "an update".
    void check_function(const Function& function, bool allowed, std::string_view expression);

    void count_operator() { ++operators_; }
    void redundant_parentheses() { redundant_parentheses_ = true; }
    void misused_function(std::string_view name);
    void repeated_section(std::string_view name);

    // The fault that goes before the others, if there is one.
    std::optional<Error> first_fault() const;

private:
    static void keep(std::optional<std::string>& place, std::string text) {
        if (!place) place = std::move(text);
    }
    bool read_name();
    bool read_index();
    void check_depth(const Path& path);

    Tree& tree_;
    Token previous_;
    Token current_;
    std::size_t depth_ = 0;
    std::size_t operators_ = 0;
    // It was given up: too deep to be right, whatever follows.
    bool bottomless_ = false;
    bool redundant_parentheses_ = false;
    std::optional<std::string> syntax_;
    std::optional<std::string> wrong_function_;
    std::optional<std::string> misused_function_;
    std::optional<std::string> wrong_index_;
    std::optional<std::string> reserved_word_;
    std::optional<std::string> too_deep_;
    std::optional<std::string> repeated_section_;
};

// The nodes of a tree that grows, and the operands of those that are not whole yet.
class NodeMaker {
public:
    explicit NodeMaker(OperandTree& tree) : tree_(tree) {}

    std::uint32_t add_path(const Path& path) {
        return add({NodeKind::path, path.first, path.count});
    }
    std::uint32_t add_value(const Placeholder& placeholder);

    // Collects operands: what is pushed after `mark = begin()` belongs to `finish(kind, mark)`.
    std::size_t begin() const { return waiting_.size(); }
    void push(std::uint32_t node) { waiting_.push_back(node); }
    std::uint32_t finish(NodeKind kind, std::size_t mark);

private:
    std::uint32_t add(Node node);

    OperandTree& tree_;
    std::vector<std::uint32_t> waiting_;
};

}  // namespace rocklock::expression
