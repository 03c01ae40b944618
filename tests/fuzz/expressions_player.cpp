#include "fuzz/expressions_player.hpp"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "expression/request.hpp"
#include "fuzz/promise.hpp"
#include "item/item_codec.hpp"
#include "item/item_limits.hpp"
#include "lock/model/names.hpp"

namespace rocklock {
namespace {

using expression::RequestExpressions;
using expression::RequestKind;

AttributeValue number_of(std::string_view text) { return Number::parse(text).value(); }

template <typename Member>
AttributeValue set_of(std::vector<Member> members) {
    return AttributeSet<Member>::make(std::move(members)).value();
}

// One value of each type, and values that some operators treat specially.
std::vector<ValuePlaceholder> known_values() {
    return {
        {":s", "text"},
        {":e", ""},
        {":n", number_of("5")},
        {":h", number_of("9.9999999999999999999999999999999999999E+125")},
        {":b", Binary{"bytes"}},
        {":t", true},
        {":u", Null{}},
        {":l", AttributeValue(AttributeList{"one", number_of("2")})},
        {":m", AttributeMap{{"a", "deep"}}},
        {":ss", set_of<std::string>({"a", "b"})},
        {":ns", set_of<Number>({Number::parse("1").value(), Number::parse("2").value()})},
        {":bs", set_of<Binary>({Binary{"x"}})},
        // An operand of attribute_type().
        {":T", "SS"},
    };
}

std::vector<NamePlaceholder> known_names() {
    return {{"#s", "s"}, {"#n", "n"}, {"#m", "m"}, {"#l", "l"}, {"#d", "a.b"}, {"#r", "size"}};
}

Item whole_item() {
    Item item;
    for (auto& value : known_values()) item.set(value.placeholder.substr(1), value.value);
    AttributeMap nested{{"x", AttributeValue(AttributeList{AttributeMap{{"y", "z"}}, "w"})}};
    item.set("m", AttributeMap{{"a", std::move(nested)}, {"b", number_of("-1")}});
    item.set("l", AttributeValue(AttributeList{"0", "1", AttributeValue(AttributeList{"2.0"})}));
    item.set("a.b", "a name with a dot");
    item.set("size", number_of("3"));
    item.set("pk", "key");
    item.set("sk", number_of("7"));
    return item;
}

// Returns the placeholders that occur in the text. A defined but unused placeholder would be an
// error.
template <typename Placeholder>
std::optional<std::vector<Placeholder>> named_in(std::string_view text,
                                                 std::vector<Placeholder> all) {
    std::erase_if(all, [text](const Placeholder& one) {
        return text.find(one.placeholder) == std::string_view::npos;
    });
    if (all.empty()) return std::nullopt;
    return all;
}

struct RequestPart {
    RequestKind kind;
    std::optional<std::string> ExpressionParameters::*expression;
};

constexpr std::array<RequestPart, 5> parts = {{
    {RequestKind::put, &ExpressionParameters::condition},
    {RequestKind::update, &ExpressionParameters::update},
    {RequestKind::query, &ExpressionParameters::key_condition},
    {RequestKind::scan, &ExpressionParameters::filter},
    {RequestKind::get, &ExpressionParameters::projection},
}};

void require_stored(const Item& item) {
    std::string bytes;
    append_item(bytes, item);
    const auto again = decode_item(bytes);
    require(again.has_value() && *again == item, "an item can be stored");
}

// Checks the negated condition, if it is valid: it has an additional operator and parentheses.
void require_opposite(const ExpressionParameters& parameters, bool held, const Item& item) {
    ExpressionParameters opposite = parameters;
    opposite.condition = "NOT (" + *parameters.condition + ")";
    const auto read = read_expressions(RequestKind::put, opposite);
    if (read) require(holds(*read->condition, item) != held, "NOT is the opposite");
}

void use(const RequestExpressions& read, const ExpressionParameters& parameters, const Item& item,
         bool existed) {
    if (read.condition) {
        require_opposite(parameters, holds(*read.condition, item), item);
        static_cast<void>(attributes(*read.condition));
    }
    if (read.filter) static_cast<void>(holds(*read.filter, item));
    if (read.projection) {
        const auto part = project(*read.projection, item);
        require(part.size() <= item.size(), "a projection adds nothing");
        require_stored(part);
    }
    if (!read.key_clauses.empty()) {
        const expression::KeySchema schema{
            {"pk", AttributeType::string},
            KeyAttribute{"sk", AttributeType::number, KeyRole::range}};
        const auto range = key_range(read.key_clauses, schema);
        if (range) static_cast<void>(range->contains(*item.find("sk")));
    }
    if (!read.update) return;
    const auto after = apply(*read.update, item, existed);
    if (!after) return require_fault(after.error());
    require_stored(*after);
    const auto paths = updated_paths(*read.update);
    require_stored(project(paths, *after));
    require_stored(project(paths, item));
}

}  // namespace

void play_expressions(std::string_view input) {
    if (input.empty()) return;
    const auto& part = parts.at(static_cast<unsigned char>(input.front()) % parts.size());
    const std::string text(input.substr(1));
    // Texts from JSON are always UTF-8.
    if (!is_utf8(text)) return;

    ExpressionParameters parameters;
    parameters.*part.expression = text;
    parameters.placeholders = {named_in(text, known_names()), named_in(text, known_values())};
    const auto read = read_expressions(part.kind, parameters);
    if (!read) return require_fault(read.error());

    use(*read, parameters, whole_item(), true);
    use(*read, parameters, Item{{"pk", "key"}, {"sk", number_of("7")}}, false);
}

}  // namespace rocklock
