#include "database/item_locks.hpp"

#include <algorithm>
#include <utility>

#include "lock/model/fence.hpp"
#include "table/schema/binding.hpp"
#include "table/schema/schema.hpp"

namespace rocklock {

namespace {

// Returns the definitions of the key attributes. Errors: invalid_argument if `key` is not a key of
// the table.
Result<table::KeyParts> key_parts(const TableDescription& described, const AttributeMap& key) {
    table::KeyParts parts;
    bool fits = key.size() == described.key.size();
    for (const KeyElement& element : described.key) {
        const auto definition = std::find_if(
            described.attributes.begin(), described.attributes.end(),
            [&](const auto& attribute) { return attribute.name == element.attribute; });
        const AttributeValue* value = key.find(element.attribute);
        fits = fits && value != nullptr && value->type() == definition->type;
        if (element.type == KeyType::hash) {
            parts.hash = *definition;
        } else {
            parts.range = *definition;
        }
    }
    if (fits) return parts;
    return Error(ErrorCode::invalid_argument, "the key does not match the schema of table " +
                                                  described.name +
                                                  ": give exactly its key attributes");
}

Error not_bound(const std::string& table) {
    return {ErrorCode::invalid_argument,
            "table " + table +
                " is not bound to resources, so locks do not prevent writes of others: bind the "
                "table, or acquire a lock and read the item in separate calls"};
}

// Returns the error for an item that the grant does not cover although its resource was locked.
Error not_covered(const std::string& table, const std::string& resource, const Grant& grant) {
    const bool permits = std::any_of(
        grant.locks.begin(), grant.locks.end(),
        [&](const GrantedLock& lock) { return lock.permits > 0 && lock.resource == resource; });
    if (permits) {
        return {ErrorCode::kind_mismatch, "\"" + resource +
                                              "\" is counted in permits, and items are locked in "
                                              "modes: bind the table to other resources"};
    }
    return {ErrorCode::resource_in_use,
            "table " + table + " was bound to other resources during this call: retry"};
}

bool is_same(const LockRequest& left, const LockRequest& right) {
    return left.resource == right.resource && left.mode == right.mode && left.to == right.to &&
           left.modes == right.modes && left.subtree == right.subtree &&
           left.permits == right.permits;
}

}  // namespace

Result<std::optional<std::string>> resource_of(TableService& tables, const std::string& table,
                                               const AttributeMap& key) {
    const auto described = tables.describe_table(table);
    if (!described) return Error(described.error());
    const auto parts = key_parts(*described, key);
    if (!parts) return Error(parts.error());
    const auto bindings = tables.list_bindings();
    if (!bindings) return Error(bindings.error());
    const auto bound = std::find_if(bindings->begin(), bindings->end(), [&](const auto& binding) {
        return binding.table == described->name;
    });
    if (bound == bindings->end()) return std::optional<std::string>();
    const auto parsed = table::ResourceTemplate::parse(bound->resource, *parts);
    if (!parsed) return Error(parsed.error());
    return std::optional(parsed->resource_of(key));
}

Result<std::string> resource_of_bound(TableService& tables, const std::string& table,
                                      const AttributeMap& key) {
    auto resource = resource_of(tables, table, key);
    if (!resource) return std::move(resource).error();
    if (!*resource) return not_bound(table);
    return **std::move(resource);
}

bool covers_item(const Grant& grant, std::string_view resource) {
    return std::any_of(grant.locks.begin(), grant.locks.end(), [&](const GrantedLock& lock) {
        if (lock.permits > 0) return false;
        return lock.resource == resource || (lock.subtree && lies_below(resource, lock.resource));
    });
}

bool still_held(LockService& service, const Grant& grant) {
    return std::all_of(grant.locks.begin(), grant.locks.end(), [&](const GrantedLock& lock) {
        return lock.permits > 0 || service.holds(grant.session, lock.resource, lock.mode);
    });
}

Error lock_lost_error() {
    return {ErrorCode::grant_ended, "the lock was lost while its item was read: acquire it again"};
}

Result<GetAnswer> read_item(TableService& tables, const std::string& table, const AttributeMap& key,
                            const LockProof& proof) {
    GetItem get;
    get.table = table;
    get.key = key;
    get.consistent = true;
    get.proof = proof;
    return tables.get_item(get);
}

Result<std::vector<LockRequest>> locks_of(TableService& tables, const EditRequest& request) {
    std::vector<LockRequest> locks = request.locks;
    for (const ItemToLock& item : request.items) {
        auto resource = resource_of_bound(tables, item.table, item.key);
        if (!resource) return std::move(resource).error();
        LockRequest lock;
        lock.resource = *std::move(resource);
        lock.mode = item.mode;
        lock.to = item.to;
        const bool known = std::any_of(locks.begin(), locks.end(),
                                       [&](const auto& other) { return is_same(other, lock); });
        if (!known) locks.push_back(std::move(lock));
    }
    return locks;
}

Result<std::vector<ItemUnderLock>> read_under(TableService& tables, LockService& service,
                                              const Grant& grant,
                                              const std::vector<ItemToLock>& items) {
    std::vector<ItemUnderLock> read;
    for (const ItemToLock& wanted : items) {
        auto answer = read_item(tables, wanted.table, wanted.key, {grant.session, grant.token});
        if (!answer) return std::move(answer).error();
        const auto resource = resource_of(tables, wanted.table, wanted.key);
        if (!resource) return Error(resource.error());
        if (!*resource || !covers_item(grant, **resource)) {
            return not_covered(wanted.table, resource->value_or(""), grant);
        }
        read.push_back({wanted.table, wanted.key, std::move(answer->item), answer->version,
                        std::move(answer->last_write)});
    }
    if (!still_held(service, grant)) return lock_lost_error();
    return read;
}

}  // namespace rocklock
