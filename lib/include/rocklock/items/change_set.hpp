// Optimistic Offline Lock (Fowler, Patterns of Enterprise Application Architecture): reads items
// without locks, collects changes for any length of time, and saves all of them in one commit if no
// other client has changed the items since.
//
//     ChangeSet changes(tables, "ann");
//     auto order = changes.get("orders", key);            // remembers the version
//     ...                                                 // minutes pass; no lock is held
//     changes.put("orders", edited);
//     if (auto saved = changes.commit(); !saved) show(saved.error().changes);  // the conflicts
//
// With share_version(), a group of items has one common version (Coarse-Grained Offline Lock).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/export.hpp>
#include <rocklock/items/attribute_value.hpp>
#include <rocklock/items/batch_requests.hpp>
#include <rocklock/items/expression.hpp>
#include <rocklock/items/table.hpp>
#include <rocklock/lock_proof.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

// commit() succeeds only if every item that was read or changed still has the version that it had
// at the first access by this change set; an item that did not exist then must still not exist.
// get() returns the stored item, without the changes in this change set.
//
// Threads:  one thread at a time.
// Lifetime: borrows the tables, which must outlive the change set.
// Errors:   all functions have those of TableService, and limit_exceeded if there are more than 100
//           items.
class ROCKLOCK_API ChangeSet {
public:
    // `by` is stored with every written item and shown to other clients; see WriteItem::by. If
    // `proof` is given, all reads and writes present it. Bound tables require it. For other tables,
    // a token in it must be that of a live grant.
    ChangeSet(TableService& tables, std::string by, std::optional<LockProof> proof = {});
    ChangeSet(ChangeSet&&) noexcept;
    ChangeSet& operator=(ChangeSet&&) noexcept;
    ~ChangeSet();

    // Returns the current item, or none if it does not exist. If the item was read before and has
    // changed since, fails with condition_failed; error().changes contains the item, and commit()
    // would fail too.
    Result<std::optional<Item>> get(const std::string& table, const AttributeMap& key);

    // Add a change of an item, which commit() writes. It replaces an earlier change of the same
    // item. If the item was not read before, its version is read now.
    Result<void> put(const std::string& table, Item item);
    Result<void> update(const std::string& table, const AttributeMap& key,
                        ExpressionParameters expressions);
    Result<void> remove(const std::string& table, const AttributeMap& key);

    // Makes the version of this item the common version of a group of items. If a change set has
    // called this function and has changes, its commit gives the item a new version. Therefore, if
    // two such change sets overlap in time, one of them fails, even if they write different items.
    // Any items can belong to the group.
    //
    // Errors: condition_failed  the item does not exist
    Result<void> share_version(const std::string& table, const AttributeMap& key);

    // Returns whether there are no changes that commit() would write.
    bool empty() const;

    // Writes all changes or none. If it succeeds, the change set is empty and can be used again.
    // `after` applies to the grant of the proof.
    //
    // After an error, the change set is unchanged, so that the user can decide what to do.
    //
    // Errors: condition_failed  error().changes lists the items that have changed since
    //         lock_required, stale_token, locked  as for writes to and reads from bound tables
    //         invalid_argument  the table refuses a write
    Result<void> commit(AfterSave after = AfterSave::keep);

    // Removes all changes and all remembered versions.
    void clear();

private:
    struct Known;

    // Returns the entry of the item. If the item is unknown, or if `item` is not null, reads it
    // first, checks that its version has not changed, and stores it in `item`.
    Result<Known*> find_or_add(const std::string& table, const AttributeMap& key,
                               std::optional<Item>* item);
    Result<void> change(const AttributeMap& key, WriteItem write);
    WriteItem action_of(const Known& known, bool anything_changes) const;
    Error refused(Error error) const;

    TableService* tables_;
    std::string by_;
    std::optional<LockProof> proof_;
    std::vector<std::unique_ptr<Known>> known_;
};

}  // namespace rocklock
