// The common part of the parsers of all expressions, for tokens, paths, operands and faults.
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

// Returns the NodeKind of a function, or unknown_function if there is no such function.
NodeKind function_named(std::string_view name);

// Returns an error if a text is empty or too long to be parsed.
std::optional<Error> unreadable(ExpressionKind kind, std::string_view text);

// Reads tokens, and adds the steps of paths and the placeholders of names to `tree`.
//
// After a syntax error, functions return nullopt or false, and parsing stops. Other faults do not
// stop the parser, because a later syntax error is reported before them. The first fault of each
// kind is recorded.
class TextReader {
public:
    explicit TextReader(Tree& tree);

    TokenKind current_kind() const { return current_.kind; }
    bool at(TokenKind kind) const { return current_.kind == kind; }
    bool at_end() const { return at(TokenKind::end); }
    // Returns the current token and reads the next one.
    Token take();
    // Returns the kind of the token after the current one.
    TokenKind kind_of_next() const { return next_token(tree_.text, current_.end()).kind; }
    std::string_view text_of(const Token& token) const {
        return std::string_view(tree_.text).substr(token.begin, token.size);
    }
    // Takes a token of this kind. If the current token is of another kind, reports a syntax error
    // and returns false.
    bool expect(TokenKind kind);
    bool take_if(TokenKind kind);

    // Reports a syntax error at the current token. Always returns false, so that callers can return
    // the result.
    bool fail_here();
    // Enters a nested level. Returns false if the text is nested too deeply to be valid.
    bool descend();
    void ascend() { --depth_; }

    // Reads a path that begins at the current token.
    std::optional<Path> read_path();
    std::optional<Placeholder> read_value();

    // A function call. Its name has been read.
    struct Function {
        NodeKind kind = NodeKind::unknown_function;
        std::string_view name;
    };
    // Takes the name of a function and the opening parenthesis, and enters a nested level.
    std::optional<Function> begin_function();
    // Records a fault if the function does not exist, or is not allowed in this expression.
    // `expression` is "a condition" or "an update".
    void check_function(const Function& function, bool allowed, std::string_view expression);

    void count_operator() { ++operators_; }
    // Record a fault.
    void report_redundant_parentheses() { redundant_parentheses_ = true; }
    void report_misused_function(std::string_view name);
    void report_repeated_section(std::string_view name);

    // Returns the recorded fault that DynamoDB reports first, or nullopt if there are no faults.
    std::optional<Error> first_fault() const;

private:
    static void keep(std::optional<std::string>& target, std::string text) {
        if (!target) target = std::move(text);
    }
    bool read_name();
    bool read_index();
    void check_depth(const Path& path);

    Tree& tree_;
    Token previous_;
    Token current_;
    std::size_t depth_ = 0;
    std::size_t operators_ = 0;
    // True if parsing has stopped because the nesting is too deep for any valid expression.
    bool nesting_limit_exceeded_ = false;
    bool redundant_parentheses_ = false;
    std::optional<std::string> syntax_;
    std::optional<std::string> wrong_function_;
    std::optional<std::string> misused_function_;
    std::optional<std::string> wrong_index_;
    std::optional<std::string> reserved_word_;
    std::optional<std::string> too_deep_;
    std::optional<std::string> repeated_section_;
};

// Adds nodes to a tree. Stores the operands of unfinished nodes until finish().
class NodeMaker {
public:
    explicit NodeMaker(OperandTree& tree) : tree_(tree) {}

    std::uint32_t add_path(const Path& path) {
        return add({NodeKind::path, path.first, path.count});
    }
    std::uint32_t add_value(const Placeholder& placeholder);

    // To make a node with operands, call `mark = begin()`, then push() for each operand, then
    // finish(kind, mark).
    std::size_t begin() const { return waiting_.size(); }
    void push(std::uint32_t node) { waiting_.push_back(node); }
    std::uint32_t finish(NodeKind kind, std::size_t mark);

private:
    std::uint32_t add(Node node);

    OperandTree& tree_;
    std::vector<std::uint32_t> waiting_;
};

}  // namespace rocklock::expression
