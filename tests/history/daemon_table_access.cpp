#include "history/daemon_table_access.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "history/http_line.hpp"
#include "wire/json/attribute_json.hpp"

namespace rocklock::proof {

namespace {

// ---- Requests ----

void write_placeholders(JsonWriter& json, const WriteItem& write) {
    const auto& values = write.expressions.placeholders.values;
    if (!values) return;
    json.key("ExpressionAttributeValues");
    json.begin_object();
    for (const auto& [placeholder, value] : *values) {
        json.foreign_key(placeholder);
        write_attribute_value(json, value);
    }
    json.end_object();
}

void write_members(JsonWriter& json, const WriteItem& write) {
    json.begin_object();
    json.key("TableName");
    json.string(write.table);
    json.key(write.kind == WriteItem::Kind::put ? "Item" : "Key");
    write_item(json, write.item);
    if (write.expressions.condition) {
        json.key("ConditionExpression");
        json.string(*write.expressions.condition);
    }
    if (write.expressions.update) {
        json.key("UpdateExpression");
        json.string(*write.expressions.update);
    }
    write_placeholders(json, write);
    json.key("ReturnValuesOnConditionCheckFailure");
    json.string("ALL_OLD");
    if (write.return_values == ReturnValues::all_old) {
        json.key("ReturnValues");
        json.string("ALL_OLD");
    }
    json.end_object();
}

void write_get(JsonWriter& json, const GetItem& get, bool alone) {
    json.begin_object();
    json.key("TableName");
    json.string(get.table);
    json.key("Key");
    write_item(json, get.key);
    if (alone) {
        json.key("ConsistentRead");
        json.boolean(true);
    }
    json.end_object();
}

std::string batch_body(const BatchGet& batch) {
    JsonWriter json;
    json.begin_object();
    json.key("RequestItems");
    json.begin_object();
    for (const auto& table : batch.tables) {
        json.foreign_key(table.table);
        json.begin_object();
        json.key("ConsistentRead");
        json.boolean(true);
        json.key("Keys");
        json.begin_array();
        for (const auto& key : table.keys) write_item(json, key);
        json.end_array();
        json.end_object();
    }
    json.end_object();
    json.end_object();
    return json.take();
}

std::string transaction_body(const HistoryKeys& keys, const TableRequest& request) {
    JsonWriter json;
    json.begin_object();
    json.key("TransactItems");
    json.begin_array();
    for (const TableAction& action : request.actions) {
        json.begin_object();
        if (request.verb == TableRequest::Verb::transact_get) {
            json.key("Get");
            write_get(json, keys.get_of(action), false);
        } else {
            static constexpr std::array<std::string_view, 4> names{"ConditionCheck", "Put",
                                                                   "Update", "Delete"};
            json.key(names[static_cast<std::size_t>(action.effect)]);
            write_members(json, keys.write_of(action, request.number, false));
        }
        json.end_object();
    }
    json.end_array();
    if (!request.token.empty()) {
        json.key("ClientRequestToken");
        json.string(request.token);
    }
    json.end_object();
    return json.take();
}

// ---- Answers ----

// Returns the trail of the item. If there is no item, the trail is empty.
Trail trail_in(const boost::json::value* item) {
    if (item == nullptr) return {};
    return HistoryKeys::trail_of(read_item(*item).value());
}

class DaemonTableAccess final : public TableAccess {
public:
    DaemonTableAccess(std::string socket, HistoryKeys keys)
        : socket_(std::move(socket)), keys_(std::move(keys)) {}

    TableReply ask(const TableRequest& request) override {
        if (!line_) line_.emplace(connect_in_time(socket_));
        const auto [operation, body] = encoded(request);
        const auto answer = line_->post(dynamodb_target + operation, body);
        if (!answer) {
            // The kernel closes the connections after the last thread of the daemon has ended. From
            // now on, none of its requests can take effect.
            line_.reset();
            return {};
        }
        const auto json = boost::json::parse(answer->body);
        if (answer->status == 200) return done(request, json);
        return refused(request, json);
    }

private:
    std::pair<std::string, std::string> encoded(const TableRequest& request) const;
    TableReply done(const TableRequest& request, const boost::json::value& json) const;
    static TableReply refused(const TableRequest& request, const boost::json::value& json);

    std::string socket_;
    HistoryKeys keys_;
    std::optional<HttpLine> line_;
};

std::pair<std::string, std::string> DaemonTableAccess::encoded(const TableRequest& request) const {
    JsonWriter json;
    const TableAction& first = request.actions.front();
    switch (request.verb) {
        case TableRequest::Verb::get:
            write_get(json, keys_.get_of(first), true);
            return {"GetItem", json.take()};
        case TableRequest::Verb::batch_get:
            return {"BatchGetItem", batch_body(keys_.batch_of(request))};
        case TableRequest::Verb::transact_get:
            return {"TransactGetItems", transaction_body(keys_, request)};
        case TableRequest::Verb::transact_write:
            return {"TransactWriteItems", transaction_body(keys_, request)};
        case TableRequest::Verb::write:
            break;
    }
    write_members(json, keys_.write_of(first, request.number, true));
    const char* const operation = first.effect == Effect::put      ? "PutItem"
                                  : first.effect == Effect::update ? "UpdateItem"
                                                                   : "DeleteItem";
    return {operation, json.take()};
}

TableReply DaemonTableAccess::done(const TableRequest& request,
                                   const boost::json::value& json) const {
    TableReply reply{TableReply::Result::done, {}, {}};
    const auto& members = json.as_object();
    switch (request.verb) {
        case TableRequest::Verb::get:
            reply.seen.emplace_back(trail_in(members.if_contains("Item")));
            break;
        case TableRequest::Verb::batch_get: {
            std::vector<Item> items;
            for (const auto& table : members.at("Responses").as_object()) {
                for (const auto& item : table.value().as_array()) {
                    items.push_back(read_item(item).value());
                }
            }
            reply.seen = keys_.trails_of(request, items);
            break;
        }
        case TableRequest::Verb::transact_get:
            for (const auto& response : members.at("Responses").as_array()) {
                reply.seen.emplace_back(trail_in(response.as_object().if_contains("Item")));
            }
            break;
        case TableRequest::Verb::write:
            reply.seen.emplace_back(trail_in(members.if_contains("Attributes")));
            break;
        case TableRequest::Verb::transact_write:
            reply.seen.resize(request.actions.size());
            break;
    }
    return reply;
}

TableReply DaemonTableAccess::refused(const TableRequest& request, const boost::json::value& json) {
    TableReply reply{TableReply::Result::refused, {}, {}};
    const auto& members = json.as_object();
    const std::string_view type = members.at("__type").as_string();
    if (request.verb == TableRequest::Verb::write &&
        type.ends_with("#ConditionalCheckFailedException")) {
        reply.seen.emplace_back(trail_in(members.if_contains("Item")));
        reply.failed = {true};
        return reply;
    }
    if (!type.ends_with("#TransactionCanceledException")) {
        throw std::runtime_error(boost::json::serialize(json));
    }
    for (const auto& reason : members.at("CancellationReasons").as_array()) {
        const auto& of_one = reason.as_object();
        const std::string_view code = of_one.at("Code").as_string();
        if (code != "None" && code != "ConditionalCheckFailed") {
            throw std::runtime_error(boost::json::serialize(json));
        }
        reply.failed.push_back(code != "None");
        reply.seen.emplace_back();
        if (code != "None") reply.seen.back() = trail_in(of_one.if_contains("Item"));
    }
    return reply;
}

}  // namespace

// ---- The daemon ----

TableDaemon::TableDaemon(const std::string& directory, std::vector<std::string> options, Kind kind)
    : directory_(directory),
      socket_(directory + "/sock"),
      options_(std::move(options)),
      kind_(kind) {
    start();
}

TableDaemon::~TableDaemon() { kill(); }

void TableDaemon::kill_and_start() {
    kill();
    start();
}

void TableDaemon::kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = 0;
}

void TableDaemon::start() {
    const char* const program = std::getenv("ROCKLOCK_PROGRAM");
    if (program == nullptr) throw std::runtime_error("ROCKLOCK_PROGRAM is not set");
    const std::string configuration = directory_ + "/rocklock.conf";
    const std::string log = directory_ + "/log";
    // Keeps the test independent of configuration files in /etc.
    std::vector<std::string> variables{"ROCKLOCK_CONFIG=" + configuration};
    for (const char* name : {"PATH", "HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS"}) {
        if (const char* value = std::getenv(name)) {
            variables.push_back(std::string(name) + "=" + value);
        }
    }
    std::vector<std::string> words{program, "serve", "--socket", socket_};
    if (kind_ == Kind::manager) words.insert(words.end(), {"--db", directory_ + "/db"});
    words.insert(words.end(), options_.begin(), options_.end());
    std::vector<char*> environment;
    std::vector<char*> arguments;
    for (auto& variable : variables) environment.push_back(variable.data());
    for (auto& word : words) arguments.push_back(word.data());
    environment.push_back(nullptr);
    arguments.push_back(nullptr);

    posix_spawn_file_actions_t files{};
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, configuration.c_str(), O_RDONLY | O_CREAT, 0600);
    posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    const int failed =
        posix_spawn(&process_, program, &files, nullptr, arguments.data(), environment.data());
    posix_spawn_file_actions_destroy(&files);
    if (failed != 0) throw std::runtime_error(std::string(program) + " does not start");
    close(connect_in_time(socket_));
}

std::uint16_t TableDaemon::port() const {
    static constexpr std::string_view address = "listening on http://127.0.0.1:";
    // The daemon logs its addresses just after it accepts connections.
    while (true) {
        std::ifstream log(directory_ + "/log");
        const std::string text(std::istreambuf_iterator<char>(log), {});
        const auto found = text.rfind(address);
        if (found != std::string::npos && text.find('\n', found) != std::string::npos) {
            return static_cast<std::uint16_t>(std::stoul(text.substr(found + address.size())));
        }
        std::this_thread::yield();
    }
}

void call_daemon(const std::string& socket, const std::string& operation, const std::string& body) {
    HttpLine line(connect_in_time(socket));
    const auto answer = line.post(dynamodb_target + operation, body);
    if (!answer || answer->status != 200) {
        throw std::runtime_error(operation + ": " + (answer ? answer->body : "no answer"));
    }
}

std::unique_ptr<TableAccess> table_access_to(const std::string& socket, const HistoryKeys& keys) {
    return std::make_unique<DaemonTableAccess>(socket, keys);
}

}  // namespace rocklock::proof
