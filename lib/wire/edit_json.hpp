// The JSON of the verbs of the lock API that contain items. With these verbs, a client holds the
// locks of items while a user edits the items for minutes. The verbs exist only in JSON, because
// frames of the lock API cannot contain items.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <rocklock/items/edit.hpp>
#include <rocklock/items/table.hpp>
#include <rocklock/result.hpp>

#include "wire/call.hpp"

namespace rocklock {

// As Acquire, but also locks the resources of `items` and returns the items. `acquire.locks` are
// additional locks.
struct BeginEdit {
    Acquire acquire;
    std::vector<ItemToLock> items;
};

// As Steal, but also returns the items.
struct TakeOverEdit {
    Steal steal;
    std::vector<ItemToLock> items;
};

// As ShowLock, for the resource of the item.
struct ShowEdit {
    std::string table;
    AttributeMap key;
};

// A transaction of the session that holds the locks. The actions in `write` do not contain the
// proof of the lock. The caller adds it.
struct SaveEdit {
    SessionId session;
    std::optional<Token> token;
    TransactWrite write;
};

using EditBody = std::variant<BeginEdit, TakeOverEdit, ShowEdit, SaveEdit>;

struct EditCall {
    EditBody body;
    // Only the secret of this call, and the process to which a session is bound, are used. Its body
    // is not used.
    Call call;
};

// Returns an empty body of the verb, or nullopt if `verb` is not the name of a verb of this header.
std::optional<EditBody> edit_named(std::string_view verb);

// Reads the members of the call. Errors: invalid_argument.
Result<EditCall> read_edit(EditBody empty, std::string_view json);

// Returns the response to BeginEdit and TakeOverEdit.
std::string write_edit(const Grant& grant, const std::vector<ItemUnderLock>& items);
std::string write_saved(const TransactWriteAnswer& saved);

}  // namespace rocklock
