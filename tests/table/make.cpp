#include "table/make.hpp"

#include <algorithm>
#include <thread>
#include <vector>

namespace rocklock::proof {

namespace {

// Parses "pk S".
AttributeDefinition definition(std::string_view text) {
    const auto blank = text.find(' ');
    return {std::string(text.substr(0, blank)), *parse_attribute_type(text.substr(blank + 1))};
}

std::vector<KeyElement> key_of(std::vector<AttributeDefinition>& definitions, std::string_view hash,
                               std::string_view range) {
    std::vector<KeyElement> key;
    for (const auto text : {hash, range}) {
        if (text.empty()) continue;
        const auto attribute = definition(text);
        key.push_back({attribute.name, key.empty() ? KeyType::hash : KeyType::range});
        if (std::find(definitions.begin(), definitions.end(), attribute) == definitions.end()) {
            definitions.push_back(attribute);
        }
    }
    return key;
}

}  // namespace

std::size_t Tables::rows(Family family) const {
    std::size_t count = 0;
    const auto snapshot = storage->snapshot();
    for (auto at = snapshot->scan(family, "", ""); at->valid(); at->next()) ++count;
    return count;
}

CreateTable table_of(std::string name, std::string_view hash, std::string_view range) {
    CreateTable table;
    table.table = std::move(name);
    table.billing = BillingMode::pay_per_request;
    table.key = key_of(table.attributes, hash, range);
    return table;
}

void add_index(CreateTable& table, std::string name, std::string_view hash,
               std::string_view range) {
    SecondaryIndex index;
    index.name = std::move(name);
    index.key = key_of(table.attributes, hash, range);
    index.projection = IndexProjection{ProjectionType::all, {}};
    if (!table.global_indexes) table.global_indexes.emplace();
    table.global_indexes->push_back(std::move(index));
}

AttributeValue number(std::int64_t value) { return Number(value); }

WriteItem put(std::string table, Item item) {
    WriteItem write;
    write.table = std::move(table);
    write.item = std::move(item);
    return write;
}

WriteItem remove(std::string table, Item key) {
    WriteItem write = put(std::move(table), std::move(key));
    write.kind = WriteItem::Kind::remove;
    return write;
}

WriteItem update(std::string table, Item key, std::string expression,
                 std::vector<ValuePlaceholder> values) {
    WriteItem write = put(std::move(table), std::move(key));
    write.kind = WriteItem::Kind::update;
    write.expressions.update = std::move(expression);
    if (!values.empty()) write.expressions.placeholders.values = std::move(values);
    return write;
}

WriteItem provided(WriteItem write, std::string condition, std::vector<ValuePlaceholder> values) {
    write.expressions.condition = std::move(condition);
    for (auto& value : values) {
        auto& all = write.expressions.placeholders.values;
        if (!all) all.emplace();
        all->push_back(std::move(value));
    }
    return write;
}

GetItem get(std::string table, Item key) {
    GetItem request;
    request.table = std::move(table);
    request.key = std::move(key);
    return request;
}

void in_threads(int count, const std::function<void(int)>& work) {
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) threads.emplace_back(work, i);
    for (auto& thread : threads) thread.join();
}

std::string error_text(const Error& error) {
    return std::string(to_string(error.code)) + ": " + error.message;
}

}  // namespace rocklock::proof
