#include "wire/edit_json.hpp"

#include <type_traits>
#include <utility>

#include <boost/json/array.hpp>

#include "wire/call_json.hpp"
#include "wire/json/attribute_json.hpp"
#include "wire/json/json_writer.hpp"
#include "wire/json/member_reader.hpp"
#include "wire/json_body.hpp"
#include "wire/json_reader.hpp"
#include "wire/lock_members.hpp"
#include "wire/table_call.hpp"
#include "wire/table_json.hpp"

namespace rocklock {
namespace {

using boost::json::object;
using boost::json::value;

AttributeMap read_key(const value* json, const std::string& path, FirstProblem& problem) {
    if (json == nullptr) {
        problem.report(path + " is missing");
        return {};
    }
    AttributeReader reader;
    auto key = reader.map(*json);
    if (reader.fault()) {
        const std::string& text = reader.fault()->message;
        problem.report(path + " must be the key of an item, as in {\"id\":{\"S\":\"42\"}}" +
                       (text.empty() ? "" : ": " + text));
    }
    return key;
}

// Reads the elements of a member that must be an array of objects: calls `read` for each of them.
template <typename Read>
void for_each_object(const value* json, const std::string& name, FirstProblem& problem,
                     const Read& read) {
    if (json == nullptr) return;
    const auto* array = json->if_array();
    if (array == nullptr) return problem.report(name + " must be an array");
    for (std::size_t i = 0; i < array->size(); ++i) {
        const std::string path = name + "[" + std::to_string(i) + "]";
        const auto* each = (*array)[i].if_object();
        if (each == nullptr) return problem.report(path + " must be an object");
        read(*each, path);
    }
}

std::vector<ItemToLock> read_items(JsonReader& reader, FirstProblem& problem) {
    std::vector<ItemToLock> items;
    for_each_object(reader.other("Items"), "Items", problem,
                    [&](const object& json, const std::string& path) {
                        ItemToLock& item = items.emplace_back();
                        JsonReader member(json, path + ".", true, problem);
                        member.required("TableName", item.table);
                        item.key = read_key(member.other("Key"), path + ".Key", problem);
                        member.optional("Mode", item.mode);
                        member.optional("To", item.to);
                        member.finish();
                    });
    return items;
}

void read(JsonReader& reader, FirstProblem& problem, Call& call, BeginEdit& edit) {
    describe_session(reader, call, edit.acquire);
    edit.items = read_items(reader, problem);
    reader.optional("Locks", edit.acquire.locks);
    describe_terms(reader, edit.acquire);
    if (edit.items.empty() && edit.acquire.locks.empty()) {
        problem.report("Items and Locks are missing: give the items or resources to edit");
    }
}

void read(JsonReader& reader, FirstProblem& problem, Call& call, TakeOverEdit& edit) {
    describe_call(reader, call, edit.steal);
    edit.items = read_items(reader, problem);
}

void read(JsonReader& reader, FirstProblem& problem, Call& /*call*/, ShowEdit& edit) {
    reader.required("TableName", edit.table);
    edit.key = read_key(reader.other("Key"), "Key", problem);
}

// Reads the member Version of an action in TransactItems, which DynamoDB's own actions do not have.
std::optional<std::uint64_t> read_version(const object& item, const std::string& path,
                                          FirstProblem& problem) {
    std::optional<std::uint64_t> version;
    for (const auto& [action, members] : item) {
        if (!members.is_object()) continue;
        JsonReader reader(members.get_object(), path + "." + std::string(action) + ".", false,
                          problem);
        reader.optional("Version", version);
    }
    return version;
}

void read(JsonReader& reader, FirstProblem& problem, Call& call, SaveEdit& save) {
    describe_proof(reader, call, save.session);
    reader.optional("Token", save.token);
    AfterSave after = AfterSave::keep;
    reader.optional("After", after);
    std::string token;
    reader.optional("ClientRequestToken", token);
    std::vector<DraftId> drafts;
    reader.optional("FromDrafts", drafts);
    const auto* items = reader.other("TransactItems");
    if (items == nullptr)
        return problem.report("TransactItems is missing: give the changes to save");
    object transaction;
    transaction["TransactItems"] = *items;
    RequestFaults faults;
    save.write = table_json::read_transact_write(MemberReader(transaction, {}, faults));
    if (const auto fault = faults.first()) {
        return problem.report("TransactItems: " + fault->message);
    }
    save.write.after = after;
    save.write.from_drafts = std::move(drafts);
    if (!token.empty()) save.write.token = std::move(token);
    std::size_t at = 0;
    for_each_object(items, "TransactItems", problem, [&](const object& item, const auto& path) {
        save.write.actions[at++].expected_version = read_version(item, path, problem);
    });
}

void write_item_under_lock(JsonWriter& json, const ItemUnderLock& item) {
    json.begin_object();
    json.key("TableName");
    json.string(item.table);
    json.key("Key");
    write_item(json, item.key);
    if (item.item) {
        json.key("Item");
        write_item(json, *item.item);
    }
    json.key("Version");
    json.number(item.version);
    if (item.last_write) write_last_write(json, *item.last_write);
    json.end_object();
}

}  // namespace

std::optional<EditBody> edit_named(std::string_view verb) {
    if (verb == "BeginEdit") return BeginEdit();
    if (verb == "TakeOverEdit") return TakeOverEdit();
    if (verb == "ShowEdit") return ShowEdit();
    if (verb == "SaveEdit") return SaveEdit();
    return std::nullopt;
}

Result<EditCall> read_edit(EditBody empty, std::string_view json) {
    EditCall edit{std::move(empty), {}};
    FirstProblem problem;
    with_request(json, problem, [&](const object& members) {
        JsonReader reader(members, "", true, problem);
        std::visit([&](auto& body) { read(reader, problem, edit.call, body); }, edit.body);
        reader.finish();
    });
    if (problem.found()) return Error(ErrorCode::invalid_argument, problem.message());
    return edit;
}

std::string write_edit(const Grant& grant, const std::vector<ItemUnderLock>& items) {
    JsonWriter json;
    json.begin_object();
    write_members(json, grant);
    json.key("Items");
    json.begin_array();
    for (const ItemUnderLock& item : items) write_item_under_lock(json, item);
    json.end_array();
    json.end_object();
    return json.take();
}

std::string write_saved(const TransactWriteAnswer& saved) {
    JsonWriter json;
    json.begin_object();
    json.key("Version");
    json.number(saved.version);
    json.end_object();
    return json.take();
}

}  // namespace rocklock
