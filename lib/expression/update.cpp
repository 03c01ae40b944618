#include "expression/update.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "expression/computed.hpp"

namespace rocklock::expression {

namespace {

using ActionKind = UpdateAction::Kind;

Error missing_attribute() {
    return fault("The provided expression refers to an attribute that does not exist in the item");
}
Error wrong_type() {
    return fault("An operand in the update expression has an incorrect data type");
}
Error wrong_path() {
    return fault("The document path provided in the update expression is invalid for update");
}

// The effect of one action: sets the value at a path, or removes it if there is no value.
struct Change {
    Path path;
    std::optional<AttributeValue> value;
};

// Adds members to a set or removes them. Returns false if the values are not sets of this type.
// Sets `emptied` if the set is empty afterwards.
template <typename Set>
bool combine(AttributeValue& whole, const AttributeValue& part, ActionKind kind, bool& emptied) {
    auto* set = whole.get_if<Set>();
    const auto* other = part.get_if<Set>();
    if (!set || !other) return false;
    if (kind == ActionKind::add) {
        set->insert(*other);
    } else {
        set->remove(*other);
    }
    emptied = set->empty();
    return true;
}

class Updater {
public:
    Updater(const Update& update, const Item& item, bool existed)
        : update_(update),
          tree_(*update.tree),
          paths_(update.paths()),
          item_(item),
          existed_(existed) {}

    Result<Item> run();

private:
    Result<Computed> value(const Node& node) const;
    // As value(), but fails if the operand does not exist.
    Result<Computed> operand(const Node& node, std::uint32_t number) const;
    Result<Computed> arithmetic(const Node& node) const;
    Result<Computed> appended(const Node& node) const;
    std::optional<Error> decide(const UpdateAction& action);
    std::optional<Error> decide_set(const UpdateAction& action);
    std::optional<Error> decide_members(const UpdateAction& action);
    Result<AttributeValue> sum(const AttributeValue& old, const AttributeValue& added) const;
    Error type_mismatch() const {
        return tree_.legacy ? fault("Type mismatch for attribute to update") : wrong_type();
    }
    // Returns whether the value that contains the last step of the path exists and is a map or a
    // list, as the step requires.
    bool can_be_put(const Path& path) const;
    const AttributeValue* holder(const Path& path) const {
        return paths_.find(item_, {path.first, path.count - 1});
    }

    AttributeValue* find_for_change(Item& item, const Path& path) const;
    void put(Item& item, Change& change) const;
    void take_away(Item& item, const Path& path) const;

    const Update& update_;
    const UpdateTree& tree_;
    Paths paths_;
    const Item& item_;
    const bool existed_;
    std::vector<Change> changes_;
};

Result<Item> Updater::run() {
    changes_.reserve(tree_.actions.size());
    for (const UpdateAction& action : tree_.actions) {
        if (auto error = decide(action)) return *std::move(error);
    }
    std::sort(changes_.begin(), changes_.end(), [this](const Change& left, const Change& right) {
        return paths_.compare(left.path, right.path) == std::strong_ordering::less;
    });
    Item result = item_;
    // In ascending order, so that elements beyond the end of a list are appended in the order of
    // their indexes.
    for (Change& change : changes_) {
        if (change.value) put(result, change);
    }
    // In descending order, so that the indexes of the other elements do not change.
    std::reverse(changes_.begin(), changes_.end());
    for (const Change& change : changes_) {
        if (!change.value) take_away(result, change.path);
    }
    return result;
}

Result<Computed> Updater::value(const Node& node) const {
    switch (node.kind) {
        case NodeKind::path:
            return Computed(paths_.find(item_, UpdateTree::path_of(node)));
        case NodeKind::value:
            return Computed(update_.bindings.values[node.first]);
        case NodeKind::if_not_exists: {
            auto first = value(tree_.operand(node, 0));
            if (!first || first->get()) return first;
            return value(tree_.operand(node, 1));
        }
        case NodeKind::list_append:
            return appended(node);
        default:
            return arithmetic(node);
    }
}

Result<Computed> Updater::operand(const Node& node, std::uint32_t number) const {
    auto found = value(tree_.operand(node, number));
    if (found && !found->get()) return missing_attribute();
    return found;
}

Result<Computed> Updater::arithmetic(const Node& node) const {
    auto left = operand(node, 0);
    if (!left) return left;
    auto right = operand(node, 1);
    if (!right) return right;
    const auto* first = left->get()->get_if<Number>();
    const auto* second = right->get()->get_if<Number>();
    if (!first || !second) return wrong_type();
    auto result = node.kind == NodeKind::plus ? add(*first, *second) : subtract(*first, *second);
    if (!result) return std::move(result).error();
    return Computed(AttributeValue(*result));
}

Result<Computed> Updater::appended(const Node& node) const {
    auto left = operand(node, 0);
    if (!left) return left;
    auto right = operand(node, 1);
    if (!right) return right;
    const auto* tail = right->get()->get_if<AttributeList>();
    if (!left->get()->is<AttributeList>() || !tail) return wrong_type();
    AttributeValue whole = std::move(*left).take();
    auto& list = *whole.get_if<AttributeList>();
    list.insert(list.end(), tail->begin(), tail->end());
    return Computed(std::move(whole));
}

std::optional<Error> Updater::decide(const UpdateAction& action) {
    switch (action.kind) {
        case ActionKind::set:
            return decide_set(action);
        case ActionKind::add:
        case ActionKind::subtract:
            return decide_members(action);
        case ActionKind::remove:
            break;
    }
    // If the item does not exist, REMOVE has no effect.
    if (!existed_) return std::nullopt;
    if (!can_be_put(action.path)) return wrong_path();
    if (paths_.find(item_, action.path)) changes_.push_back({action.path, std::nullopt});
    return std::nullopt;
}

std::optional<Error> Updater::decide_set(const UpdateAction& action) {
    auto found = value(tree_.nodes[action.value]);
    if (!found) return std::move(found).error();
    if (!found->get()) return missing_attribute();
    if (!can_be_put(action.path)) return wrong_path();
    changes_.push_back({action.path, std::move(*found).take()});
    return std::nullopt;
}

std::optional<Error> Updater::decide_members(const UpdateAction& action) {
    const bool adds = action.kind == ActionKind::add;
    if (!adds && !existed_) return std::nullopt;
    if (!can_be_put(action.path)) return wrong_path();
    const AttributeValue& given = *update_.bindings.values[tree_.nodes[action.value].first];
    const AttributeValue* old = paths_.find(item_, action.path);
    if (!old) {
        if (adds) changes_.push_back({action.path, given});
        return std::nullopt;
    }
    if (adds && !old->is<StringSet>() && !old->is<NumberSet>() && !old->is<BinarySet>()) {
        auto result = sum(*old, given);
        if (!result) return std::move(result).error();
        changes_.push_back({action.path, *std::move(result)});
        return std::nullopt;
    }
    AttributeValue whole = *old;
    bool emptied = false;
    if (!combine<StringSet>(whole, given, action.kind, emptied) &&
        !combine<NumberSet>(whole, given, action.kind, emptied) &&
        !combine<BinarySet>(whole, given, action.kind, emptied)) {
        return type_mismatch();
    }
    if (emptied) {
        changes_.push_back({action.path, std::nullopt});
    } else {
        changes_.push_back({action.path, std::move(whole)});
    }
    return std::nullopt;
}

Result<AttributeValue> Updater::sum(const AttributeValue& old, const AttributeValue& added) const {
    const auto* first = old.get_if<Number>();
    const auto* second = added.get_if<Number>();
    if (first && second) {
        auto result = add(*first, *second);
        if (!result) return std::move(result).error();
        return AttributeValue(*result);
    }
    const auto* tail = added.get_if<AttributeList>();
    if (!tree_.legacy || !tail || !old.is<AttributeList>()) return type_mismatch();
    AttributeValue whole = old;
    auto& list = *whole.get_if<AttributeList>();
    list.insert(list.end(), tail->begin(), tail->end());
    return whole;
}

bool Updater::can_be_put(const Path& path) const {
    if (path.count == 1) return true;
    const AttributeValue* outer = holder(path);
    if (!outer) return false;
    const bool is_index = paths_.steps(path).back().kind == PathStep::Kind::index;
    return is_index ? outer->is<AttributeList>() : outer->is<AttributeMap>();
}

AttributeValue* Updater::find_for_change(Item& item, const Path& path) const {
    const auto steps = paths_.steps(path);
    AttributeValue* value = item.find(paths_.name(steps.front()));
    for (const PathStep& step : steps.subspan(1)) {
        if (step.kind == PathStep::Kind::index) {
            value = &(*value->get_if<AttributeList>())[step.number];
        } else {
            value = value->get_if<AttributeMap>()->find(paths_.name(step));
        }
    }
    return value;
}

void Updater::put(Item& item, Change& change) const {
    const PathStep& last = paths_.steps(change.path).back();
    if (change.path.count == 1) {
        item.set(paths_.name(last), *std::move(change.value));
        return;
    }
    AttributeValue& outer = *find_for_change(item, {change.path.first, change.path.count - 1});
    if (auto* map = outer.get_if<AttributeMap>()) {
        map->set(paths_.name(last), *std::move(change.value));
        return;
    }
    auto& list = *outer.get_if<AttributeList>();
    if (last.number < list.size()) {
        list[last.number] = *std::move(change.value);
    } else {
        list.push_back(*std::move(change.value));
    }
}

void Updater::take_away(Item& item, const Path& path) const {
    const PathStep& last = paths_.steps(path).back();
    if (path.count == 1) {
        item.erase(paths_.name(last));
        return;
    }
    AttributeValue& outer = *find_for_change(item, {path.first, path.count - 1});
    if (auto* map = outer.get_if<AttributeMap>()) {
        map->erase(paths_.name(last));
        return;
    }
    auto& list = *outer.get_if<AttributeList>();
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(last.number));
}

}  // namespace

Result<Item> apply(const Update& update, const Item& item, bool existed) {
    return Updater(update, item, existed).run();
}

}  // namespace rocklock::expression
