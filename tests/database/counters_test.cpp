// Counters that threads increment under locks: no acknowledged increment is lost. Some threads work
// beyond their leases, and some abandon their sessions. They lock items with the lock API, and
// write them with the operations of the tables (P7).
#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>
#include <rocklock/items/change_set.hpp>

#include "database/orders.hpp"
#include "database/simulated_database.hpp"

namespace rocklock::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t clients = 16;
constexpr std::size_t counters = 3;
constexpr auto lease = limits::lease_min;

std::int64_t count_of(const std::optional<Item>& item) {
    if (!item) return 0;
    return std::stoll(item->find("count")->get_if<Number>()->to_string());
}

// The totals of all clients.
struct Tally {
    std::atomic<std::int64_t> done{0};
    std::atomic<int> late{0};
    std::atomic<int> left{0};
    std::atomic<int> unexpected{0};
};

class Client {
public:
    Client(Database& database, std::size_t index, Tally& tally)
        : database_(database),
          tables_(*database.tables().value()),
          name_("client-" + std::to_string(index)),
          random_(index + 1),
          tally_(tally) {}

    void count(const std::atomic<bool>& over) {
        while (!over) {
            // The lease is not renewed, and the session ends at the end of this block.
            SessionOptions options;
            options.lease = lease;
            options.renew = false;
            Session session = database_.open_session(name_, options).value();
            for (int i = 0; i < 10 && !over && session.valid(); ++i) {
                if (!count_once(session)) break;
            }
            std::ignore = session.close();
        }
    }

private:
    bool one_of(unsigned chances) { return random_() % chances == 0; }

    // Returns false if the session has ended.
    bool count_once(Session& session) {
        ItemToLock wanted;
        wanted.table = "orders";
        wanted.key = {{"id", std::to_string(random_() % counters)}};
        AcquireOptions patient;
        patient.patience = 1s;
        auto locked = session.acquire_item(tables_, wanted, patient);
        if (!locked) return false;
        Item next = wanted.key;
        next.set("count", Number(count_of(locked->item) + 1));
        if (one_of(20)) {
            // Simulates a killed process: no lock is released.
            ++tally_.left;
            locked->guard.detach();
            std::ignore = session.detach();
            session = {};
            return false;
        }
        const bool pauses = one_of(10);
        if (pauses) std::this_thread::sleep_for(lease + 20ms);
        judge(save(locked->guard, std::move(next)), pauses);
        return true;
    }

    Result<void> save(Guard& guard, Item next) {
        if (one_of(3)) {
            ChangeSet changes(tables_, name_, guard.proof());
            if (auto put = changes.put("orders", std::move(next)); !put) return put;
            return changes.commit(AfterSave::release);
        }
        WriteItem write;
        write.table = "orders";
        write.item = std::move(next);
        if (one_of(2)) {
            TransactWrite save;
            save.actions.push_back(std::move(write));
            auto saved = guard.save_and_release(tables_, std::move(save));
            return saved ? Result<void>() : std::move(saved).error();
        }
        write.proof = guard.proof();
        auto written = tables_.write_item(write);
        return written ? Result<void>() : std::move(written).error();
    }

    void judge(const Result<void>& saved, bool paused) {
        if (saved) {
            ++tally_.done;
            return;
        }
        const bool stale = saved.error().code == ErrorCode::stale_token ||
                           saved.error().code == ErrorCode::transaction_cancelled;
        if (stale) ++tally_.late;
        // A busy machine can delay a thread beyond its lease, so `stale` is expected without a
        // pause, too.
        if (!stale && !paused) ++tally_.unexpected;
    }

    Database& database_;
    TableService& tables_;
    const std::string name_;
    std::mt19937_64 random_;
    Tally& tally_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(counters_under_locks)

BOOST_AUTO_TEST_CASE(are_the_acknowledged_increments) {
    DatabaseOptions options;
    options.durability = Durability::written;
    Hosted host;
    Database database =
        host.connect_to(open_test_database(std::move(options)).value(), system_clock(), true);
    TableService& tables = *database.tables().value();
    create_orders(tables);
    bind_orders(tables);
    Tally tally;
    std::atomic<bool> over{false};
    {
        std::vector<std::jthread> running;
        for (std::size_t index = 0; index < clients; ++index) {
            running.emplace_back([&, index] { Client(database, index, tally).count(over); });
        }
        std::this_thread::sleep_for(3s);
        over = true;
    }
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < counters; ++i) {
        GetItem get;
        get.table = "orders";
        get.key = {{"id", std::to_string(i)}};
        sum += count_of(tables.get_item(get).value().item);
    }
    BOOST_TEST_MESSAGE(tally.done << " done, " << tally.late << " late, " << tally.left
                                  << " left behind");
    BOOST_TEST(sum == tally.done);
    BOOST_TEST(tally.unexpected == 0);
    BOOST_TEST(tally.late > 0);
    BOOST_TEST(tally.left > 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
