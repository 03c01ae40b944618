// The words that represent the enumerators of table requests and answers in frames.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include <rocklock/items/table.hpp>

#include "wire/lock_words.hpp"

namespace rocklock {

inline constexpr Words<WriteItem::Kind, 4> words_of(WriteItem::Kind /*type*/) {
    using Kind = WriteItem::Kind;
    return {{{Kind::put, "put"},
             {Kind::update, "update"},
             {Kind::remove, "delete"},
             {Kind::check, "check"}}};
}

inline constexpr Words<ReturnValues, 5> words_of(ReturnValues /*type*/) {
    return {{{ReturnValues::none, "NONE"},
             {ReturnValues::all_old, "ALL_OLD"},
             {ReturnValues::updated_old, "UPDATED_OLD"},
             {ReturnValues::all_new, "ALL_NEW"},
             {ReturnValues::updated_new, "UPDATED_NEW"}}};
}

inline constexpr Words<ReturnCapacity, 3> words_of(ReturnCapacity /*type*/) {
    return {{{ReturnCapacity::none, "NONE"},
             {ReturnCapacity::total, "TOTAL"},
             {ReturnCapacity::indexes, "INDEXES"}}};
}

inline constexpr Words<Select, 4> words_of(Select /*type*/) {
    return {{{Select::all_attributes, "ALL_ATTRIBUTES"},
             {Select::all_projected_attributes, "ALL_PROJECTED_ATTRIBUTES"},
             {Select::count, "COUNT"},
             {Select::specific_attributes, "SPECIFIC_ATTRIBUTES"}}};
}

inline constexpr Words<ComparisonOperator, 13> words_of(ComparisonOperator /*type*/) {
    using Operator = ComparisonOperator;
    return {{{Operator::eq, "EQ"},
             {Operator::ne, "NE"},
             {Operator::le, "LE"},
             {Operator::lt, "LT"},
             {Operator::ge, "GE"},
             {Operator::gt, "GT"},
             {Operator::in, "IN"},
             {Operator::between, "BETWEEN"},
             {Operator::not_null, "NOT_NULL"},
             {Operator::null, "NULL"},
             {Operator::contains, "CONTAINS"},
             {Operator::not_contains, "NOT_CONTAINS"},
             {Operator::begins_with, "BEGINS_WITH"}}};
}

inline constexpr Words<ConditionalOperator, 2> words_of(ConditionalOperator /*type*/) {
    return {{{ConditionalOperator::all, "AND"}, {ConditionalOperator::any, "OR"}}};
}

inline constexpr Words<AttributeUpdate::Action, 3> words_of(AttributeUpdate::Action /*type*/) {
    using Action = AttributeUpdate::Action;
    return {{{Action::put, "PUT"}, {Action::add, "ADD"}, {Action::remove, "DELETE"}}};
}

inline constexpr Words<AttributeType, 10> words_of(AttributeType /*type*/) {
    using Type = AttributeType;
    return {{{Type::string, "S"},
             {Type::number, "N"},
             {Type::binary, "B"},
             {Type::boolean, "BOOL"},
             {Type::null, "NULL"},
             {Type::list, "L"},
             {Type::map, "M"},
             {Type::string_set, "SS"},
             {Type::number_set, "NS"},
             {Type::binary_set, "BS"}}};
}

inline constexpr Words<KeyType, 2> words_of(KeyType /*type*/) {
    return {{{KeyType::hash, "HASH"}, {KeyType::range, "RANGE"}}};
}

inline constexpr Words<ProjectionType, 3> words_of(ProjectionType /*type*/) {
    return {{{ProjectionType::keys_only, "KEYS_ONLY"},
             {ProjectionType::include, "INCLUDE"},
             {ProjectionType::all, "ALL"}}};
}

inline constexpr Words<BillingMode, 2> words_of(BillingMode /*type*/) {
    return {{{BillingMode::provisioned, "PROVISIONED"},
             {BillingMode::pay_per_request, "PAY_PER_REQUEST"}}};
}

inline constexpr Words<TableClass, 2> words_of(TableClass /*type*/) {
    return {{{TableClass::standard, "STANDARD"},
             {TableClass::standard_infrequent_access, "STANDARD_INFREQUENT_ACCESS"}}};
}

inline constexpr Words<IndexStatus, 3> words_of(IndexStatus /*type*/) {
    return {{{IndexStatus::creating, "CREATING"},
             {IndexStatus::active, "ACTIVE"},
             {IndexStatus::deleting, "DELETING"}}};
}

}  // namespace rocklock
