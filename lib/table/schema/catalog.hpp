// The tables of a store: their definitions, in memory and in storage.
//
// Definitions are never changed, only replaced: who has one may go on with it. A write has the
// definition's version as a precondition, so none is committed by a definition that is out of date.
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

// Threads:    thread-safe; changes of definitions come one after the other.
// Lifetime:   borrows storage, versions, ARNs and users.
// Durability: a changed definition is synced before it is returned.
class Catalog {
public:
    Catalog(Storage& storage, Versions& versions, const Arns& arns, UserData& users)
        : storage_(storage), versions_(versions), arns_(arns), users_(users) {}

    // Reads all definitions. Errors: corrupt, newer_format; those of Storage
    Result<void> open();
    // Tables that are found by their names beside those of the store, and in no list of them;
    // before anybody looks for one.
    void add_system(std::vector<SchemaPointer> schemas) { system_ = std::move(schemas); }

    // By its name or its ARN. Nothing where there is no such table.
    SchemaPointer find(std::string_view table) const;
    // Up to `limit` names behind `after`, in order.
    std::vector<std::string> names(std::string_view after, std::size_t limit) const;

    // Gives it its numbers and adds it. Errors: resource_in_use; limit_exceeded: the user's bytes;
    // those of Storage
    Result<SchemaPointer> add(Schema schema);
    // In place of `before`. Errors: precondition_failed: another one came first; those of Storage
    Result<SchemaPointer> replace(const SchemaPointer& before, Schema after);
    // Errors: as replace()
    Result<void> remove(const SchemaPointer& before);

    // What deleted tables and indexes have left, to be removed.
    struct Leavings {
        std::uint32_t table = 0;
        // 0: all of the table.
        std::uint16_t index = 0;
    };
    Result<std::vector<Leavings>> leavings() const;
    // Removes rows in steps, and then the note that there are some. May be called again.
    Result<void> clear(const Leavings& leavings);

    std::vector<SchemaPointer> all() const;

private:
    Result<SchemaPointer> commit(const Schema* before, Schema after, Batch batch);
    // Counts the definition and its rows towards its user.
    void charge(Schema& schema, std::size_t record_bytes) const;
    Result<std::uint32_t> next_table_number() const;
    Result<void> clear_rows(Family family, const std::string& prefix);

    Storage& storage_;
    Versions& versions_;
    const Arns& arns_;
    UserData& users_;
    std::vector<SchemaPointer> system_;
    // Held over the commit of a change of definitions. Taken before mutex_.
    Mutex changing_ ROCKLOCK_ACQUIRED_BEFORE(mutex_);
    mutable Mutex mutex_;
    std::map<std::string, SchemaPointer, std::less<>> tables_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock::table
