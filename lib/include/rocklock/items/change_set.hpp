// Optimistic Offline Lock (Fowler, Patterns of Enterprise Application Architecture): read now,
// change for as long as it takes, and save everything in one commit if nobody came between.
//
//     ChangeSet changes(tables, "ann");
//     auto order = changes.get("orders", key);            // its version is remembered
//     ...                                                 // minutes pass; nothing is held
//     changes.put("orders", edited);
//     if (auto saved = changes.commit(); !saved) show(saved.error().changes);  // which, when, who
//
// With share_version() a group of items has one version, whatever its members are (Coarse-Grained
// Offline Lock).
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

// Every item that was read, or named by a change, is compared: it must have the version that it had
// when this change set first met it, or still not be there. Reads come from the table, not from
// what was changed here.
//
// Threads:  one at a time. Lifetime: borrows the tables.
// Errors of all calls: those of TableService; limit_exceeded  more than 100 items
class ROCKLOCK_API ChangeSet {
public:
    // `by` is kept with every item that is written, and told to others: WriteItem::by. With a proof
    // reads and writes show it: bound tables ask for that, and others compare its token too.
    ChangeSet(TableService& tables, std::string by, std::optional<LockProof> proof = {});
    ChangeSet(ChangeSet&&) noexcept;
    ChangeSet& operator=(ChangeSet&&) noexcept;
    ~ChangeSet();

    // The item as it is now. An item that is read again and has changed meanwhile is an error:
    // condition_failed, with error().changes; what was read before is of no use then.
    Result<std::optional<Item>> get(const std::string& table, const AttributeMap& key);

    // What commit() is to do; the last change of an item counts. An item that was not read before
    // is met now.
    Result<void> put(const std::string& table, Item item);
    Result<void> update(const std::string& table, const AttributeMap& key,
                        ExpressionParameters expressions);
    Result<void> remove(const std::string& table, const AttributeMap& key);

    // The item stands for a group: its version is that of all members, as they come and go. Every
    // commit that changes anything gives it a new one, so of two that share it and overlap one
    // fails, whatever else they write. It must be there.
    //
    // Errors: condition_failed  there is no such item
    Result<void> share_version(const std::string& table, const AttributeMap& key);

    // Whether there is anything to be saved.
    bool empty() const;

    // Writes all changes, or none. The set is empty afterwards, and begins anew. `after` is for the
    // grant of the proof.
    //
    // Errors: condition_failed        error().changes says what is not as it was read; all is kept
    //                                 here, for what the user wants to do about it
    //         lock_required, stale_token, locked  as writes and reads of bound tables
    //         invalid_argument        a write that the table refuses
    Result<void> commit(AfterSave after = AfterSave::keep);

    // Forgets what was read and what was to be changed.
    void clear();

private:
    struct Known;

    // Reads the item where it is not known, or where somebody wants it.
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
