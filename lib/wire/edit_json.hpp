// The verbs of the lock API that have items in them, as JSON: for who edits items for minutes.
// Frames have no items, and not these verbs.
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

// An Acquire of the items' locks too, answered with the items. Its `locks` are the others.
struct BeginEdit {
    Acquire acquire;
    std::vector<ItemToLock> items;
};

// A Steal, answered with the items.
struct TakeOverEdit {
    Steal steal;
    std::vector<ItemToLock> items;
};

// A ShowLock of the item's resource.
struct ShowEdit {
    std::string table;
    AttributeMap key;
};

// A transaction of the holder's. `write.actions` show no proof yet.
struct SaveEdit {
    SessionId session;
    std::optional<Token> token;
    TransactWrite write;
};

using EditBody = std::variant<BeginEdit, TakeOverEdit, ShowEdit, SaveEdit>;

struct EditCall {
    EditBody body;
    // What only a connection needs: the secret, and the process to bind to.
    Call call;
};

// An empty call of that verb; none for a name that is none of these.
std::optional<EditBody> edit_named(std::string_view verb);

// Reads the members of such a call. Errors: invalid_argument.
Result<EditCall> read_edit(EditBody empty, std::string_view json);

// The answer of BeginEdit and TakeOverEdit.
std::string write_edit(const Grant& grant, const std::vector<ItemUnderLock>& items);
std::string write_saved(const TransactWriteAnswer& saved);

}  // namespace rocklock
