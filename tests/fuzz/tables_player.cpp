#include "fuzz/tables_player.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/parse.hpp>

#include <rocklock/items/table.hpp>
#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "fuzz/promise.hpp"
#include "lock/model/names.hpp"
#include "service/item_endpoint.hpp"

namespace rocklock {
namespace {

constexpr int internal_status = 500;
// An item has at most 32 levels, each of which is two levels of JSON.
constexpr std::size_t deepest = 100;
// All tables are checked after each input, so the number of calls is limited.
constexpr std::size_t max_calls = 32;

// Returns all keys and values of the tables in the store.
std::string everything(const Storage& storage) {
    std::string all;
    const auto snapshot = storage.snapshot();
    for (const Family family : {Family::items, Family::index}) {
        for (const auto cursor = snapshot->scan(family, {}, {}); cursor->valid(); cursor->next()) {
            all.append(cursor->key()).append(1, '\0').append(cursor->value()).append(1, '\0');
        }
    }
    return all;
}

class TableWorld {
public:
    TableWorld() {
        for (
            const auto* call :
            {R"(CreateTable {"TableName":"rows","BillingMode":"PAY_PER_REQUEST",
                "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},
                {"AttributeName":"sk","AttributeType":"N"},{"AttributeName":"g","AttributeType":"B"},
                {"AttributeName":"l","AttributeType":"S"}],
                "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},
                {"AttributeName":"sk","KeyType":"RANGE"}],
                "LocalSecondaryIndexes":[{"IndexName":"by-l","Projection":{"ProjectionType":"KEYS_ONLY"},
                "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},
                {"AttributeName":"l","KeyType":"RANGE"}]}],
                "GlobalSecondaryIndexes":[{"IndexName":"by-g","Projection":{"ProjectionType":"ALL"},
                "KeySchema":[{"AttributeName":"g","KeyType":"HASH"}]}]})",
             R"(CreateTable {"TableName":"locks","BillingMode":"PAY_PER_REQUEST",
                "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
                "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]})",
             R"(UpdateTimeToLive {"TableName":"locks",
                "TimeToLiveSpecification":{"AttributeName":"until","Enabled":true}})",
             R"(PutItem {"TableName":"rows","Item":{"pk":{"S":"a"},"sk":{"N":"1"},"g":{"B":"eA=="},
                "l":{"S":"l"},"n":{"N":"5"},"list":{"L":[{"S":"0"},{"N":"1"}]},
                "set":{"SS":["x","y"]},"map":{"M":{"in":{"BOOL":true}}}}})",
             R"(PutItem {"TableName":"rows","Item":{"pk":{"S":"a"},"sk":{"N":"2"},"l":{"S":"k"}}})",
             R"(PutItem {"TableName":"locks","Item":{"id":{"S":"1"},"until":{"N":"1"}}})"}) {
            require(call_tables(call).status == 200, "the tables can be made");
        }
    }

    void call(std::string_view line) {
        const auto before = everything(*storage_);
        const auto answer = call_tables(line);
        require(answer.status < internal_status, "no request is the server's fault");
        require(is_utf8(answer.body), "what is answered is text");
        if (answer.type != json_type) return;
        boost::system::error_code wrong;
        boost::json::parse_options options;
        options.max_depth = deepest;
        const auto json = boost::json::parse(answer.body, wrong, {}, options);
        require(!wrong && json.is_object(), "what is answered is JSON");
        if (answer.status == 200) return;
        require(json.as_object().contains("__type"), "what is refused is refused by name");
        require(everything(*storage_) == before, "what is refused changes nothing");
    }

    void check_indexes() {
        const auto listed = tables_->list_tables({}).value();
        for (const auto& name : listed.names) {
            const auto table = tables_->describe_table(name);
            require(table.has_value(), "a table that is listed can be described");
            const auto rows = items_of(name, std::nullopt);
            require(table->item_count == rows.size(), "items are counted as they change");
            for (const auto* indexes : {&table->local_indexes, &table->global_indexes}) {
                for (const auto& index : *indexes) check_index(*table, index, rows);
            }
        }
    }

private:
    void check_index(const TableDescription& table, const IndexDescription& index,
                     const std::vector<Item>& rows) {
        const auto entries = items_of(table.name, index.name).size();
        const auto belong = std::count_if(rows.begin(), rows.end(), [&](const Item& row) {
            return std::all_of(index.key.begin(), index.key.end(), [&](const KeyElement& part) {
                return can_be_key(table, part.attribute, row.find(part.attribute));
            });
        });
        require(static_cast<std::size_t>(belong) == entries,
                "an index has just the items that belong there");
        require(index.entry_count == entries, "entries are counted as they change");
    }

    // An item that is older than the index may have an attribute of another type, or an empty one.
    static bool can_be_key(const TableDescription& table, const std::string& attribute,
                           const AttributeValue* value) {
        if (value == nullptr || *value == AttributeValue("") ||
            *value == AttributeValue(Binary{})) {
            return false;
        }
        return std::any_of(table.attributes.begin(), table.attributes.end(), [&](const auto& one) {
            return one.name == attribute && one.type == value->type();
        });
    }

    ServiceAnswer call_tables(std::string_view line) {
        ServiceRequest request;
        const auto space = std::min(line.find(' '), line.size());
        request.target = "/";
        request.operation = "DynamoDB_20120810." + std::string(line.substr(0, space));
        request.host = "localhost";
        request.content_type = json_type;
        request.authorization = "AWS4-HMAC-SHA256 Credential=x, SignedHeaders=host, Signature=x";
        request.amz_date = "20261122T000000Z";
        request.body = line.substr(std::min(space + 1, line.size()));
        return answer_table_request(std::move(request), *tables_, nullptr, [](const Error& error) {
            require(false, "no request is the server's fault: " + error.message);
        });
    }

    std::vector<Item> items_of(const std::string& table, const std::optional<std::string>& index) {
        std::vector<Item> items;
        Scan scan;
        scan.table = table;
        scan.options.index = index;
        do {
            auto page = tables_->scan(scan);
            require(page.has_value(), "a table can be read");
            for (auto& item : page->items) items.push_back(std::move(item));
            scan.options.start_key = page->last_key;
        } while (scan.options.start_key);
        return items;
    }

    testing::SimulatedClock clock_;
    std::unique_ptr<Storage> storage_ = make_memory_storage(clock_);
    std::unique_ptr<TableService> tables_ = open_tables(*storage_, clock_).value();
};

}  // namespace

void play_tables(std::string_view input) {
    TableWorld world;
    for (std::size_t calls = 0; !input.empty() && calls < max_calls; ++calls) {
        const auto end = std::min(input.find('\n'), input.size());
        world.call(input.substr(0, end));
        input.remove_prefix(std::min(end + 1, input.size()));
    }
    world.check_indexes();
}

}  // namespace rocklock
