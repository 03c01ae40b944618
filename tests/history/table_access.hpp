// The interface through which a client accesses tables. Requests and replies have the form that is
// recorded in a history.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/items/table.hpp>

#include "history/history.hpp"

namespace rocklock::proof {

// An action on one item. If it has no effect, the item is read, or checked in a write transaction.
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
    // The idempotency token of a transaction. Empty if the request has no token.
    std::string token;
};

struct TableReply {
    enum class Result : std::uint8_t { done, refused, open };

    Result result = Result::open;
    // For each action, the item before the action, if the response contains it.
    std::vector<std::optional<Trail>> seen;
    // For each action of a refused request, whether its condition failed.
    std::vector<bool> failed;
};

// Threads: one. For an unexpected response, functions throw std::runtime_error.
class TableAccess {
public:
    TableAccess() = default;
    TableAccess(const TableAccess&) = delete;
    TableAccess& operator=(const TableAccess&) = delete;
    virtual ~TableAccess() = default;

    // Sends the request and returns its reply. If there is no response, returns only when the
    // request can no longer take effect.
    virtual TableReply ask(const TableRequest& request) = 0;
};

// The keys of the items of one history. They are in two tables, which other histories can also use.
class HistoryKeys {
public:
    explicit HistoryKeys(std::string prefix) : prefix_(std::move(prefix)) {}

    static std::vector<CreateTable> tables();
    static std::string table_of(std::uint32_t key) { return key % 2 == 0 ? "left" : "right"; }
    Item key(std::uint32_t key) const;

    GetItem get_of(const TableAction& action) const;
    WriteItem write_of(const TableAction& action, std::uint64_t number, bool alone) const;
    BatchGet batch_of(const TableRequest& request) const;

    // Errors: std::runtime_error if the item was not written by a history, or is inconsistent.
    static Trail trail_of(const Item& item);
    // Returns the trail of each action's item, taken from `items`.
    std::vector<std::optional<Trail>> trails_of(const TableRequest& request,
                                                const std::vector<Item>& items) const;

private:
    std::string prefix_;
};

// `service` must outlive the result.
std::unique_ptr<TableAccess> table_access_to(TableService& service, const HistoryKeys& keys);

}  // namespace rocklock::proof
