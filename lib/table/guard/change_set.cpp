#include <rocklock/items/change_set.hpp>

#include <algorithm>
#include <utility>

#include "table/schema/binding.hpp"

namespace rocklock {
namespace {

// The maximum number of actions of a transaction.
constexpr std::size_t max_items = 100;

std::string name_of(const std::string& table, const AttributeMap& key) {
    std::string text = table + " {";
    for (const Attribute& part : key) {
        if (text.back() != '{') text += ", ";
        text += part.name + ": " + table::text_of_key(part.value);
    }
    return text + "}";
}

std::string sentence_of(const ItemChange& change) {
    std::string text = name_of(change.table, *change.key);
    if (change.gone) return text + " is gone";
    text += " was written";
    return change.last_write ? text + " by " + change.last_write->by : text;
}

Error changed_since(std::vector<ItemChange> changes) {
    std::string text = "changed since it was read:";
    for (const ItemChange& change : changes) {
        text += (&change == &changes.front() ? " " : "; ") + sentence_of(change);
    }
    Error error(ErrorCode::condition_failed, std::move(text));
    error.changes = std::move(changes);
    return error;
}

WriteItem write_of(WriteItem::Kind kind, const std::string& table, AttributeMap item) {
    WriteItem write;
    write.kind = kind;
    write.table = table;
    write.item = std::move(item);
    return write;
}

}  // namespace

struct ChangeSet::Known {
    std::string table;
    AttributeMap key;
    std::uint64_t version = 0;
    // Set if the version of the item is shared: the item to write again.
    std::optional<Item> shared;
    std::optional<WriteItem> change;

    ItemChange changed(std::uint64_t now, std::optional<LastWrite> last_write) const {
        return {table, std::make_shared<const AttributeMap>(key), now == 0, std::move(last_write)};
    }
};

ChangeSet::ChangeSet(TableService& tables, std::string by, std::optional<LockProof> proof)
    : tables_(&tables), by_(std::move(by)), proof_(proof) {}
ChangeSet::ChangeSet(ChangeSet&&) noexcept = default;
ChangeSet& ChangeSet::operator=(ChangeSet&&) noexcept = default;
ChangeSet::~ChangeSet() = default;

Result<ChangeSet::Known*> ChangeSet::find_or_add(const std::string& table, const AttributeMap& key,
                                                 std::optional<Item>* item) {
    const auto found = std::find_if(known_.begin(), known_.end(), [&](const auto& known) {
        return known->table == table && known->key == key;
    });
    if (found != known_.end() && item == nullptr) return found->get();
    if (found == known_.end() && known_.size() == max_items) {
        Error error(ErrorCode::limit_exceeded,
                    "a change set has at most 100 items, counting both read and written ones");
        error.limit = max_items;
        return error;
    }
    GetItem request;
    request.table = table;
    request.key = key;
    request.consistent = true;
    request.proof = proof_;
    auto answer = tables_->get_item(request);
    if (!answer) return std::move(answer).error();
    if (found != known_.end() && (*found)->version != answer->version) {
        return changed_since({(*found)->changed(answer->version, answer->last_write)});
    }
    if (item != nullptr) *item = std::move(answer->item);
    if (found != known_.end()) return found->get();
    known_.push_back(std::make_unique<Known>(Known{table, key, answer->version, {}, {}}));
    return known_.back().get();
}

Result<std::optional<Item>> ChangeSet::get(const std::string& table, const AttributeMap& key) {
    std::optional<Item> item;
    const auto known = find_or_add(table, key, &item);
    if (!known) return Error(known.error());
    return item;
}

Result<void> ChangeSet::put(const std::string& table, Item item) {
    auto description = tables_->describe_table(table);
    if (!description) return std::move(description).error();
    AttributeMap key;
    for (const KeyElement& element : description->key) {
        const AttributeValue* value = item.find(element.attribute);
        if (value == nullptr) {
            return Error(ErrorCode::invalid_argument,
                         "the item has no \"" + element.attribute + "\", which is part of its key");
        }
        key.set(element.attribute, *value);
    }
    return change(key, write_of(WriteItem::Kind::put, table, std::move(item)));
}

Result<void> ChangeSet::update(const std::string& table, const AttributeMap& key,
                               ExpressionParameters expressions) {
    WriteItem write = write_of(WriteItem::Kind::update, table, key);
    write.expressions = std::move(expressions);
    return change(key, std::move(write));
}

Result<void> ChangeSet::remove(const std::string& table, const AttributeMap& key) {
    return change(key, write_of(WriteItem::Kind::remove, table, key));
}

Result<void> ChangeSet::change(const AttributeMap& key, WriteItem write) {
    const auto known = find_or_add(write.table, key, nullptr);
    if (!known) return Error(known.error());
    (*known)->change = std::move(write);
    return {};
}

Result<void> ChangeSet::share_version(const std::string& table, const AttributeMap& key) {
    std::optional<Item> item;
    const auto known = find_or_add(table, key, &item);
    if (!known) return Error(known.error());
    if (!item) {
        return Error(ErrorCode::condition_failed,
                     name_of(table, key) + " does not exist, so it has no version to share");
    }
    (*known)->shared = std::move(item);
    return {};
}

bool ChangeSet::empty() const {
    return std::none_of(known_.begin(), known_.end(),
                        [](const auto& known) { return known->change.has_value(); });
}

WriteItem ChangeSet::action_of(const Known& known, bool anything_changes) const {
    WriteItem action;
    if (known.change) {
        action = *known.change;
    } else if (known.shared && anything_changes) {
        action = write_of(WriteItem::Kind::put, known.table, *known.shared);
    } else {
        action = write_of(WriteItem::Kind::check, known.table, known.key);
    }
    action.expected_version = known.version;
    action.by = by_;
    action.proof = proof_;
    return action;
}

Result<void> ChangeSet::commit(AfterSave after) {
    if (known_.empty()) return {};
    TransactWrite request;
    request.after = after;
    for (const auto& known : known_) {
        request.actions.push_back(action_of(*known, !empty()));
    }
    auto saved = tables_->transact_write(request);
    if (!saved) return refused(std::move(saved).error());
    clear();
    return {};
}

// Returns the error of a cancelled transaction: condition_failed with the changed items, or the
// first other reason.
Error ChangeSet::refused(Error error) const {
    if (error.reasons.size() != known_.size()) return error;
    std::vector<ItemChange> changes;
    const CancellationReason* cause = nullptr;
    for (std::size_t i = 0; i < known_.size(); ++i) {
        const CancellationReason& reason = error.reasons[i];
        if (!reason.code) continue;
        const bool changed =
            reason.code == ErrorCode::condition_failed && reason.item_version != known_[i]->version;
        if (changed) {
            changes.push_back(known_[i]->changed(reason.item_version, reason.last_write));
        } else if (cause == nullptr) {
            cause = &reason;
        }
    }
    if (!changes.empty()) return changed_since(std::move(changes));
    if (cause == nullptr) return error;
    Error refusal(*cause->code, cause->message);
    refusal.reasons = std::move(error.reasons);
    return refusal;
}

void ChangeSet::clear() { known_.clear(); }

}  // namespace rocklock
