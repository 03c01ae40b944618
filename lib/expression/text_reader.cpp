#include "expression/text_reader.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "expression/parser.hpp"
#include "expression/reserved_words.hpp"

namespace rocklock::expression {

namespace {

// The maximum nesting of a valid expression: each level has an operator, or is a pair of
// parentheses around a level that has one.
constexpr std::size_t max_depth = 2 * max_operators + 2;

constexpr auto functions = std::to_array<std::pair<std::string_view, NodeKind>>({
    {"attribute_exists", NodeKind::attribute_exists},
    {"attribute_not_exists", NodeKind::attribute_not_exists},
    {"attribute_type", NodeKind::attribute_type},
    {"begins_with", NodeKind::begins_with},
    {"contains", NodeKind::contains},
    {"size", NodeKind::size},
    {"if_not_exists", NodeKind::if_not_exists},
    {"list_append", NodeKind::list_append},
});

}  // namespace

NodeKind function_named(std::string_view name) {
    for (const auto& [known, kind] : functions) {
        if (known == name) return kind;
    }
    return NodeKind::unknown_function;
}

std::string_view operator_name(NodeKind kind) {
    switch (kind) {
        case NodeKind::plus:
            return "+";
        case NodeKind::minus:
            return "-";
        case NodeKind::equal:
            return "=";
        case NodeKind::not_equal:
            return "<>";
        case NodeKind::less:
            return "<";
        case NodeKind::less_or_equal:
            return "<=";
        case NodeKind::greater:
            return ">";
        case NodeKind::greater_or_equal:
            return ">=";
        case NodeKind::between:
            return "BETWEEN";
        case NodeKind::in:
            return "IN";
        default:
            break;
    }
    for (const auto& [name, function] : functions) {
        if (function == kind) return name;
    }
    return {};
}

std::optional<Error> unreadable(ExpressionKind kind, std::string_view text) {
    if (text.size() > max_expression_bytes) {
        return fault_in(kind,
                        "Expression size has exceeded the maximum allowed size; expression size: " +
                            std::to_string(text.size()));
    }
    if (next_token(text, 0).kind == TokenKind::end) {
        return fault_in(kind, "The expression can not be empty;");
    }
    return std::nullopt;
}

TextReader::TextReader(Tree& tree) : tree_(tree), current_(next_token(tree.text, 0)) {
    // Sufficient for most texts.
    tree_.steps.reserve(8);
    tree_.values.reserve(4);
}

Token TextReader::take() {
    previous_ = current_;
    current_ = next_token(tree_.text, current_.end());
    return previous_;
}

bool TextReader::take_if(TokenKind kind) {
    if (!at(kind)) return false;
    take();
    return true;
}

bool TextReader::expect(TokenKind kind) { return take_if(kind) || fail_here(); }

bool TextReader::fail_here() {
    const bool first = previous_.size == 0;
    const Token next = next_token(tree_.text, current_.end());
    const std::uint32_t begin = first ? current_.begin : previous_.begin;
    const Token& last = at_end() ? previous_ : next.kind == TokenKind::end ? current_ : next;
    const std::string_view near = std::string_view(tree_.text).substr(begin, last.end() - begin);
    const std::string_view token = at_end() ? "<EOF>" : text_of(current_);
    keep(syntax_, "Syntax error; token: \"" + std::string(token) + "\", near: \"" +
                      std::string(near) + "\"");
    return false;
}

bool TextReader::descend() {
    if (++depth_ <= max_depth) return true;
    nesting_limit_exceeded_ = true;
    return false;
}

std::optional<Path> TextReader::read_path() {
    Path path{static_cast<std::uint32_t>(tree_.steps.size()), 0};
    if (!read_name()) return std::nullopt;
    for (;;) {
        if (take_if(TokenKind::dot)) {
            if (!read_name()) return std::nullopt;
        } else if (take_if(TokenKind::open_index)) {
            if (!read_index()) return std::nullopt;
        } else {
            break;
        }
    }
    path.count = static_cast<std::uint32_t>(tree_.steps.size()) - path.first;
    check_depth(path);
    return path;
}

bool TextReader::read_name() {
    if (at(TokenKind::name_placeholder)) {
        const Token token = take();
        const auto number = static_cast<std::uint32_t>(tree_.names.size());
        tree_.names.push_back({token.begin, token.size});
        tree_.steps.push_back({PathStep::Kind::placeholder, number, token.begin, token.size});
        return true;
    }
    if (!at(TokenKind::identifier)) return fail_here();
    const Token token = take();
    const std::string_view name = text_of(token);
    if (!reserved_word_ && is_reserved_word(name)) {
        reserved_word_ =
            "Attribute name is a reserved keyword; reserved keyword: " + std::string(name);
    }
    tree_.steps.push_back({PathStep::Kind::name, 0, token.begin, token.size});
    return true;
}

bool TextReader::read_index() {
    if (!at(TokenKind::integer)) return fail_here();
    const std::string_view digits = text_of(take());
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc{} ||
        number > static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max())) {
        keep(wrong_index_,
             "List index is not within the allowable range; index: [" + std::string(digits) + "]");
    }
    tree_.steps.push_back({PathStep::Kind::index, number, 0, 0});
    return expect(TokenKind::close_index);
}

void TextReader::check_depth(const Path& path) {
    if (path.count <= max_path_steps) return;
    keep(too_deep_, "The document path has too many nesting levels; nesting levels: " +
                        std::to_string(path.count));
}

std::optional<Placeholder> TextReader::read_value() {
    if (!at(TokenKind::value_placeholder)) {
        fail_here();
        return std::nullopt;
    }
    const Token token = take();
    return Placeholder{token.begin, token.size};
}

std::optional<TextReader::Function> TextReader::begin_function() {
    if (!descend()) return std::nullopt;
    const std::string_view name = text_of(take());
    count_operator();
    take();
    return Function{function_named(name), name};
}

void TextReader::check_function(const Function& function, bool allowed,
                                std::string_view expression) {
    const std::string shown = " function: " + std::string(function.name);
    if (function.kind == NodeKind::unknown_function) {
        keep(wrong_function_, "Invalid function name;" + shown);
    } else if (!allowed) {
        keep(wrong_function_,
             "The function is not allowed in " + std::string(expression) + " expression;" + shown);
    }
}

void TextReader::report_misused_function(std::string_view name) {
    keep(misused_function_,
         "The function is not allowed to be used this way in an expression; function: " +
             std::string(name));
}

void TextReader::report_repeated_section(std::string_view name) {
    keep(repeated_section_, "The \"" + std::string(name) +
                                "\" section can only be used once in an update expression;");
}

std::optional<Error> TextReader::first_fault() const {
    const bool too_many = operators_ > max_operators;
    if (syntax_) return fault_in(tree_.kind, *syntax_);
    if (redundant_parentheses_ || (nesting_limit_exceeded_ && !too_many)) {
        return fault_in(tree_.kind, "The expression has redundant parentheses;");
    }
    const bool update = tree_.kind == ExpressionKind::update;
    for (const auto* remembered : {update ? &reserved_word_ : &wrong_function_,
                                   update ? &wrong_function_ : &misused_function_,
                                   update ? &misused_function_ : &wrong_index_, &wrong_index_,
                                   &reserved_word_, &too_deep_, &repeated_section_}) {
        if (*remembered) return fault_in(tree_.kind, **remembered);
    }
    if (too_many) {
        return fault_in(tree_.kind, "The expression contains too many operators; operator count: " +
                                        std::to_string(operators_));
    }
    return std::nullopt;
}

std::uint32_t NodeMaker::add(Node node) {
    tree_.nodes.push_back(node);
    return static_cast<std::uint32_t>(tree_.nodes.size() - 1);
}

std::uint32_t NodeMaker::add_value(const Placeholder& placeholder) {
    tree_.values.push_back(placeholder);
    return add({NodeKind::value, static_cast<std::uint32_t>(tree_.values.size() - 1), 0});
}

std::uint32_t NodeMaker::finish(NodeKind kind, std::size_t mark) {
    const auto first = static_cast<std::uint32_t>(tree_.operands.size());
    const auto count = static_cast<std::uint32_t>(waiting_.size() - mark);
    tree_.operands.insert(tree_.operands.end(),
                          waiting_.begin() + static_cast<std::ptrdiff_t>(mark), waiting_.end());
    waiting_.resize(mark);
    return add({kind, first, count});
}

}  // namespace rocklock::expression
