// A client's way to tables: requests as a history tells them, asked of whatever has the tables.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/items/table.hpp>

#include "history/history.hpp"

namespace rocklock::proof {

// What is asked of one item. Without an effect it is read, or in a transaction of writes checked.
struct TableAction {
    std::uint32_t key = 0;
    Effect effect = Effect::none;
    Demand demand{};
};

struct TableRequest {
    enum class Verb : std::uint8_t { get, batch_get, transact_get, write, transact_write };

    Verb verb = Verb::get;
    std::uint64_t number = 0;
    std::vector<TableAction> actions;
    // Of a transaction; empty: none.
    std::string token;
};

struct TableReply {
    enum class Result : std::uint8_t { done, refused, open };

    Result result = Result::open;
    // Of each action: what its item was, where the answer says so.
    std::vector<std::optional<Trail>> seen;
    // Of each action of what was refused: whether its condition failed.
    std::vector<bool> failed;
};

// One thread. What is no answer to such a request is thrown, as a std::runtime_error.
class TableDoor {
public:
    TableDoor() = default;
    TableDoor(const TableDoor&) = delete;
    TableDoor& operator=(const TableDoor&) = delete;
    virtual ~TableDoor() = default;

    // Without an answer it returns when what was asked can no longer happen.
    virtual TableReply ask(const TableRequest& request) = 0;
};

// Keys of one history, in two tables that others may use too.
class HistoryKeys {
public:
    explicit HistoryKeys(std::string prefix) : prefix_(std::move(prefix)) {}

    static std::vector<CreateTable> tables();
    static std::string table_of(std::uint32_t key) { return key % 2 == 0 ? "left" : "right"; }
    Item key(std::uint32_t key) const;

    GetItem get_of(const TableAction& action) const;
    WriteItem write_of(const TableAction& action, std::uint64_t number, bool alone) const;
    BatchGet batch_of(const TableRequest& request) const;

    // Errors: std::runtime_error for an item that is none of ours, or was torn.
    static Trail trail_of(const Item& item);
    // Of each action, by the items that there are.
    std::vector<std::optional<Trail>> trails_of(const TableRequest& request,
                                                const std::vector<Item>& items) const;

private:
    std::string prefix_;
};

// `service` must outlive it.
std::unique_ptr<TableDoor> door_to(TableService& service, const HistoryKeys& keys);

}  // namespace rocklock::proof
