#include "expression/list_table.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include <boost/json/array.hpp>

#include "support/typed_json.hpp"
#include "wire/json/expression_json.hpp"

namespace rocklock::proof {

namespace {

using boost::json::object;
using boost::json::value;
using expression::RequestKind;

const std::map<std::string, RequestKind, std::less<>> kinds{
    {"GetItem", RequestKind::get},       {"PutItem", RequestKind::put},
    {"UpdateItem", RequestKind::update}, {"DeleteItem", RequestKind::remove},
    {"Query", RequestKind::query},       {"Scan", RequestKind::scan},
};

Outcome failed(std::string message) { return {std::move(message), {}, {}, 0}; }

// Returns a view of the name that stays valid, because key schemas borrow their names.
std::string_view kept(std::string name) {
    static std::set<std::string> names;
    return *names.insert(std::move(name)).first;
}

ListTable table_from_json(const object& request) {
    ListTable table;
    const auto type_of = [&](const std::string& name) {
        for (const value& definition : request.at("AttributeDefinitions").as_array()) {
            if (definition.at("AttributeName").as_string() != name) continue;
            return *parse_attribute_type(definition.at("AttributeType").as_string());
        }
        return AttributeType::string;
    };
    for (const value& key : request.at("KeySchema").as_array()) {
        const std::string name(key.at("AttributeName").as_string());
        if (key.at("KeyType").as_string() == "HASH") {
            table.schema.hash = {kept(name), type_of(name), KeyRole::hash};
        } else {
            table.schema.range = {kept(name), type_of(name), KeyRole::range};
        }
    }
    return table;
}

// Returns none if a member has the wrong type or an invalid value; expressions do not check that.
std::optional<ExpressionParameters> parameters_of(const object& request, RequestKind kind) {
    RequestFaults faults;
    auto parameters = read_parameters(MemberReader(request, {}, faults), kind);
    if (faults.first()) return std::nullopt;
    return parameters;
}

}  // namespace

std::string text_member(const object& json, std::string_view name, std::string otherwise) {
    const value* found = json.if_contains(name);
    return found && found->is_string() ? std::string(found->get_string()) : std::move(otherwise);
}

std::vector<std::string_view> ListTable::keys() const {
    std::vector<std::string_view> names{schema.hash.name};
    if (schema.range) names.emplace_back(schema.range->name);
    return names;
}

std::vector<Item>::iterator ListTable::find(const Item& key) {
    return std::find_if(items.begin(), items.end(), [&](const Item& item) {
        const auto names = keys();
        return std::all_of(names.begin(), names.end(), [&](std::string_view name) {
            const AttributeValue* wanted = key.find(name);
            return wanted && *item.find(name) == *wanted;
        });
    });
}

std::optional<Outcome> ListTables::play(const std::string& operation, const object& request) {
    const std::string name = text_member(request, "TableName");
    if (operation == "CreateTable") {
        tables_[name] = table_from_json(request);
        return Outcome{};
    }
    const auto kind = kinds.find(operation);
    if (kind == kinds.end()) return std::nullopt;
    const auto parameters = parameters_of(request, kind->second);
    if (!parameters) return std::nullopt;
    const auto read = expression::read_expressions(kind->second, *parameters);
    if (!read) return failed(read.error().message);
    if (tables_.count(name) == 0) return std::nullopt;
    table_ = &tables_[name];
    if (kind->second == Kind::get) return get(request, *read);
    if (kind->second == Kind::query || kind->second == Kind::scan) {
        return list(kind->second, request, *read);
    }
    return change(kind->second, request, *read);
}

std::optional<Outcome> ListTables::get(const object& request, const Expressions& read) {
    const auto key = item_from_json(request.at("Key"));
    if (!key) return std::nullopt;
    Outcome outcome;
    const auto found = table_->find(*key);
    if (found == table_->items.end()) return outcome;
    outcome.item = read.projection ? project(*read.projection, *found) : *found;
    return outcome;
}

std::optional<Outcome> ListTables::change(Kind kind, const object& request,
                                          const Expressions& read) {
    const auto key = item_from_json(request.at(kind == Kind::put ? "Item" : "Key"));
    if (!key) return std::nullopt;
    const auto found = table_->find(*key);
    const bool existed = found != table_->items.end();
    const Item old = existed ? *found : Item();
    const std::string wanted = text_member(request, "ReturnValues", "NONE");
    if (read.update) {
        const auto error = expression::check_keys(*read.update, table_->keys());
        if (error) return failed(error->message);
    }
    if (read.condition && !holds(*read.condition, old)) {
        return failed("The conditional request failed");
    }
    if (kind == Kind::update) return update(wanted, read, existed ? old : *key, existed);
    if (existed) table_->items.erase(found);
    if (kind == Kind::put) table_->items.push_back(*key);
    Outcome outcome;
    if (existed && wanted == "ALL_OLD") outcome.item = old;
    return outcome;
}

Outcome ListTables::update(const std::string& wanted, const Expressions& read, const Item& old,
                           bool existed) {
    Outcome outcome;
    Item result = old;
    if (read.update) {
        auto applied = apply(*read.update, old, existed);
        if (!applied) return failed(applied.error().message);
        if (!existed && only_takes_away(*read.update)) return outcome;
        result = *std::move(applied);
    }
    if (existed) table_->items.erase(table_->find(old));
    table_->items.push_back(result);
    if (wanted == "ALL_NEW") outcome.item = result;
    if (wanted == "ALL_OLD" && existed) outcome.item = old;
    if (read.update) {
        const expression::Projection touched = updated_paths(*read.update);
        if (wanted == "UPDATED_NEW") outcome.item = project(touched, result);
        if (wanted == "UPDATED_OLD") outcome.item = project(touched, old);
    }
    if (outcome.item && outcome.item->empty()) outcome.item.reset();
    return outcome;
}

std::optional<std::string> ListTables::read_range(
    const object& request, const Expressions& read,
    std::optional<expression::KeyRange>& range) const {
    auto found = expression::key_range(read.key_clauses, table_->schema);
    if (!found) return found.error().message;
    range = *std::move(found);
    if (!read.filter) return std::nullopt;
    const bool legacy = request.contains("QueryFilter");
    const auto error = check_filter(*read.filter, table_->schema, legacy);
    return error ? std::optional(error->message) : std::nullopt;
}

std::optional<Outcome> ListTables::list(Kind kind, const object& request,
                                        const Expressions& read) const {
    for (const auto* name : {"IndexName", "Limit", "ExclusiveStartKey", "Segment"}) {
        if (request.contains(name)) return std::nullopt;
    }
    std::optional<expression::KeyRange> range;
    if (kind == Kind::query) {
        if (auto error = read_range(request, read, range)) return failed(*std::move(error));
    }
    std::vector<Item> found = in_order(range);
    if (request.contains("ScanIndexForward") && !request.at("ScanIndexForward").as_bool()) {
        std::reverse(found.begin(), found.end());
    }
    Outcome outcome;
    std::erase_if(found,
                  [&](const Item& item) { return read.filter && !holds(*read.filter, item); });
    outcome.count = found.size();
    if (read.projection) {
        for (Item& item : found) item = project(*read.projection, item);
    }
    if (text_member(request, "Select") != "COUNT") outcome.items = std::move(found);
    return outcome;
}

// Returns the items in the range, sorted by range key. Without a range, returns all items.
std::vector<Item> ListTables::in_order(const std::optional<expression::KeyRange>& range) const {
    if (!range) return table_->items;
    const auto& schema = table_->schema;
    std::vector<Item> found;
    for (const Item& item : table_->items) {
        if (!(*item.find(schema.hash.name) == range->hash)) continue;
        if (schema.range && !range->contains(*item.find(schema.range->name))) continue;
        found.push_back(item);
    }
    if (!schema.range) return found;
    std::sort(found.begin(), found.end(), [&](const Item& left, const Item& right) {
        const auto order = compare(*left.find(schema.range->name), *right.find(schema.range->name));
        return order && *order < 0;
    });
    return found;
}

}  // namespace rocklock::proof
