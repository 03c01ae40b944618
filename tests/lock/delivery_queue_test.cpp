// The queue of responses: their order, their reuse, and responses that wait for commits.
#include "lock/manager/delivery_queue.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/clock.hpp>
#include <rocklock/testing/faulty_storage.hpp>

namespace rocklock::manager {
namespace {

struct Queue {
    // A store with a queue: a commit is written by wait().
    std::unique_ptr<Storage> storage = std::make_unique<testing::FaultyStorage>(system_clock());
    DeliveryQueue queue;
    std::vector<std::string> delivered;

    void fill(Delivery& delivery, const std::string& name) {
        delivery.done = [this, name](const Result<Answer>&) { delivered.push_back(name); };
        delivery.answer = Answer(Released());
    }
    void add_ready(const std::string& name) { fill(queue.add_ready(), name); }
    // Adds a delivery that depends on a commit, and returns the commit.
    CommitNumber add_committing(const std::string& name) {
        Batch batch;
        batch.writes.push_back({Family::meta, "key", "12345678" + name});
        Delivery& delivery = queue.add_committing();
        delivery.dependency = {storage->enqueue(std::move(batch), Durability::written),
                               Durability::written};
        fill(delivery, name);
        return delivery.dependency.number;
    }
    // Delivers one batch. Returns the number of its deliveries.
    std::size_t deliver(std::size_t* max_ready = nullptr) {
        BOOST_TEST(queue.begin());
        auto batch = queue.take(*storage, max_ready);
        const std::size_t count = batch.size();
        for (Delivery& each : batch) {
            each.done(*std::move(each.answer));
            each.clear();
        }
        queue.give_back(batch);
        queue.end();
        return count;
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_queue_of_deliveries, Queue)

BOOST_AUTO_TEST_CASE(delivers_in_order_and_only_what_is_possible) {
    add_committing("c1");
    const auto second = add_committing("c2");
    add_ready("r1");
    add_ready("r2");
    BOOST_TEST(queue.completed(*storage) == 0U);
    BOOST_TEST(deliver() == 2U);
    BOOST_TEST((delivered == std::vector<std::string>{"r1", "r2"}));
    BOOST_TEST(storage->wait(second, Durability::written).has_value());
    BOOST_TEST(queue.completed(*storage) == 2U);
    const auto third = add_committing("c3");
    add_ready("r3");
    std::size_t none = 0;
    BOOST_TEST(deliver(&none) == 2U);
    BOOST_TEST((delivered == std::vector<std::string>{"r1", "r2", "c1", "c2"}));
    BOOST_TEST(queue.has_ready());
    BOOST_TEST(queue.has_committing());
    BOOST_TEST(storage->wait(third, Durability::written).has_value());
    std::size_t one = 1;
    BOOST_TEST(deliver(&one) == 2U);
    BOOST_TEST(one == 0U);
    BOOST_TEST(delivered[4] == "r3");
    BOOST_TEST(delivered[5] == "c3");
    BOOST_TEST(queue.empty());
    BOOST_TEST(queue.added() == 3U);
}

BOOST_AUTO_TEST_CASE(takes_batches_of_limited_size_and_reuses_empty_deliveries) {
    for (int round = 0; round < 3; ++round) {
        delivered.clear();
        for (int i = 0; i < 3'000; ++i) {
            Delivery& delivery = queue.add_ready();
            BOOST_TEST_REQUIRE((delivery.done == nullptr && !delivery.answer));
            fill(delivery, std::to_string(i));
        }
        std::size_t batches = 0;
        while (const auto count = deliver()) {
            BOOST_TEST(count <= 1024U);
            ++batches;
        }
        BOOST_TEST(batches == 3U);
        BOOST_TEST_REQUIRE(delivered.size() == 3'000U);
        for (int i = 0; i < 3'000; ++i) {
            BOOST_TEST_REQUIRE(delivered[static_cast<std::size_t>(i)] == std::to_string(i));
        }
    }
}

BOOST_AUTO_TEST_CASE(has_one_delivering_thread) {
    BOOST_TEST(queue.begin());
    BOOST_TEST(!queue.begin());
    queue.end();
    BOOST_TEST(queue.begin());
    queue.end();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::manager
