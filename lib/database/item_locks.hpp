// Which locks items belong to, and items as they are under them.
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

// The resource that an item belongs to; nothing where its table is not bound. Errors:
// invalid_argument (the key), resource_not_found, those of the storage.
Result<std::optional<std::string>> resource_of(TableService& tables, const std::string& table,
                                               const AttributeMap& key);

// The same where it must be. Errors: as above; invalid_argument, where it is not bound.
Result<std::string> resource_of_bound(TableService& tables, const std::string& table,
                                      const AttributeMap& key);

// All that an edit takes: the resources of its items, each once, and its other locks. Errors: as
// resource_of_bound().
Result<std::vector<LockRequest>> locks_of(TableService& tables, const EditRequest& request);

// Whether a grant holds a resource, in whatever mode.
bool covers_item(const Grant& grant, std::string_view resource);

// Whether all of the grant is held by its session at this moment, so that nobody else has written
// under it up to now.
bool held_still(LockService& service, const Grant& grant);

Error lost_meanwhile();

// One item, as the grant's holder sees it. Errors: those of TableService::get_item().
Result<GetAnswer> read_item(TableService& tables, const std::string& table, const AttributeMap& key,
                            const LockProof& proof);

// The items behind the grant: what others were let in to write is committed by now, or never will
// be.
//
// Errors: kind_mismatch      an item's resource has permits, which lock no item
//         resource_in_use    a table was bound to something else meanwhile
//         grant_ended        the lock was lost while they were read
//         those of TableService::get_item()
Result<std::vector<ItemUnderLock>> read_under(TableService& tables, LockService& service,
                                              const Grant& grant,
                                              const std::vector<ItemToLock>& items);

}  // namespace rocklock
