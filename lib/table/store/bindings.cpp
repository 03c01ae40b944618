// BindTable, UnbindTable, ListBindings.
#include <utility>

#include "table/schema/schema_check.hpp"
#include "table/schema/validation.hpp"
#include "table/store/table_store.hpp"

namespace rocklock::table {

Result<TableBinding> TableStore::bind_table(const TableBinding& request) {
    if (auto error = check_table(request.table, "tableName")) return *std::move(error);
    if (is_reserved(arns_.name_of(request.table).value_or(request.table))) {
        return validation_error("A table of the lock manager cannot be bound: " + request.table);
    }
    TableBinding bound = request;
    const auto bind = [&](Schema& schema) -> Result<bool> {
        auto resource = ResourceTemplate::parse(request.resource, schema.key);
        if (!resource) return std::move(resource).error();
        schema.binding = Binding{*std::move(resource), request.strict};
        bound.table = schema.name;
        return true;
    };
    if (auto changed = change_schema(request.table, bind); !changed) {
        return std::move(changed).error();
    }
    return bound;
}

Result<TableBinding> TableStore::unbind_table(const std::string& table) {
    if (auto error = check_table(table, "tableName")) return *std::move(error);
    TableBinding was;
    const auto unbind = [&](Schema& schema) -> Result<bool> {
        if (!schema.binding) return validation_error("The table is not bound: " + table);
        was = {schema.name, schema.binding->resource.text(), schema.binding->strict};
        schema.binding.reset();
        return true;
    };
    if (auto changed = change_schema(table, unbind); !changed) return std::move(changed).error();
    return was;
}

Result<std::vector<TableBinding>> TableStore::list_bindings() {
    std::vector<TableBinding> bindings;
    for (const auto& schema : catalog_.all()) {
        if (!schema->binding) continue;
        bindings.push_back(
            {schema->name, schema->binding->resource.text(), schema->binding->strict});
    }
    return bindings;
}

}  // namespace rocklock::table
