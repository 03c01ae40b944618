// Parses updates by recursive descent:
//
//     sections := ( SET set (, set)* | REMOVE path (, path)* | ADD path :value (, path :value)* |
//                   DELETE path :value (, path :value)* )+
//     set      := path = value
//     value    := operand | operand + operand | operand - operand
//     operand  := path | :value | function | ( value )
//     function := name ( operand (, operand)* )
//
// Within the parentheses of a function, + and - are not allowed, and if_not_exists is the only
// function that can be an operand.
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "expression/parser.hpp"
#include "expression/text_reader.hpp"

namespace rocklock::expression {

namespace {

using ActionKind = UpdateAction::Kind;

struct Section {
    TokenKind word;
    ActionKind kind;
    std::string_view name;
};

constexpr std::array<Section, 4> sections{{
    {TokenKind::word_set, ActionKind::set, "SET"},
    {TokenKind::word_remove, ActionKind::remove, "REMOVE"},
    {TokenKind::word_add, ActionKind::add, "ADD"},
    {TokenKind::word_delete, ActionKind::subtract, "DELETE"},
}};

class UpdateParser {
public:
    explicit UpdateParser(UpdateTree& tree) : tree_(tree), reader_(tree), nodes_(tree) {
        tree_.nodes.reserve(8);
        tree_.operands.reserve(8);
    }

    std::optional<Error> parse() {
        while (read_section() && !reader_.at_end()) {
        }
        check_nested_functions();
        return reader_.first_fault();
    }

private:
    // The index of a node, or none after a syntax error.
    using Read = std::optional<std::uint32_t>;

    bool read_section();
    bool read_action(ActionKind kind);
    Read read_operand_of(ActionKind kind);
    Read value();
    Read operand();
    Read value_in_parentheses();
    Read function();
    void check_nested_functions();

    UpdateTree& tree_;
    TextReader reader_;
    NodeMaker nodes_;
    std::array<bool, sections.size()> seen_{};
    // The number of functions around the current token.
    int functions_ = 0;
};

bool UpdateParser::read_section() {
    for (const Section& section : sections) {
        if (!reader_.take_if(section.word)) continue;
        bool& seen = seen_[static_cast<std::size_t>(section.kind)];
        if (seen) reader_.report_repeated_section(section.name);
        seen = true;
        do {
            if (!read_action(section.kind)) return false;
        } while (reader_.take_if(TokenKind::comma));
        return true;
    }
    return reader_.fail_here();
}

bool UpdateParser::read_action(ActionKind kind) {
    const auto path = reader_.read_path();
    if (!path) return false;
    UpdateAction action{kind, *path};
    if (kind != ActionKind::remove) {
        const Read node = read_operand_of(kind);
        if (!node) return false;
        action.value = *node;
    }
    tree_.actions.push_back(action);
    return true;
}

UpdateParser::Read UpdateParser::read_operand_of(ActionKind kind) {
    if (kind == ActionKind::set) {
        if (!reader_.expect(TokenKind::equal)) return std::nullopt;
        return value();
    }
    const auto placeholder = reader_.read_value();
    if (!placeholder) return std::nullopt;
    return nodes_.add_value(*placeholder);
}

UpdateParser::Read UpdateParser::value() {
    const std::size_t mark = nodes_.begin();
    const Read left = operand();
    if (!left) return left;
    const bool plus = reader_.at(TokenKind::plus);
    if (!plus && !reader_.at(TokenKind::minus)) return left;
    if (functions_ > 0) {
        reader_.fail_here();
        return std::nullopt;
    }
    reader_.take();
    reader_.count_operator();
    nodes_.push(*left);
    const Read right = operand();
    if (!right) return right;
    nodes_.push(*right);
    return nodes_.finish(plus ? NodeKind::plus : NodeKind::minus, mark);
}

UpdateParser::Read UpdateParser::operand() {
    if (reader_.at(TokenKind::open)) return value_in_parentheses();
    if (reader_.at(TokenKind::value_placeholder)) return nodes_.add_value(*reader_.read_value());
    if (reader_.at(TokenKind::identifier) && reader_.kind_of_next() == TokenKind::open) {
        return function();
    }
    const auto path = reader_.read_path();
    if (!path) return std::nullopt;
    return nodes_.add_path(*path);
}

UpdateParser::Read UpdateParser::value_in_parentheses() {
    if (!reader_.descend()) return std::nullopt;
    reader_.take();
    const Read node = value();
    if (!node || !reader_.expect(TokenKind::close)) return std::nullopt;
    reader_.ascend();
    return node;
}

UpdateParser::Read UpdateParser::function() {
    const std::size_t mark = nodes_.begin();
    const auto called = reader_.begin_function();
    if (!called) return std::nullopt;
    ++functions_;
    do {
        const Read node = value();
        if (!node) return node;
        nodes_.push(*node);
    } while (reader_.take_if(TokenKind::comma));
    --functions_;
    if (!reader_.expect(TokenKind::close)) return std::nullopt;
    reader_.ascend();
    const NodeKind kind = called->kind;
    reader_.check_function(
        *called, kind == NodeKind::if_not_exists || kind == NodeKind::list_append, "an update");
    return nodes_.finish(kind, mark);
}

void UpdateParser::check_nested_functions() {
    for (const Node& node : tree_.nodes) {
        if (node.kind == NodeKind::path || node.kind == NodeKind::value) continue;
        for (std::uint32_t i = 0; i < node.count; ++i) {
            if (tree_.operand(node, i).kind == NodeKind::list_append) {
                reader_.report_misused_function(operator_name(NodeKind::list_append));
            }
        }
    }
}

}  // namespace

Result<UpdateTree> parse_update(std::string_view text) {
    if (auto fault = unreadable(ExpressionKind::update, text)) return *std::move(fault);
    UpdateTree tree;
    tree.kind = ExpressionKind::update;
    tree.text = text;
    if (auto fault = UpdateParser(tree).parse()) return *std::move(fault);
    return tree;
}

}  // namespace rocklock::expression
