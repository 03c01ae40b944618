#include "history/table_access.hpp"

#include <stdexcept>
#include <utility>

namespace rocklock::proof {

namespace {

using Verb = TableRequest::Verb;

AttributeValue number_value(std::uint64_t number) { return Number(number); }

AttributeValue list_of(std::uint64_t number) {
    AttributeList list;
    list.push_back(number_value(number));
    return AttributeValue(std::move(list));
}

std::uint64_t number_in(const AttributeValue& value) {
    const auto* number = value.get_if<Number>();
    const auto whole = number != nullptr ? number->to_int64() : std::nullopt;
    if (!whole) throw std::runtime_error("no number of an operation");
    return static_cast<std::uint64_t>(*whole);
}

void demand(WriteItem& write, const Demand& wanted, std::vector<ValuePlaceholder>& values) {
    switch (wanted.kind) {
        case Demand::Kind::none:
            return;
        case Demand::Kind::absent:
            write.expressions.condition = "attribute_not_exists(k)";
            return;
        case Demand::Kind::present:
            write.expressions.condition = "attribute_exists(k)";
            return;
        case Demand::Kind::equals:
            write.expressions.condition = "latest = :seen";
            values.push_back({":seen", number_value(wanted.number)});
            return;
    }
}

class ServiceTableAccess final : public TableAccess {
public:
    ServiceTableAccess(TableService& service, HistoryKeys keys)
        : service_(service), keys_(std::move(keys)) {}

    TableReply ask(const TableRequest& request) override {
        switch (request.verb) {
            case Verb::get:
                return get(request);
            case Verb::batch_get:
                return batch_get(request);
            case Verb::transact_get:
                return transact_get(request);
            case Verb::write:
                return write(request);
            case Verb::transact_write:
                break;
        }
        return transact_write(request);
    }

private:
    static TableReply done() { return {TableReply::Result::done, {}, {}}; }

    static Trail trail(const std::optional<Item>& item) {
        return item ? HistoryKeys::trail_of(*item) : Trail{};
    }

    TableReply get(const TableRequest& request) {
        auto answer = service_.get_item(keys_.get_of(request.actions.front()));
        TableReply reply = done();
        reply.seen.emplace_back(trail(answer.value().item));
        return reply;
    }

    TableReply batch_get(const TableRequest& request) {
        auto answer = service_.batch_get(keys_.batch_of(request));
        std::vector<Item> items;
        for (auto& table : answer.value().tables) {
            for (Item& item : table.items) items.push_back(std::move(item));
        }
        TableReply reply = done();
        reply.seen = keys_.trails_of(request, items);
        return reply;
    }

    TableReply transact_get(const TableRequest& request) {
        TransactGet wanted;
        for (const TableAction& action : request.actions) {
            wanted.gets.push_back(keys_.get_of(action));
        }
        auto answer = service_.transact_get(wanted);
        TableReply reply = done();
        for (const auto& item : answer.value().items) reply.seen.emplace_back(trail(item));
        return reply;
    }

    TableReply write(const TableRequest& request) {
        auto answer =
            service_.write_item(keys_.write_of(request.actions.front(), request.number, true));
        TableReply reply = done();
        if (answer) {
            reply.seen.emplace_back(trail(answer->attributes));
            return reply;
        }
        const Error& error = answer.error();
        if (error.code != ErrorCode::condition_failed) throw std::runtime_error(error.message);
        reply.result = TableReply::Result::refused;
        reply.seen.emplace_back(error.item ? HistoryKeys::trail_of(*error.item) : Trail{});
        reply.failed = {true};
        return reply;
    }

    TableReply transact_write(const TableRequest& request) {
        TransactWrite wanted;
        if (!request.token.empty()) wanted.token = request.token;
        for (const TableAction& action : request.actions) {
            wanted.actions.push_back(keys_.write_of(action, request.number, false));
        }
        auto answer = service_.transact_write(wanted);
        TableReply reply = done();
        if (answer) {
            reply.seen.resize(request.actions.size());
            return reply;
        }
        const Error& error = answer.error();
        if (error.code != ErrorCode::transaction_cancelled) throw std::runtime_error(error.message);
        reply.result = TableReply::Result::refused;
        for (const CancellationReason& reason : error.reasons) {
            if (reason.code && *reason.code != ErrorCode::condition_failed) {
                throw std::runtime_error(error.message + ": " + reason.message);
            }
            reply.failed.push_back(reason.code.has_value());
            reply.seen.emplace_back();
            if (!reason.code) continue;
            reply.seen.back() = reason.item ? HistoryKeys::trail_of(*reason.item) : Trail{};
        }
        return reply;
    }

    TableService& service_;
    HistoryKeys keys_;
};

}  // namespace

std::vector<CreateTable> HistoryKeys::tables() {
    std::vector<CreateTable> tables;
    for (const std::uint32_t key : {0U, 1U}) {
        CreateTable& table = tables.emplace_back();
        table.table = table_of(key);
        table.billing = BillingMode::pay_per_request;
        table.attributes = {{"k", AttributeType::string}};
        table.key = {{"k", KeyType::hash}};
    }
    return tables;
}

Item HistoryKeys::key(std::uint32_t key) const {
    return Item{{"k", prefix_ + std::to_string(key)}};
}

GetItem HistoryKeys::get_of(const TableAction& action) const {
    GetItem get;
    get.table = table_of(action.key);
    get.key = key(action.key);
    get.consistent = true;
    return get;
}

WriteItem HistoryKeys::write_of(const TableAction& action, std::uint64_t number, bool alone) const {
    WriteItem write;
    write.table = table_of(action.key);
    write.item = key(action.key);
    std::vector<ValuePlaceholder> values;
    demand(write, action.demand, values);
    switch (action.effect) {
        case Effect::none:
            write.kind = WriteItem::Kind::check;
            break;
        case Effect::put:
            write.kind = WriteItem::Kind::put;
            write.item.set("latest", number_value(number));
            write.item.set("trail", list_of(number));
            break;
        case Effect::update:
            write.kind = WriteItem::Kind::update;
            write.expressions.update =
                "SET latest = :number, trail = list_append(if_not_exists(trail, :none), :trail)";
            values.push_back({":number", number_value(number)});
            values.push_back({":none", AttributeValue(AttributeList{})});
            values.push_back({":trail", list_of(number)});
            break;
        case Effect::remove:
            write.kind = WriteItem::Kind::remove;
            break;
    }
    if (!values.empty()) write.expressions.placeholders.values = std::move(values);
    write.return_item_on_failure = true;
    if (alone) write.return_values = ReturnValues::all_old;
    return write;
}

BatchGet HistoryKeys::batch_of(const TableRequest& request) const {
    BatchGet batch;
    for (const std::uint32_t side : {0U, 1U}) {
        BatchGet::Keys keys;
        keys.table = table_of(side);
        keys.consistent = true;
        for (const TableAction& action : request.actions) {
            if (action.key % 2 == side) keys.keys.push_back(key(action.key));
        }
        if (!keys.keys.empty()) batch.tables.push_back(std::move(keys));
    }
    return batch;
}

Trail HistoryKeys::trail_of(const Item& item) {
    const auto* latest = item.find("latest");
    const auto* list = item.find("trail");
    const auto* numbers = list != nullptr ? list->get_if<AttributeList>() : nullptr;
    if (latest == nullptr || numbers == nullptr || numbers->empty()) {
        throw std::runtime_error("an item without a trail");
    }
    Trail trail;
    for (const AttributeValue& number : *numbers) trail.push_back(number_in(number));
    if (trail.back() != number_in(*latest)) throw std::runtime_error("half an update");
    return trail;
}

std::vector<std::optional<Trail>> HistoryKeys::trails_of(const TableRequest& request,
                                                         const std::vector<Item>& items) const {
    std::vector<std::optional<Trail>> trails;
    for (const TableAction& action : request.actions) {
        trails.emplace_back(Trail{});
        const auto wanted = *key(action.key).find("k");
        for (const Item& item : items) {
            if (*item.find("k") == wanted) trails.back() = trail_of(item);
        }
    }
    return trails;
}

std::unique_ptr<TableAccess> table_access_to(TableService& service, const HistoryKeys& keys) {
    return std::make_unique<ServiceTableAccess>(service, keys);
}

}  // namespace rocklock::proof
