// The stored record of a table's definition: an item with the attribute names below.
#include <array>
#include <utility>

#include "table/schema/layout.hpp"
#include "table/schema/schema.hpp"

namespace rocklock::table {
namespace {

AttributeValue whole(std::int64_t value) { return Number(value); }

AttributeValue encode_attribute(const AttributeDefinition& attribute) {
    return AttributeMap{{"name", attribute.name}, {"type", std::string(to_string(attribute.type))}};
}

void encode_key(AttributeMap& out, const KeyParts& key) {
    out.set("hash", encode_attribute(key.hash));
    if (key.range) out.set("range", encode_attribute(*key.range));
}

void encode_throughput(AttributeMap& out, const ProvisionedThroughput& throughput) {
    out.set("read_units", whole(throughput.read_units));
    out.set("write_units", whole(throughput.write_units));
}

// Encodes the units that are set, under the name with the suffix "_read" or "_write".
template <typename Units>
void encode_units(AttributeMap& out, const std::string& name, const Units& read,
                  const Units& write) {
    if (read) out.set(name + "_read", whole(*read));
    if (write) out.set(name + "_write", whole(*write));
}

void encode_settings(AttributeMap& out, const OnDemandThroughput& on_demand,
                     const WarmThroughput& warm) {
    encode_units(out, "most", on_demand.max_read_units, on_demand.max_write_units);
    encode_units(out, "warm", warm.read_units, warm.write_units);
}

AttributeValue encode_index(const IndexSchema& index) {
    AttributeMap out{
        {"number", whole(index.number)},
        {"local", index.kind == IndexKind::local},
        {"name", index.name},
        {"projection", whole(static_cast<std::int64_t>(*index.projection.type))},
        {"active", index.status == IndexStatus::active},
    };
    encode_key(out, index.key);
    encode_throughput(out, index.throughput);
    encode_settings(out, index.on_demand, index.warm);
    if (index.projection.non_key_attributes) {
        AttributeList names;
        for (const auto& name : *index.projection.non_key_attributes) names.emplace_back(name);
        out.set("attributes", AttributeValue(std::move(names)));
    }
    return out;
}

// Reads the members of a map. If a member is invalid, sets `damaged` and returns a default value.
class RecordReader {
public:
    explicit RecordReader(bool& damaged) : damaged_(damaged) {}

    template <typename T>
    T get(const AttributeMap& map, std::string_view name) {
        const auto* value = map.find(name);
        const T* found = value ? value->get_if<T>() : nullptr;
        if (!found) damaged_ = true;
        return found ? *found : T();
    }
    std::int64_t whole(const AttributeMap& map, std::string_view name, std::int64_t last) {
        const auto number = get<Number>(map, name).to_int64();
        if (!number || *number < 0 || *number > last) damaged_ = true;
        return damaged_ ? 0 : *number;
    }
    AttributeDefinition attribute(const AttributeMap& map) {
        const auto type = parse_attribute_type(get<std::string>(map, "type"));
        if (!type || *type > AttributeType::binary) damaged_ = true;
        return {get<std::string>(map, "name"), type.value_or(AttributeType::string)};
    }
    KeyParts key(const AttributeMap& map) {
        KeyParts parts{attribute(get<AttributeMap>(map, "hash")), {}};
        if (map.contains("range")) parts.range = attribute(get<AttributeMap>(map, "range"));
        return parts;
    }
    ProvisionedThroughput throughput(const AttributeMap& map) {
        return {whole(map, "read_units", INT64_MAX), whole(map, "write_units", INT64_MAX)};
    }
    std::optional<std::int64_t> units(const AttributeMap& map, std::string_view name) {
        if (!map.contains(name)) return std::nullopt;
        return whole(map, name, INT64_MAX);
    }
    OnDemandThroughput on_demand(const AttributeMap& map) {
        return {units(map, "most_read"), units(map, "most_write")};
    }
    WarmThroughput warm(const AttributeMap& map) {
        return {units(map, "warm_read"), units(map, "warm_write")};
    }
    IndexSchema index(const AttributeMap& map) {
        IndexSchema index;
        index.number = static_cast<std::uint16_t>(whole(map, "number", UINT16_MAX));
        index.kind = get<bool>(map, "local") ? IndexKind::local : IndexKind::global;
        index.name = get<std::string>(map, "name");
        index.key = key(map);
        index.projection.type = static_cast<ProjectionType>(
            whole(map, "projection", static_cast<std::int64_t>(ProjectionType::all)));
        if (map.contains("attributes")) {
            auto& names = index.projection.non_key_attributes.emplace();
            for (const auto& name : get<AttributeList>(map, "attributes")) {
                const auto* text = name.get_if<std::string>();
                if (!text) damaged_ = true;
                if (text) names.push_back(*text);
            }
        }
        index.throughput = throughput(map);
        index.on_demand = on_demand(map);
        index.warm = warm(map);
        index.status = get<bool>(map, "active") ? IndexStatus::active : IndexStatus::creating;
        return index;
    }
    std::map<std::string, std::string> tags(const AttributeMap& map) {
        std::map<std::string, std::string> tags;
        for (const auto& [name, value] : map) {
            const auto* text = value.get_if<std::string>();
            if (!text) damaged_ = true;
            if (text) tags.emplace(name, *text);
        }
        return tags;
    }

private:
    bool& damaged_;
};

// Records from older versions do not contain the time. The table has then been on demand since its
// creation.
void read_on_demand_since(const AttributeMap& map, RecordReader& reader, Schema& schema) {
    if (map.contains("on_demand_since")) {
        schema.on_demand_since =
            WallTime(std::chrono::milliseconds(reader.whole(map, "on_demand_since", INT64_MAX)));
    } else if (schema.billing == BillingMode::pay_per_request) {
        schema.on_demand_since = schema.created_at;
    }
}

}  // namespace

std::string encode_schema(const Schema& schema) {
    AttributeMap out{
        {"number", whole(schema.number)},
        {"id", schema.id},
        {"created", whole(schema.created_at.time_since_epoch().count())},
        {"on_demand", schema.billing == BillingMode::pay_per_request},
        {"protected", schema.deletion_protection},
        {"next_index", whole(schema.next_index)},
    };
    encode_key(out, schema.key);
    encode_throughput(out, schema.throughput);
    encode_settings(out, schema.on_demand, schema.warm);
    if (schema.on_demand_since) {
        out.set("on_demand_since", whole(schema.on_demand_since->time_since_epoch().count()));
    }
    if (schema.encryption.enabled) out.set("key", schema.encryption.key.value_or(""));
    AttributeList indexes;
    for (const IndexSchema& index : schema.indexes) indexes.push_back(encode_index(index));
    out.set("indexes", AttributeValue(std::move(indexes)));
    AttributeMap tags;
    for (const auto& [name, value] : schema.tags) tags.set(name, value);
    out.set("tags", AttributeValue(std::move(tags)));
    if (schema.table_class) {
        out.set("infrequent", *schema.table_class == TableClass::standard_infrequent_access);
    }
    if (!schema.ttl_attribute.empty()) out.set("expires", schema.ttl_attribute);
    if (schema.binding) {
        out.set("bound", schema.binding->resource.text());
        out.set("strict", schema.binding->strict);
    }
    if (schema.user) out.set("user", whole(*schema.user));
    return encode_stored(schema.version, out);
}

Result<Schema> decode_schema(std::string_view table, std::string_view value) {
    auto stored = decode_stored(value);
    if (!stored) return std::move(stored).error();
    const AttributeMap& map = stored->item;
    bool damaged = false;
    RecordReader reader(damaged);
    Schema schema;
    schema.version = stored->version;
    schema.name = table;
    schema.number = static_cast<std::uint32_t>(reader.whole(map, "number", UINT32_MAX));
    schema.id = reader.get<std::string>(map, "id");
    schema.created_at =
        WallTime(std::chrono::milliseconds(reader.whole(map, "created", INT64_MAX)));
    schema.key = reader.key(map);
    schema.billing = reader.get<bool>(map, "on_demand") ? BillingMode::pay_per_request
                                                        : BillingMode::provisioned;
    schema.throughput = reader.throughput(map);
    schema.on_demand = reader.on_demand(map);
    schema.warm = reader.warm(map);
    read_on_demand_since(map, reader, schema);
    if (map.contains("key")) {
        schema.encryption.enabled = true;
        const auto key = reader.get<std::string>(map, "key");
        if (!key.empty()) schema.encryption.key = key;
    }
    schema.deletion_protection = reader.get<bool>(map, "protected");
    schema.next_index = static_cast<std::uint16_t>(reader.whole(map, "next_index", UINT16_MAX));
    for (const auto& index : reader.get<AttributeList>(map, "indexes")) {
        const auto* members = index.get_if<AttributeMap>();
        if (!members) damaged = true;
        if (members) schema.indexes.push_back(reader.index(*members));
    }
    schema.tags = reader.tags(reader.get<AttributeMap>(map, "tags"));
    if (map.contains("infrequent")) {
        schema.table_class = reader.get<bool>(map, "infrequent")
                                 ? TableClass::standard_infrequent_access
                                 : TableClass::standard;
    }
    if (map.contains("expires")) schema.ttl_attribute = reader.get<std::string>(map, "expires");
    if (map.contains("bound")) {
        auto resource = ResourceTemplate::parse(reader.get<std::string>(map, "bound"), schema.key);
        if (!resource) damaged = true;
        if (resource) {
            schema.binding = Binding{*std::move(resource), reader.get<bool>(map, "strict")};
        }
    }
    if (map.contains("user")) {
        schema.user = static_cast<UserId>(reader.whole(map, "user", INT64_MAX));
    }
    if (!damaged) return schema;
    return Error(ErrorCode::corrupt,
                 "the definition of table " + std::string(table) + " is damaged");
}

}  // namespace rocklock::table
