#include "expression/projection.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "expression/operand_check.hpp"

namespace rocklock::expression {

namespace {

class Projector {
public:
    explicit Projector(const Projection& projection) : paths_(projection.paths()) {}

    // Returns the attributes of the map to which the paths lead. The first `depth` steps of the
    // paths are equal.
    std::vector<Attribute> of_map(const AttributeMap& map, std::span<const Path> paths,
                                  std::size_t depth) const {
        std::vector<Attribute> attributes;
        each_group(paths, depth, [&](const PathStep& step, std::span<const Path> group) {
            const std::string_view name = paths_.name(step);
            const bool named = step.kind != PathStep::Kind::index;
            const AttributeValue* value = named ? map.find(name) : nullptr;
            auto part = value ? of_value(*value, group, depth + 1) : std::nullopt;
            if (part) attributes.push_back({std::string(name), *std::move(part)});
        });
        return attributes;
    }

private:
    std::optional<AttributeValue> of_value(const AttributeValue& value, std::span<const Path> paths,
                                           std::size_t depth) const {
        if (paths.front().count == depth) return value;
        if (const auto* map = value.get_if<AttributeMap>()) {
            auto attributes = of_map(*map, paths, depth);
            if (attributes.empty()) return std::nullopt;
            return AttributeValue(AttributeMap(std::move(attributes)));
        }
        const auto* list = value.get_if<AttributeList>();
        return list ? of_list(*list, paths, depth) : std::nullopt;
    }

    std::optional<AttributeValue> of_list(const AttributeList& list, std::span<const Path> paths,
                                          std::size_t depth) const {
        AttributeList elements;
        each_group(paths, depth, [&](const PathStep& step, std::span<const Path> group) {
            if (step.kind != PathStep::Kind::index || step.number >= list.size()) return;
            auto part = of_value(list[step.number], group, depth + 1);
            if (part) elements.push_back(*std::move(part));
        });
        if (elements.empty()) return std::nullopt;
        return AttributeValue(std::move(elements));
    }

    // Groups the paths by their step at `depth`, and calls the callback for each group.
    template <typename Callback>
    void each_group(std::span<const Path> paths, std::size_t depth, Callback callback) const {
        while (!paths.empty()) {
            const PathStep& step = paths_.steps(paths.front())[depth];
            const auto end = std::find_if(paths.begin() + 1, paths.end(), [&](const Path& path) {
                return paths_.compare(paths_.steps(path)[depth], step) !=
                       std::strong_ordering::equal;
            });
            const auto size = static_cast<std::size_t>(end - paths.begin());
            callback(step, paths.first(size));
            paths = paths.subspan(size);
        }
    }

    Paths paths_;
};

}  // namespace

Result<Projection> bind_projection(const std::shared_ptr<const ProjectionTree>& tree,
                                   Binder& binder) {
    Projection projection{tree, {}, {}};
    projection.bindings.names.resize(tree->names.size());
    for (const Path& path : tree->paths) {
        const auto text = bind_names(*tree, path, projection.bindings, binder);
        if (text) return fault_in(tree->kind, *text);
    }
    const auto text = projection.paths().find_conflict(tree->paths);
    if (text) return fault_in(tree->kind, *text);
    projection.ordered = projection.paths().sorted(tree->paths);
    return projection;
}

Item project(const Projection& projection, const Item& item) {
    return Item(Projector(projection).of_map(item, projection.ordered, 0));
}

std::vector<std::string_view> attributes(const Projection& projection) {
    const Paths paths = projection.paths();
    std::vector<std::string_view> names;
    for (const Path& path : projection.ordered) {
        const std::string_view name = paths.attribute(path);
        if (names.empty() || names.back() != name) names.push_back(name);
    }
    return names;
}

std::vector<std::string_view> nested_attributes(const Projection& projection) {
    const Paths paths = projection.paths();
    std::vector<std::string_view> names;
    for (const Path& path : projection.ordered) {
        if (path.count > 1) names.push_back(paths.attribute(path));
    }
    return names;
}

}  // namespace rocklock::expression
