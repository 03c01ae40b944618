#include <chrono>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "etcd/real_etcd.hpp"

namespace rocklock::etcd {

namespace {

using namespace std::chrono_literals;
using boost::unit_test::precondition;
using testing::has_etcd;
using testing::RealEtcd;

// On a busy machine a write to the disk can take seconds.
constexpr auto timeout = 20s;

// Keys with a prefix of their own. Most cases share one member.
struct Watched {
    RealEtcd& etcd;
    const std::string prefix;
    std::unique_ptr<Client> client = etcd.client();

    explicit Watched(RealEtcd& server = shared_member())
        : etcd(server),
          prefix("watched/" + boost::unit_test::framework::current_test_case().p_name.get() + "/") {
    }

    static RealEtcd& shared_member() {
        static RealEtcd member;
        return member;
    }

    Revision write(int keys, const std::string& value) {
        Txn txn;
        for (int i = 0; i < keys; ++i) txn.success.emplace_back(Put{key(i), value, 0});
        return client->txn(txn, timeout).value().header.revision;
    }
    std::string key(int number) const { return prefix + std::to_string(100 + number); }
    Result<std::unique_ptr<Watch>> start_watch(Revision first) {
        return client->watch(prefix, prefix + '\xff', first);
    }
    std::unique_ptr<Watch> watch(Revision first) { return start_watch(first).value(); }
};

// Returns the revisions of the watched changes up to `last`, with the number of their changes.
std::vector<std::pair<Revision, int>> revisions_until(Watch& watch, Revision last) {
    std::vector<std::pair<Revision, int>> found;
    while (found.empty() || found.back().first < last) {
        const auto changes = watch.next(timeout).value();
        BOOST_REQUIRE(changes.has_value());
        Revision previous = 0;
        for (const WatchEvent& event : changes->events) {
            if (event.kv.mod_revision != previous) found.emplace_back(event.kv.mod_revision, 0);
            previous = event.kv.mod_revision;
            ++found.back().second;
        }
        BOOST_TEST(changes->header.revision >= previous);
    }
    return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_watch, *precondition(has_etcd))

BOOST_FIXTURE_TEST_CASE(reports_changes_of_its_keys, Watched) {
    const Revision first = write(1, "old");
    const auto watch = this->watch(first + 1);
    BOOST_TEST(!watch->next(0ms).value().has_value());
    Txn txn;
    txn.success.emplace_back(Put{key(0), "new", 0});
    txn.success.emplace_back(Put{"other", "", 0});
    client->txn(txn, timeout).value();
    const auto changes = watch->next(timeout).value().value();
    BOOST_REQUIRE(changes.events.size() == 1U);
    BOOST_TEST(!changes.events[0].deleted);
    BOOST_TEST(changes.events[0].kv.key == key(0));
    BOOST_TEST(changes.events[0].kv.value == "new");
    BOOST_TEST(changes.events[0].kv.create_revision == first);
    BOOST_TEST(changes.events[0].kv.mod_revision == first + 1);

    Txn remove;
    remove.success.emplace_back(DeleteRange{.key = key(0), .end = {}});
    client->txn(remove, timeout).value();
    const auto deletion = watch->next(timeout).value().value();
    BOOST_REQUIRE(deletion.events.size() == 1U);
    BOOST_TEST(deletion.events[0].deleted);
    BOOST_TEST(deletion.events[0].kv.key == key(0));
    BOOST_TEST(deletion.events[0].kv.mod_revision == first + 2);

    // Without changes, next() returns after its timeout.
    BOOST_TEST(!watch->next(50ms).value().has_value());
    BOOST_TEST(!watch->next(50ms).value().has_value());
}

BOOST_FIXTURE_TEST_CASE(never_divides_the_changes_of_a_revision, Watched) {
    // More than 1,000 revisions are sent in several responses. Together, they are larger than the
    // default limit of gRPC for a message.
    const std::string value(100, 'x');
    const Revision first = write(10, value);
    const auto live = watch(first);
    for (int i = 0; i < 1'500; ++i) write(10, value);
    const Revision last = write(100, std::string(10'000, 'x'));
    const auto late = watch(first);
    for (const auto& watch : {live.get(), late.get()}) {
        const auto found = revisions_until(*watch, last);
        BOOST_TEST(found.size() == static_cast<std::size_t>(last - first + 1));
        for (std::size_t i = 0; i < found.size(); ++i) {
            BOOST_TEST_REQUIRE(found[i].first == first + static_cast<Revision>(i));
            BOOST_TEST_REQUIRE(found[i].second == (found[i].first == last ? 100 : 10));
        }
    }
}

BOOST_FIXTURE_TEST_CASE(receives_a_thousand_large_revisions_in_one_response, Watched) {
    const std::string value(90'000, 'x');
    const Revision first = write(1, value);
    for (int i = 0; i < 900; ++i) write(1, value);
    const Revision last = write(1, value);
    const auto watch = this->watch(first);
    BOOST_TEST(revisions_until(*watch, last).size() == 902U);
}

BOOST_FIXTURE_TEST_CASE(reports_that_its_revision_has_been_compacted, Watched) {
    const Revision first = write(1, "1");
    write(1, "2");
    client->compact(write(1, "3"), timeout).value();
    const auto watch = this->watch(first);
    const auto changes = watch->next(timeout);
    BOOST_REQUIRE(!changes);
    BOOST_TEST((changes.error().code == ErrorCode::precondition_failed));
}

BOOST_FIXTURE_TEST_CASE(is_cancelled_by_another_thread, Watched) {
    const auto watch = this->watch(write(1, "1") + 1);
    BOOST_TEST(!watch->next(1ms).value().has_value());
    const auto begin = std::chrono::steady_clock::now();
    std::thread other([&] { watch->cancel(); });
    const auto changes = watch->next(20s);
    other.join();
    BOOST_REQUIRE(!changes);
    BOOST_TEST((changes.error().code == ErrorCode::closing));
    BOOST_TEST((std::chrono::steady_clock::now() - begin < 10s));
    BOOST_TEST((watch->next(1ms).error().code == ErrorCode::closing));
}

BOOST_FIXTURE_TEST_CASE(ends_with_its_member_and_can_be_started_again, Watched) {
    const Revision first = write(1, "1");
    auto watch = this->watch(first);
    BOOST_TEST(watch->next(timeout).value().has_value());
    etcd.kill();
    const auto ended = watch->next(timeout);
    BOOST_REQUIRE(!ended);
    BOOST_TEST((ended.error().code == ErrorCode::unreachable));
    // For a moment, the client may still consider the connection usable. The watch then ends at
    // once.
    const auto refused = [&]() -> Error {
        const auto other = client->watch("watched/", "", first);
        if (!other) return other.error();
        const auto changes = (*other)->next(timeout);
        BOOST_REQUIRE(!changes);
        return changes.error();
    }();
    BOOST_TEST((refused.code == ErrorCode::unreachable));

    etcd.start();
    etcd.await_ready();
    RealEtcd::await_connection(*client);
    const Revision second = write(1, "2");
    watch = this->watch(first + 1);
    BOOST_TEST(watch->next(timeout).value().value().events.at(0).kv.mod_revision == second);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::etcd
