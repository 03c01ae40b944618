// Functions that find the resources to which items belong, and that read items under their locks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/items/table.hpp>
#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>
#include <rocklock/session.hpp>

namespace rocklock {

// Returns the resource to which an item belongs, or none if its table is not bound. Errors:
// invalid_argument (the key), resource_not_found, those of the storage.
Result<std::optional<std::string>> resource_of(TableService& tables, const std::string& table,
                                               const AttributeMap& key);

// As resource_of(), but also fails with invalid_argument if the table is not bound.
Result<std::string> resource_of_bound(TableService& tables, const std::string& table,
                                      const AttributeMap& key);

// Returns the locks of an edit: its additional locks, and the lock of each item. Locks with equal
// resources and equal options are included only once. Errors: as resource_of_bound().
Result<std::vector<LockRequest>> locks_of(TableService& tables, const EditRequest& request);

// Returns whether the grant covers a resource, in any mode.
bool covers_item(const Grant& grant, std::string_view resource);

// Returns whether the session still holds all locks of the grant. If so, no other session has
// written the items of these resources since the grant was given. Permits are not checked.
bool still_held(LockService& service, const Grant& grant);

// Returns the error grant_ended, with a message that the lock was lost while its item was read.
Error lock_lost_error();

// Reads one item with the proof of its lock. Errors: those of TableService::get_item().
Result<GetAnswer> read_item(TableService& tables, const std::string& table, const AttributeMap& key,
                            const LockProof& proof);

// Reads items after their locks were granted. A write that relies on an earlier grant either was
// committed before `grant` was given, or fails. No other session can therefore change the items
// after they were read here.
//
// Errors: kind_mismatch      the resource of an item is locked with permits, and permits do not
//                            protect items
//         resource_in_use    the binding of a table was changed during the call
//         grant_ended        the lock was lost while the items were read
//         those of TableService::get_item()
Result<std::vector<ItemUnderLock>> read_under(TableService& tables, LockService& service,
                                              const Grant& grant,
                                              const std::vector<ItemToLock>& items);

}  // namespace rocklock
