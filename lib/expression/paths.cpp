#include "expression/paths.hpp"

#include <algorithm>

namespace rocklock::expression {

const AttributeValue* member(const AttributeValue& value, const PathStep& step,
                             std::string_view name) {
    if (step.kind == PathStep::Kind::index) {
        const auto* list = value.get_if<AttributeList>();
        return list && step.number < list->size() ? &(*list)[step.number] : nullptr;
    }
    const auto* map = value.get_if<AttributeMap>();
    return map ? map->find(name) : nullptr;
}

std::string_view Paths::name(const PathStep& step) const {
    switch (step.kind) {
        case PathStep::Kind::name:
            return std::string_view(tree_.text).substr(step.begin, step.size);
        case PathStep::Kind::placeholder:
            return bindings_.names[step.number];
        case PathStep::Kind::index:
            break;
    }
    return {};
}

const AttributeValue* Paths::find(const Item& item, const Path& path) const {
    const auto all = steps(path);
    const AttributeValue* value = item.find(name(all.front()));
    for (const PathStep& step : all.subspan(1)) {
        if (!value) return nullptr;
        value = member(*value, step, name(step));
    }
    return value;
}

std::strong_ordering Paths::compare(const PathStep& left, const PathStep& right) const {
    const bool left_index = left.kind == PathStep::Kind::index;
    const bool right_index = right.kind == PathStep::Kind::index;
    if (left_index != right_index) return left_index <=> right_index;
    if (left_index) return left.number <=> right.number;
    return name(left) <=> name(right);
}

std::strong_ordering Paths::compare(const Path& left, const Path& right) const {
    const auto left_steps = steps(left);
    const auto right_steps = steps(right);
    return std::lexicographical_compare_three_way(
        left_steps.begin(), left_steps.end(), right_steps.begin(), right_steps.end(),
        [this](const PathStep& a, const PathStep& b) { return compare(a, b); });
}

std::string Paths::render(const Path& path) const {
    std::string text = "[";
    for (const PathStep& step : steps(path)) {
        if (text.size() > 1) text += ", ";
        if (step.kind == PathStep::Kind::index) {
            text += '[' + std::to_string(step.number) + ']';
        } else {
            text += name(step);
        }
    }
    return text + ']';
}

std::vector<Path> Paths::sorted(std::span<const Path> paths) const {
    std::vector<Path> result(paths.begin(), paths.end());
    std::sort(result.begin(), result.end(), [this](const Path& left, const Path& right) {
        return compare(left, right) == std::strong_ordering::less;
    });
    return result;
}

Paths::Relation Paths::relation(const Path& left, const Path& right) const {
    const auto left_steps = steps(left);
    const auto right_steps = steps(right);
    const std::size_t common = std::min(left_steps.size(), right_steps.size());
    for (std::size_t i = 0; i < common; ++i) {
        const bool left_index = left_steps[i].kind == PathStep::Kind::index;
        const bool right_index = right_steps[i].kind == PathStep::Kind::index;
        if (left_index != right_index) return Relation::conflict;
        if (compare(left_steps[i], right_steps[i]) != std::strong_ordering::equal) {
            return Relation::apart;
        }
    }
    return Relation::overlap;
}

// In sorted order, a path is directly before the paths of which it is a prefix, and names are
// directly before indexes at the same position. It is therefore sufficient to compare neighbours.
bool Paths::has_conflict(std::span<const Path> paths) const {
    if (paths.size() < 2) return false;
    const std::vector<Path> ordered = sorted(paths);
    return std::adjacent_find(ordered.begin(), ordered.end(),
                              [this](const Path& left, const Path& right) {
                                  return relation(left, right) != Relation::apart;
                              }) != ordered.end();
}

std::optional<std::string> Paths::first_pair(std::span<const Path> paths, Relation wanted) const {
    for (std::size_t second = 1; second < paths.size(); ++second) {
        for (std::size_t first = 0; first < second; ++first) {
            if (relation(paths[first], paths[second]) != wanted) continue;
            const std::string_view what = wanted == Relation::overlap ? "overlap" : "conflict";
            return "Two document paths " + std::string(what) +
                   " with each other; must remove or rewrite one of these paths; path one: " +
                   render(paths[first]) + ", path two: " + render(paths[second]);
        }
    }
    return std::nullopt;
}

std::optional<std::string> Paths::find_conflict(std::span<const Path> paths) const {
    if (!has_conflict(paths)) return std::nullopt;
    if (auto text = first_pair(paths, Relation::overlap)) return text;
    return first_pair(paths, Relation::conflict);
}

std::vector<std::string_view> nested_attributes(const OperandTree& tree, const Paths& paths) {
    std::vector<std::string_view> names;
    for (const Node& node : tree.nodes) {
        if (node.kind != NodeKind::path || node.count < 2) continue;
        names.push_back(paths.attribute(OperandTree::path_of(node)));
    }
    return names;
}

}  // namespace rocklock::expression
