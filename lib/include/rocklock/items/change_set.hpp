// Optimistic Offline Lock (Fowler, Patterns of Enterprise Application Architecture): a change set
// reads items without locks and collects changes for any length of time. It then saves all changes
// in one commit, provided that no other client has changed the items since they were read.
//
//     ChangeSet changes(tables, "ann");
//     auto order = changes.get("orders", key);            // remembers the version
//     ...                                                 // minutes pass; no lock is held
//     changes.put("orders", edited);
//     if (auto saved = changes.commit(); !saved) show(saved.error().changes);  // the conflicts
//
// With ChangeSet::share_version(), a group of items has one common version (Fowler's Coarse-Grained
// Lock).
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

// A set of changes that commit() saves. commit() succeeds only if every item that was read or
// changed still has the version that it had at its first access by this change set. If an item did
// not exist at its first access, it must still not exist. get() returns the stored item, without
// the changes in this change set.
//
// Threads:  one thread at a time.
// Lifetime: borrows the tables, which must outlive the change set.
// Errors:   all functions have the errors of TableService, and fail with limit_exceeded if the
//           change set would have more than 100 items.
class ROCKLOCK_API ChangeSet {
public:
    // `by` is stored with every written item and shown to other clients; see WriteItem::by. If
    // `proof` is given, all reads and writes present it. Writes to bound tables require a proof. If
    // the proof has a token, its grant must not have ended, even if the table is not bound.
    ChangeSet(TableService& tables, std::string by, std::optional<LockProof> proof = {});
    ChangeSet(ChangeSet&&) noexcept;
    ChangeSet& operator=(ChangeSet&&) noexcept;
    ~ChangeSet();

    // Returns the current item, or none if the item does not exist. If the item has changed since
    // its first access by this change set, get() fails with condition_failed, and error().changes
    // contains the item. commit() would then fail too.
    Result<std::optional<Item>> get(const std::string& table, const AttributeMap& key);

    // Add a change of an item, which commit() will write. The change replaces an earlier change of
    // the same item. If this is the first access to the item, its version is read now.
    Result<void> put(const std::string& table, Item item);
    Result<void> update(const std::string& table, const AttributeMap& key,
                        ExpressionParameters expressions);
    Result<void> remove(const std::string& table, const AttributeMap& key);

    // Makes the version of this item the common version of a group of items. If commit() writes any
    // change, it also gives this item a new version. If two change sets share this version, overlap
    // in time and both write, one of them therefore fails, even if they write different items. Any
    // items can belong to the group.
    //
    // Errors: condition_failed  the item does not exist
    Result<void> share_version(const std::string& table, const AttributeMap& key);

    // Returns whether the change set has no changes that commit() would write.
    bool empty() const;

    // Writes all changes or none. After a success, the change set is empty and can be used again.
    // `after` is the effect of the commit on the grant of the proof.
    //
    // After an error, the change set is unchanged, so that the caller can decide what to do with
    // the changes.
    //
    // Errors: condition_failed  error().changes lists the items that have changed since their first
    //                           access
    //         lock_required, stale_token, locked  as for other accesses to bound tables
    //         invalid_argument  the table refuses a write
    Result<void> commit(AfterSave after = AfterSave::keep);

    // Removes all changes and all remembered versions.
    void clear();

private:
    struct Known;

    // Returns the entry of an item. If there is no entry, reads the item and adds an entry with its
    // version. If `item` is not null, always reads the item and stores it in `*item`. If the item
    // was read and does not have the version of an existing entry, returns an error.
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
