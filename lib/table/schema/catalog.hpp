// The definitions of the tables of a store, in memory and in storage.
//
// A definition is never modified. A change replaces it with a new definition, so a caller can
// continue to use the definition that it has. Each write has the version of the definition as a
// precondition. Therefore, a write that was decided with an outdated definition is not committed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

#include "base/mutex.hpp"
#include "table/schema/arns.hpp"
#include "table/schema/schema.hpp"
#include "table/schema/user_data.hpp"
#include "table/schema/versions.hpp"

namespace rocklock::table {

using SchemaPointer = std::shared_ptr<const Schema>;

// Threads:    thread-safe. Changes of definitions are serialized.
// Lifetime:   borrows storage, versions, ARNs and users.
// Durability: a changed definition is synced before it is returned.
class Catalog {
public:
    Catalog(Storage& storage, Versions& versions, const Arns& arns, UserData& users)
        : storage_(storage), versions_(versions), arns_(arns), users_(users) {}

    // Reads all definitions. Errors: corrupt, newer_format; those of Storage
    Result<void> open();
    // Adds system tables. find() returns them, but names() does not. Must be called before the
    // first find().
    void add_system(std::vector<SchemaPointer> schemas) { system_ = std::move(schemas); }

    // Returns the table with this name or ARN, or null if it does not exist.
    SchemaPointer find(std::string_view table) const;
    // Returns, in order, up to `limit` names of tables that are greater than `after`.
    std::vector<std::string> names(std::string_view after, std::size_t limit) const;

    // Assigns the numbers of the table and adds it. Errors: resource_in_use; limit_exceeded if the
    // user's bytes exceed the limit; those of Storage
    Result<SchemaPointer> add(Schema schema);
    // Replaces the definition `before` with `after`. Errors: precondition_failed if `before` is no
    // longer the current definition; those of Storage
    Result<SchemaPointer> replace(const SchemaPointer& before, Schema after);
    // Errors: as replace()
    Result<void> remove(const SchemaPointer& before);

    // The rows of a deleted table or index that are still to be removed.
    struct PendingDeletion {
        std::uint32_t table = 0;
        // 0 means all rows of the table.
        std::uint16_t index = 0;
    };
    Result<std::vector<PendingDeletion>> pending_deletions() const;
    // Removes the rows in steps, and then the record of the pending deletion. Can be called again
    // if it was interrupted.
    Result<void> clear(const PendingDeletion& deletion);

    std::vector<SchemaPointer> all() const;

private:
    Result<SchemaPointer> commit(const Schema* before, Schema after, Batch batch);
    // Counts the bytes of the definition and of its rows towards the user of the table.
    void charge(Schema& schema, std::size_t record_bytes) const;
    Result<std::uint32_t> next_table_number() const;
    Result<void> clear_rows(Family family, const std::string& prefix);

    Storage& storage_;
    Versions& versions_;
    const Arns& arns_;
    UserData& users_;
    std::vector<SchemaPointer> system_;
    // Held while a change of definitions is committed. Locked before mutex_.
    Mutex changing_ ROCKLOCK_ACQUIRED_BEFORE(mutex_);
    mutable Mutex mutex_;
    std::map<std::string, SchemaPointer, std::less<>> tables_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock::table
