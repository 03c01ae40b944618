#include "expression/parser.hpp"
#include "expression/text_reader.hpp"

namespace rocklock::expression {

namespace {

bool read_paths(TextReader& reader, ProjectionTree& tree) {
    do {
        const auto path = reader.read_path();
        if (!path) return false;
        tree.paths.push_back(*path);
    } while (reader.take_if(TokenKind::comma));
    return reader.at_end() || reader.fail_here();
}

}  // namespace

Result<ProjectionTree> parse_projection(std::string_view text) {
    if (auto fault = unreadable(ExpressionKind::projection, text)) return *std::move(fault);
    ProjectionTree tree;
    tree.kind = ExpressionKind::projection;
    tree.text = text;
    TextReader reader(tree);
    read_paths(reader, tree);
    if (auto fault = reader.first_fault()) return *std::move(fault);
    return tree;
}

}  // namespace rocklock::expression
