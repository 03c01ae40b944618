#include "daemon/table_work.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/drive.hpp"
#include "daemon/table_client.hpp"

namespace rocklock::bench {
namespace {

constexpr std::size_t items_per_client = 64;

std::string name_of(std::size_t client, std::size_t item) {
    return "orders/" + std::to_string(100'000 + client) + "/" + std::to_string(100'000 + item);
}

// An item as used for a lock: six attributes, 170 bytes.
std::string item(const std::string& name) {
    return R"({"id":{"S":")" + name +
           R"("},"holder":{"S":"billing-worker-3"},"expired_at":{"N":"1795284000"},)"
           R"("fence":{"N":"3706140701491200"},"state":{"S":"normal"},"revision":{"N":"17"}})";
}

std::string key(const std::string& name) {
    return R"({"TableName":"bench","Key":{"id":{"S":")" + name + R"("}})";
}

std::string put(const std::string& name) { return R"({"TableName":"bench","Item":)" + item(name); }

// Returns the elements of a list with items_per_batch items, beginning with item `first` of the
// client and continuing with its first items after its last one.
template <typename ElementOf>
std::string elements(std::size_t client, std::size_t first, const ElementOf& element_of) {
    static_assert(items_per_batch < items_per_client, "a batch must not contain an item twice");
    std::string list;
    for (std::size_t i = 0; i < items_per_batch; ++i) {
        const auto name = name_of(client, (first + i) % items_per_client);
        list.append(i > 0 ? "," : "").append(element_of(item(name)));
    }
    return list;
}

std::string batch(std::size_t client, std::size_t first) {
    return R"({"RequestItems":{"bench":[)" +
           elements(
               client, first,
               [](const std::string& made) { return R"({"PutRequest":{"Item":)" + made + "}}"; }) +
           "]}}";
}

std::string transaction(std::size_t client, std::size_t first) {
    return R"({"TransactItems":[)" +
           elements(client, first,
                    [](const std::string& made) {
                        return R"({"Put":{"TableName":"bench","Item":)" + made + "}}";
                    }) +
           "]}";
}

// One client. Its requests are built in advance, outside of the measured time.
class Asker {
public:
    Asker(int socket, TableWork work, std::size_t number) : client_(socket) {
        for (std::size_t i = 0; i < items_per_client; ++i) add(work, number, i);
    }

    // Sends the next request. If `stop` is true and no operation is incomplete, sends nothing and
    // returns false. (The operation TableWork::pair consists of two requests.)
    bool proceed(bool stop) {
        const bool between = next_ % requests_per_piece_ == 0;
        if (between && asked_) ++pieces_;
        if (between && stop) return false;
        const auto& request = requests_[next_++ % requests_.size()];
        asked_ = true;
        client_.ask(request, answer_begin_);
        return true;
    }

    Client& client() { return client_; }
    std::uint64_t pieces() const { return pieces_; }

private:
    void add(TableWork work, std::size_t client, std::size_t item) {
        const auto name = name_of(client, item);
        switch (work) {
            case TableWork::batch:
                answer_begin_ = R"({"UnprocessedItems":{})";
                if (item % items_per_batch == 0) {
                    requests_.push_back(table_request("BatchWriteItem", batch(client, item)));
                }
                return;
            case TableWork::transaction:
                if (item % items_per_batch == 0) {
                    requests_.push_back(
                        table_request("TransactWriteItems", transaction(client, item)));
                }
                return;
            case TableWork::get:
                answer_begin_ = R"({"Item":{")";
                requests_.push_back(table_request("GetItem", key(name) + "}"));
                return;
            case TableWork::put:
                requests_.push_back(table_request("PutItem", put(name) + "}"));
                return;
            case TableWork::pair:
                requests_per_piece_ = 2;
                requests_.push_back(table_request(
                    "PutItem", put(name + "/lock") +
                                   R"-(,"ConditionExpression":"attribute_not_exists(id)"})-"));
                requests_.push_back(table_request(
                    "DeleteItem",
                    key(name + "/lock") +
                        R"(,"ConditionExpression":"holder = :holder",)"
                        R"("ExpressionAttributeValues":{":holder":{"S":"billing-worker-3"}}})"));
                return;
        }
    }

    TableClient client_;
    std::vector<std::string> requests_;
    std::size_t requests_per_piece_ = 1;
    std::string_view answer_begin_ = "{";
    std::size_t next_ = 0;
    bool asked_ = false;
    std::uint64_t pieces_ = 0;
};

}  // namespace

void fill_table(const Connect& connect, std::size_t clients) {
    TableClient client(connect());
    client.call("CreateTable",
                R"({"TableName":"bench","AttributeDefinitions":[{"AttributeName":"id",)"
                R"("AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],)"
                R"("BillingMode":"PAY_PER_REQUEST"})");
    while (client.call("DescribeTable", R"({"TableName":"bench"})").find(R"("ACTIVE")") ==
           std::string::npos) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    for (std::size_t number = 0; number < clients; ++number) {
        for (std::size_t i = 0; i < items_per_client; ++i) {
            client.ask(table_request("PutItem", put(name_of(number, i)) + "}"), "{");
            client.await();
        }
    }
}

TableRun measure_table(const Connect& connect, TableWork work, std::size_t clients,
                       std::size_t threads, std::chrono::milliseconds duration) {
    std::vector<std::unique_ptr<Asker>> askers;
    std::vector<Work> all;
    for (std::size_t i = 0; i < clients; ++i) {
        auto& asker = *askers.emplace_back(std::make_unique<Asker>(connect(), work, i));
        all.push_back({&asker.client(), [&asker](bool stop) { return asker.proceed(stop); }});
    }
    const double seconds = drive(all, threads, duration);
    std::uint64_t sum = 0;
    for (const auto& asker : askers) sum += asker->pieces();
    return {static_cast<double>(sum), seconds};
}

}  // namespace rocklock::bench
