// Parses conditions by recursive descent:
//
//     any_of     := all_of ( OR all_of )*
//     all_of     := negation ( AND negation )*
//     negation   := NOT negation | primary
//     primary    := ( any_of ) | operand comparison | function
//     comparison := = operand | ... | BETWEEN operand AND operand | IN ( operand (, operand)* )
//     operand    := path | :value | function | ( operand )
//
// After an opening parenthesis there can be a condition or an operand: `(a = :b)`, `(a) = :b`. The
// parser therefore accepts both there, and the token after the closing parenthesis decides whether
// the term is used as a condition or as an operand.
#include <optional>
#include <string>
#include <utility>

#include "expression/parser.hpp"
#include "expression/text_reader.hpp"

namespace rocklock::expression {

namespace {

// A parsed term: its node, and how it can be used.
struct Term {
    enum class Role : std::uint8_t { condition, operand, function };
    std::uint32_t node = 0;
    Role role = Role::condition;
    bool in_parentheses = false;
};

std::optional<NodeKind> comparison_of(TokenKind kind) {
    switch (kind) {
        case TokenKind::equal:
            return NodeKind::equal;
        case TokenKind::not_equal:
            return NodeKind::not_equal;
        case TokenKind::less:
            return NodeKind::less;
        case TokenKind::less_or_equal:
            return NodeKind::less_or_equal;
        case TokenKind::greater:
            return NodeKind::greater;
        case TokenKind::greater_or_equal:
            return NodeKind::greater_or_equal;
        default:
            return std::nullopt;
    }
}

class ConditionParser {
public:
    explicit ConditionParser(ConditionTree& tree) : tree_(tree), reader_(tree), nodes_(tree) {
        tree_.nodes.reserve(16);
        tree_.operands.reserve(16);
    }

    std::optional<Error> parse() {
        const auto whole = any_of(false);
        if (whole && (reader_.at_end() || reader_.fail_here())) {
            tree_.root = whole->node;
            check_functions();
        }
        return reader_.first_fault();
    }

private:
    using Read = std::optional<Term>;
    // Parses one part. `operand_may_do` is true if the part is between parentheses and can be an
    // operand.
    using Reader = Read (ConditionParser::*)(bool operand_may_do);

    Read any_of(bool operand_may_do) {
        return joined(TokenKind::word_or, NodeKind::any_of, &ConditionParser::all_of,
                      operand_may_do);
    }
    Read all_of(bool operand_may_do) {
        return joined(TokenKind::word_and, NodeKind::all_of, &ConditionParser::negation,
                      operand_may_do);
    }
    Read joined(TokenKind word, NodeKind kind, Reader part, bool operand_may_do);
    Read negation(bool operand_may_do);
    Read primary(bool operand_may_do);
    Read between_parentheses();
    Read comparison(const Term& left);
    Read between(const Term& left);
    Read in(const Term& left);
    bool read_list();
    Read operand();
    Read operand_in_parentheses();
    Read function();
    void check_functions();
    void check_parts(const Node& node);

    ConditionTree& tree_;
    TextReader reader_;
    NodeMaker nodes_;
};

// Parses one part, or several parts that are joined by `word` into one node.
ConditionParser::Read ConditionParser::joined(TokenKind word, NodeKind kind, Reader part,
                                              bool operand_may_do) {
    const std::size_t mark = nodes_.begin();
    Read term = (this->*part)(operand_may_do);
    if (!term || !reader_.at(word)) return term;
    nodes_.push(term->node);
    while (reader_.take_if(word)) {
        reader_.count_operator();
        term = (this->*part)(false);
        if (!term) return term;
        nodes_.push(term->node);
    }
    return Term{nodes_.finish(kind, mark)};
}

ConditionParser::Read ConditionParser::negation(bool operand_may_do) {
    if (!reader_.at(TokenKind::word_not)) return primary(operand_may_do);
    if (!reader_.descend()) return std::nullopt;
    reader_.take();
    reader_.count_operator();
    const std::size_t mark = nodes_.begin();
    const Read term = negation(false);
    if (!term) return term;
    nodes_.push(term->node);
    reader_.ascend();
    return Term{nodes_.finish(NodeKind::negation, mark)};
}

ConditionParser::Read ConditionParser::primary(bool operand_may_do) {
    const Read left = reader_.at(TokenKind::open) ? between_parentheses() : operand();
    if (!left || left->role == Term::Role::condition) return left;
    if (reader_.at(TokenKind::word_between)) return between(*left);
    if (reader_.at(TokenKind::word_in)) return in(*left);
    if (comparison_of(reader_.current_kind())) return comparison(*left);
    if (left->role == Term::Role::function) return left;
    if (operand_may_do && reader_.at(TokenKind::close)) return left;
    reader_.fail_here();
    return std::nullopt;
}

ConditionParser::Read ConditionParser::between_parentheses() {
    if (!reader_.descend()) return std::nullopt;
    reader_.take();
    Read term = any_of(true);
    if (!term || !reader_.expect(TokenKind::close)) return std::nullopt;
    reader_.ascend();
    if (term->in_parentheses) reader_.report_redundant_parentheses();
    term->in_parentheses = true;
    return term;
}

ConditionParser::Read ConditionParser::comparison(const Term& left) {
    const std::size_t mark = nodes_.begin();
    const NodeKind kind = *comparison_of(reader_.take().kind);
    reader_.count_operator();
    nodes_.push(left.node);
    const Read right = operand();
    if (!right) return right;
    nodes_.push(right->node);
    return Term{nodes_.finish(kind, mark)};
}

ConditionParser::Read ConditionParser::between(const Term& left) {
    const std::size_t mark = nodes_.begin();
    reader_.take();
    reader_.count_operator();
    nodes_.push(left.node);
    const Read lower = operand();
    if (!lower || !reader_.expect(TokenKind::word_and)) return std::nullopt;
    nodes_.push(lower->node);
    const Read upper = operand();
    if (!upper) return upper;
    nodes_.push(upper->node);
    return Term{nodes_.finish(NodeKind::between, mark)};
}

ConditionParser::Read ConditionParser::in(const Term& left) {
    const std::size_t mark = nodes_.begin();
    reader_.take();
    reader_.count_operator();
    nodes_.push(left.node);
    if (!reader_.expect(TokenKind::open) || !read_list()) return std::nullopt;
    return Term{nodes_.finish(NodeKind::in, mark)};
}

// Parses operands and the closing parenthesis.
bool ConditionParser::read_list() {
    do {
        const Read term = operand();
        if (!term) return false;
        nodes_.push(term->node);
    } while (reader_.take_if(TokenKind::comma));
    return reader_.expect(TokenKind::close);
}

ConditionParser::Read ConditionParser::operand() {
    if (reader_.at(TokenKind::open)) return operand_in_parentheses();
    if (reader_.at(TokenKind::value_placeholder)) {
        return Term{nodes_.add_value(*reader_.read_value()), Term::Role::operand};
    }
    if (reader_.at(TokenKind::identifier) && reader_.kind_of_next() == TokenKind::open) {
        return function();
    }
    const auto path = reader_.read_path();
    if (!path) return std::nullopt;
    return Term{nodes_.add_path(*path), Term::Role::operand};
}

ConditionParser::Read ConditionParser::operand_in_parentheses() {
    if (!reader_.descend()) return std::nullopt;
    reader_.take();
    Read term = operand();
    if (!term || !reader_.expect(TokenKind::close)) return std::nullopt;
    reader_.ascend();
    if (term->in_parentheses) reader_.report_redundant_parentheses();
    term->in_parentheses = true;
    return term;
}

ConditionParser::Read ConditionParser::function() {
    const std::size_t mark = nodes_.begin();
    const auto called = reader_.begin_function();
    if (!called) return std::nullopt;
    if (!read_list()) return std::nullopt;
    reader_.ascend();
    const NodeKind kind = called->kind;
    reader_.check_function(
        *called, kind != NodeKind::if_not_exists && kind != NodeKind::list_append, "a condition");
    return Term{nodes_.finish(kind, mark), Term::Role::function};
}

// Only size() can be used as an operand, and it cannot be used as a condition.
void ConditionParser::check_functions() {
    for (const Node& node : tree_.nodes) {
        if (node.kind != NodeKind::path && node.kind != NodeKind::value) check_parts(node);
    }
    if (tree_.nodes[tree_.root].kind == NodeKind::size) reader_.report_misused_function("size");
}

void ConditionParser::check_parts(const Node& node) {
    const bool joins = node.kind == NodeKind::all_of || node.kind == NodeKind::any_of ||
                       node.kind == NodeKind::negation;
    for (std::uint32_t i = 0; i < node.count; ++i) {
        const NodeKind part = tree_.operand(node, i).kind;
        const bool is_operand =
            part == NodeKind::path || part == NodeKind::value || part == NodeKind::size;
        if (is_operand == joins) reader_.report_misused_function(operator_name(part));
    }
}

}  // namespace

Result<ConditionTree> parse_condition(ExpressionKind kind, std::string_view text) {
    if (auto fault = unreadable(kind, text)) return *std::move(fault);
    ConditionTree tree;
    tree.kind = kind;
    tree.text = text;
    if (auto fault = ConditionParser(tree).parse()) return *std::move(fault);
    return tree;
}

}  // namespace rocklock::expression
