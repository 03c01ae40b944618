#include "wire/table_call.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>

#include "wire/json/json_writer.hpp"
#include "wire/json/member_reader.hpp"
#include "wire/table_json.hpp"

namespace rocklock {
namespace {

using Kind = WriteItem::Kind;

// Deeper than any valid request, so that values with too many levels are reported as such.
constexpr std::size_t max_levels = 256;

// Converts the answer of the tables to a response. `write` is called with the writer, the answer
// and the request, and adds members to the object of the response.
template <typename Answer, typename Request, typename Write>
Result<TableAnswer> answer_of(Result<Answer> answer, const Request& request, const Write& write) {
    if (!answer) return std::move(answer).error();
    JsonWriter json;
    json.begin_object();
    write(json, *answer, request);
    json.end_object();
    TableAnswer table_answer;
    table_answer.body = json.take();
    if constexpr (requires { answer->version; }) table_answer.version = answer->version;
    return table_answer;
}

// Copies the guards into each part of the request that has a member for them.
template <typename Request>
void show_guards([[maybe_unused]] const TableGuards& guards, Request& request) {
    [[maybe_unused]] const auto show_in = [&](auto& part) { part.proof = guards.proof; };
    if constexpr (requires { request.expected_version; }) {
        request.expected_version = guards.expected_version;
    }
    if constexpr (std::is_same_v<Request, WriteItem> || std::is_same_v<Request, TransactWrite>) {
        request.after = guards.after;
    }
    if constexpr (requires { request.from_draft; }) {
        if (!guards.drafts.empty()) request.from_draft = guards.drafts.front();
    }
    if constexpr (requires { request.from_drafts; }) request.from_drafts = guards.drafts;
    if constexpr (std::is_same_v<Request, CreateTable>) request.user = guards.user;
    if constexpr (requires { request.proof; }) {
        show_in(request);
    } else if constexpr (requires { request.options.proof; }) {
        show_in(request.options);
    } else if constexpr (std::is_same_v<Request, BatchWrite>) {
        std::for_each(request.writes.begin(), request.writes.end(), show_in);
    } else if constexpr (std::is_same_v<Request, TransactWrite>) {
        std::for_each(request.actions.begin(), request.actions.end(), show_in);
    }
}

constexpr auto write_alone = [](JsonWriter& json, const auto& answer, const auto& /*request*/) {
    table_json::write_answer(json, answer);
};

// Returns a call that passes the guards and the request to `ask`, and writes its answer with
// `write`.
template <typename Request, typename Ask, typename Write>
TableCall call_of(Request request, Ask ask, Write write) {
    return TableCall::Ask(
        [request = std::move(request), ask, write](
            TableService& tables, const TableGuards& guards) mutable -> Result<TableAnswer> {
            show_guards(guards, request);
            return answer_of(ask(tables, std::as_const(request)), request, write);
        });
}

// ---- Tables ----

template <bool in_table>
constexpr auto write_described =
    [](JsonWriter& json, const TableDescription& table, const auto& /*request*/) {
        json.key(in_table ? "Table" : "TableDescription");
        table_json::write_description(json, table);
    };

TableCall create_table(const MemberReader& json) {
    return call_of(
        table_json::read_create_table(json),
        [](TableService& tables, const auto& request) { return tables.create_table(request); },
        write_described<false>);
}

TableCall update_table(const MemberReader& json) {
    return call_of(
        table_json::read_update_table(json),
        [](TableService& tables, const auto& request) { return tables.update_table(request); },
        write_described<false>);
}

TableCall describe_table(const MemberReader& json) {
    return call_of(
        required_table(json),
        [](TableService& tables, const auto& table) { return tables.describe_table(table); },
        write_described<true>);
}

TableCall delete_table(const MemberReader& json) {
    return call_of(
        required_table(json),
        [](TableService& tables, const auto& table) { return tables.delete_table(table); },
        [](JsonWriter& writer, const TableDescription& table, const auto& /*request*/) {
            writer.key("TableDescription");
            table_json::write_short_description(writer, table);
        });
}

TableCall list_tables(const MemberReader& json) {
    return call_of(
        table_json::read_list_tables(json),
        [](TableService& tables, const auto& request) { return tables.list_tables(request); },
        [](JsonWriter& writer, const TableNames& names, const auto& /*request*/) {
            table_json::write_names(writer, names);
        });
}

// ---- Settings ----

TableCall update_time_to_live(const MemberReader& json) {
    return call_of(
        table_json::read_update_time_to_live(json),
        [](TableService& tables, const auto& request) {
            return tables.update_time_to_live(request);
        },
        [](JsonWriter& writer, const UpdateTimeToLive& answer, const auto& /*request*/) {
            table_json::write_specification(writer, answer);
        });
}

TableCall describe_time_to_live(const MemberReader& json) {
    return call_of(
        required_table(json),
        [](TableService& tables, const auto& table) { return tables.describe_time_to_live(table); },
        [](JsonWriter& writer, const TimeToLive& answer, const auto& /*request*/) {
            table_json::write_description(writer, answer);
        });
}

// As call_of(), for operations with an empty response.
template <typename Request, typename Ask>
TableCall silent_call(Request request, Ask ask) {
    return TableCall::Ask(
        [request = std::move(request), ask](TableService& tables,
                                            const TableGuards& /*guards*/) -> Result<TableAnswer> {
            auto done = ask(tables, request);
            if (!done) return std::move(done).error();
            return TableAnswer{};
        });
}

TableCall tag_resource(const MemberReader& json) {
    return silent_call(
        table_json::read_tag_resource(json),
        [](TableService& tables, const auto& request) { return tables.tag_resource(request); });
}

TableCall untag_resource(const MemberReader& json) {
    return silent_call(
        table_json::read_untag_resource(json),
        [](TableService& tables, const auto& request) { return tables.untag_resource(request); });
}

TableCall list_tags_of_resource(const MemberReader& json) {
    return call_of(
        table_json::read_list_tags(json),
        [](TableService& tables, const auto& request) {
            return tables.list_tags_of_resource(request);
        },
        [](JsonWriter& writer, const TagPage& page, const auto& /*request*/) {
            table_json::write_tags(writer, page);
        });
}

// Point-in-time recovery does not exist here and is always reported as disabled.
void write_no_backups(JsonWriter& writer) {
    writer.begin_object();
    writer.key("ContinuousBackupsDescription");
    writer.begin_object();
    writer.key("ContinuousBackupsStatus");
    writer.string("ENABLED");
    writer.key("PointInTimeRecoveryDescription");
    writer.begin_object();
    writer.key("PointInTimeRecoveryStatus");
    writer.string("DISABLED");
    writer.end_object();
    writer.end_object();
    writer.end_object();
}

// If the table does not exist, operations on backups fail with another exception than other
// operations.
TableCall describe_backups(const MemberReader& json) {
    return [table = required_table(json)](TableService& tables,
                                          const TableGuards& /*guards*/) -> Result<TableAnswer> {
        const auto found = tables.describe_table(table);
        if (!found && found.error().code == ErrorCode::resource_not_found) {
            return TableAnswer{
                write_modelled_error("TableNotFoundException", "Table not found: " + table),
                {},
                ErrorCode::resource_not_found};
        }
        if (!found) return Error(found.error());
        JsonWriter writer;
        write_no_backups(writer);
        return TableAnswer{writer.take(), {}};
    };
}

TableCall describe_limits(const MemberReader& /*json*/) {
    return [](TableService& tables, const TableGuards& /*guards*/) -> Result<TableAnswer> {
        JsonWriter json;
        json.begin_object();
        table_json::write_limits(json, tables.describe_limits());
        json.end_object();
        return TableAnswer{json.take(), {}};
    };
}

// ---- Items ----

template <Kind kind>
TableCall write_item(const MemberReader& json) {
    return table_json::read_write(json, kind);
}

TableCall get_item(const MemberReader& json) { return table_json::read_get(json); }

constexpr auto write_page = [](JsonWriter& json, const Page& page, const auto& request) {
    table_json::write_page(json, page, request.options);
};

TableCall query(const MemberReader& json) {
    return call_of(
        table_json::read_query(json),
        [](TableService& tables, const auto& request) { return tables.query(request); },
        write_page);
}

TableCall scan(const MemberReader& json) {
    return call_of(
        table_json::read_scan(json),
        [](TableService& tables, const auto& request) { return tables.scan(request); }, write_page);
}

TableCall batch_write(const MemberReader& json) {
    return call_of(
        table_json::read_batch_write(json),
        [](TableService& tables, const auto& request) { return tables.batch_write(request); },
        write_alone);
}

TableCall batch_get(const MemberReader& json) {
    return call_of(
        table_json::read_batch_get(json),
        [](TableService& tables, const auto& request) { return tables.batch_get(request); },
        write_alone);
}

TableCall transact_write(const MemberReader& json) {
    return call_of(
        table_json::read_transact_write(json),
        [](TableService& tables, const auto& request) { return tables.transact_write(request); },
        write_alone);
}

// If a key is invalid, DynamoDB returns only the message about this key, and no list of reasons.
Result<TransactGetAnswer> get_together(TableService& tables, const TransactGet& request) {
    auto answer = tables.transact_get(request);
    if (answer || answer.error().code != ErrorCode::transaction_cancelled) return answer;
    const auto& reasons = answer.error().reasons;
    const auto fault = std::find_if(reasons.begin(), reasons.end(), [](const auto& reason) {
        return reason.code == ErrorCode::invalid_argument;
    });
    if (fault == reasons.end()) return answer;
    return Error(ErrorCode::transaction_cancelled, fault->message);
}

TableCall transact_get(const MemberReader& json) {
    return call_of(table_json::read_transact_get(json), get_together, write_alone);
}

// Not called: the server answers with describe_endpoints().
TableCall no_call(const MemberReader& /*json*/) {
    return [](TableService& /*tables*/, const TableGuards& /*guards*/) -> Result<TableAnswer> {
        return TableAnswer{describe_endpoints({}), {}};
    };
}

constexpr auto operations = std::to_array<TableOperation>({
    {"BatchGetItem", batch_get},
    {"BatchWriteItem", batch_write},
    {"CreateTable", create_table},
    {"DeleteItem", write_item<Kind::remove>},
    {"DeleteTable", delete_table},
    {"DescribeContinuousBackups", describe_backups},
    {"DescribeEndpoints", no_call},
    {"DescribeLimits", describe_limits},
    {"DescribeTable", describe_table},
    {"DescribeTimeToLive", describe_time_to_live},
    {"GetItem", get_item},
    {"ListTables", list_tables},
    {"ListTagsOfResource", list_tags_of_resource},
    {"PutItem", write_item<Kind::put>},
    {"Query", query},
    {"Scan", scan},
    {"TagResource", tag_resource},
    {"TransactGetItems", transact_get},
    {"TransactWriteItems", transact_write},
    {"UntagResource", untag_resource},
    {"UpdateItem", write_item<Kind::update>},
    {"UpdateTable", update_table},
    {"UpdateTimeToLive", update_time_to_live},
});

// Operations of DynamoDB and DynamoDB Streams that are not implemented here.
constexpr auto others = std::to_array<std::string_view>({"BatchExecuteStatement",
                                                         "CreateBackup",
                                                         "CreateGlobalTable",
                                                         "DeleteBackup",
                                                         "DeleteResourcePolicy",
                                                         "DescribeBackup",
                                                         "DescribeContributorInsights",
                                                         "DescribeExport",
                                                         "DescribeGlobalTable",
                                                         "DescribeGlobalTableSettings",
                                                         "DescribeImport",
                                                         "DescribeKinesisStreamingDestination",
                                                         "DescribeStream",
                                                         "DescribeTableReplicaAutoScaling",
                                                         "DisableKinesisStreamingDestination",
                                                         "EnableKinesisStreamingDestination",
                                                         "ExecuteStatement",
                                                         "ExecuteTransaction",
                                                         "ExportTableToPointInTime",
                                                         "GetRecords",
                                                         "GetResourcePolicy",
                                                         "GetShardIterator",
                                                         "ImportTable",
                                                         "ListBackups",
                                                         "ListContributorInsights",
                                                         "ListExports",
                                                         "ListGlobalTables",
                                                         "ListImports",
                                                         "ListStreams",
                                                         "PutResourcePolicy",
                                                         "RestoreTableFromBackup",
                                                         "RestoreTableToPointInTime",
                                                         "UpdateContinuousBackups",
                                                         "UpdateContributorInsights",
                                                         "UpdateGlobalTable",
                                                         "UpdateGlobalTableSettings",
                                                         "UpdateKinesisStreamingDestination",
                                                         "UpdateTableReplicaAutoScaling"});

}  // namespace

std::span<const TableOperation> table_operations() { return operations; }

const TableOperation* find_table_operation(std::string_view name) {
    const auto* found = std::find_if(operations.begin(), operations.end(),
                                     [&](const auto& known) { return known.name == name; });
    return found == operations.end() ? nullptr : found;
}

bool is_service_operation(std::string_view name) {
    return find_table_operation(name) != nullptr ||
           std::find(others.begin(), others.end(), name) != others.end();
}

bool is_write_of_one_item(std::string_view operation) {
    return operation == "PutItem" || operation == "UpdateItem" || operation == "DeleteItem";
}

std::string describe_endpoints(std::string_view host) {
    // The time for which clients may cache the response, as in DynamoDB.
    constexpr int minutes = 1440;
    JsonWriter json;
    json.begin_object();
    json.key("Endpoints");
    json.begin_array();
    json.begin_object();
    json.key("Address");
    json.string(host);
    json.key("CachePeriodInMinutes");
    json.number(minutes);
    json.end_object();
    json.end_array();
    json.end_object();
    return json.take();
}

Result<TableBody> TableBody::parse(std::string_view text) {
    // Frees the memory of the body in one step.
    auto memory = std::make_shared<boost::json::monotonic_resource>();
    boost::json::parse_options options;
    options.max_depth = max_levels;
    boost::system::error_code error;
    auto json = boost::json::parse({text.data(), text.size()}, error, memory.get(), options);
    // DynamoDB returns no message in this case.
    if (error || !json.is_object()) return Error(ErrorCode::malformed, "");
    return TableBody(std::move(memory), std::move(json));
}

Result<TableCall> read_table_call(const TableOperation& operation, const TableBody& body) {
    RequestFaults faults;
    Result<TableCall> call = operation.read(MemberReader(body.members(), {}, faults));
    if (auto fault = faults.first()) call = *std::move(fault);
    return call;
}

std::optional<TableCall> read_usual_call(const TableOperation& operation, std::string_view body) {
    if (operation.name == "GetItem") {
        if (auto get = table_json::read_usual_get(body)) return TableCall(*std::move(get));
    } else if (operation.name == "PutItem" || operation.name == "DeleteItem") {
        const auto kind = operation.name == "PutItem" ? Kind::put : Kind::remove;
        if (auto write = table_json::read_usual_write(body, kind))
            return TableCall(*std::move(write));
    }
    return std::nullopt;
}

Result<TableAnswer> TableCall::operator()(TableService& tables, const TableGuards& guards) {
    if (auto* get = std::get_if<std::unique_ptr<GetItem>>(&request_)) {
        show_guards(guards, **get);
        return answer_of(tables.get_item(**get), **get, write_alone);
    }
    if (auto* write = std::get_if<std::unique_ptr<WriteItem>>(&request_)) {
        show_guards(guards, **write);
        return answer_of(tables.write_item(**write), **write, write_alone);
    }
    return std::get<Ask>(request_)(tables, guards);
}

std::optional<Result<TableAnswer>> TableCall::answer_from_cache(TableService& tables) const {
    const auto* get = std::get_if<std::unique_ptr<GetItem>>(&request_);
    if (get == nullptr) return std::nullopt;
    auto answer = tables.get_cached_item(**get);
    if (!answer) return std::nullopt;
    return answer_of(*std::move(answer), **get, write_alone);
}

std::unique_ptr<PendingWrite> TableCall::begin_write(TableService& tables) const {
    const auto* write = std::get_if<std::unique_ptr<WriteItem>>(&request_);
    return write != nullptr ? tables.begin_write(**write) : nullptr;
}

Result<TableAnswer> write_answer_of(Result<WriteAnswer> answer) {
    return answer_of(std::move(answer), WriteItem(), write_alone);
}

}  // namespace rocklock
