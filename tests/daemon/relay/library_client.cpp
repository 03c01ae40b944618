// Uses the daemon at a socket through the public library, as an application would:
//
//     library_client SOCKET           Prints a line for each part that worked.
//     library_client SOCKET repeat    For each line of its input, acquires and releases locks 50
//                                     times, with two threads, and prints a line.
//     library_client SOCKET large     Acquires 200 sets, whose names have 40 KB, and prints the
//                                     longest time in milliseconds.
//
// Exits with 1 at the first failure.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <rocklock/database.hpp>

namespace {

using namespace std::chrono_literals;
using rocklock::ErrorCode;

void require(bool holds, const std::string& what) {
    if (holds) return;
    std::cerr << "failed: " << what << '\n';
    std::exit(1);
}

template <typename T>
T value_of(rocklock::Result<T> result, const std::string& what) {
    if (!result) std::cerr << result.error().message << '\n';
    require(result.has_value(), what);
    return *std::move(result);
}

void lock_and_wait(rocklock::Database& database, rocklock::Session& ann, rocklock::Session& bob) {
    auto held = value_of(ann.acquire("library/42"), "a free resource is locked");
    require(held.valid() && held.remaining() > 0ms, "the lock is valid");
    const auto refused = bob.acquire("library/42");
    require(!refused && refused.error().code == ErrorCode::conflict, "a second holder is refused");
    require(refused.error().message.find("ann") != std::string::npos, "the error names the holder");

    rocklock::AcquireOptions waiting;
    waiting.patience = 30s;
    auto waiter =
        std::async(std::launch::async, [&] { return bob.acquire("library/42", waiting); });
    while (value_of(database.show("library/42"), "the lock is shown").waiters.empty()) {
        std::this_thread::sleep_for(1ms);
    }
    const auto first = held.token();
    value_of(held.release(), "the holder releases");
    const auto next = value_of(waiter.get(), "the waiter gets the lock");
    require(next.token() > first, "the token of the next holder is greater");
    std::cout << "locks\n";
}

void lock_a_set(rocklock::Session& ann, rocklock::Session& bob) {
    const auto all = value_of(
        ann.acquire({{"library/a", rocklock::Mode::write}, {"library/b", rocklock::Mode::read}}),
        "a set is locked");
    require(!bob.acquire("library/a").has_value(), "a resource of the set is locked");
    const auto shared = bob.acquire({{"library/b", rocklock::Mode::read}});
    require(shared.has_value(), "readers share a resource");
    std::cout << "sets\n";
}

void write_with_a_lock(rocklock::Database& database, rocklock::Session& ann) {
    auto& tables = *value_of(database.tables(), "the tables are available");
    rocklock::CreateTable orders;
    orders.table = "library";
    orders.attributes = {{"Id", rocklock::AttributeType::string}};
    orders.key = {{"Id", rocklock::KeyType::hash}};
    orders.billing = rocklock::BillingMode::pay_per_request;
    value_of(tables.create_table(orders), "a table is created");
    auto guard = value_of(ann.acquire("library/7"), "the resource of the item is locked");
    rocklock::WriteItem write;
    write.table = "library";
    write.item = rocklock::AttributeMap{{"Id", "7"}};
    write.item.set("Text", "saved");
    write.proof = guard.proof();
    value_of(tables.write_item(write), "the holder writes");
    value_of(guard.release(), "the lock is released");
    write.item.set("Text", "late");
    const auto late = tables.write_item(write);
    require(!late && late.error().code == ErrorCode::stale_token, "a late write is refused");
    rocklock::GetItem get;
    get.table = "library";
    get.key = rocklock::AttributeMap{{"Id", "7"}};
    const auto item = value_of(tables.get_item(get), "the item is read").item;
    require(*item->find("Text")->get_if<std::string>() == "saved", "the late write has no effect");
    std::cout << "guarded writes\n";
}

void acquire_repeatedly(rocklock::Session& session, const std::string& resource) {
    for (int i = 0; i < 50; ++i) {
        rocklock::AcquireOptions options;
        options.patience = 60s;
        auto held = value_of(session.acquire(resource, options), "a lock is acquired");
        value_of(held.release(), "the lock is released");
    }
}

void repeat(rocklock::Session& ann, rocklock::Session& bob) {
    std::string line;
    while (std::getline(std::cin, line)) {
        auto other = std::async(std::launch::async, [&] { acquire_repeatedly(bob, "library/1"); });
        acquire_repeatedly(ann, "library/1");
        other.get();
        std::cout << "acquired" << std::endl;
    }
}

void acquire_large_sets(rocklock::Session& session) {
    std::vector<rocklock::LockRequest> set;
    for (int i = 0; i < 100; ++i) {
        set.push_back({std::string(400, 'x') + std::to_string(i), rocklock::Mode::write});
    }
    auto longest = 0ms;
    for (int i = 0; i < 200; ++i) {
        const auto start = std::chrono::steady_clock::now();
        auto held = value_of(session.acquire(set), "a set is acquired");
        longest = std::max(longest, std::chrono::duration_cast<std::chrono::milliseconds>(
                                        std::chrono::steady_clock::now() - start));
        value_of(held.release(), "the set is released");
    }
    std::cout << longest.count() << '\n';
}

}  // namespace

int main(int count, char** words) {
    const std::string mode = count == 3 ? words[2] : "";
    require(count == 2 || mode == "repeat" || mode == "large",
            "usage: library_client SOCKET [repeat|large]");
    auto database = value_of(rocklock::Database::connect(words[1]), "the daemon is reached");
    auto ann = value_of(database.open_session("ann"), "a session is opened");
    auto bob = value_of(database.open_session("bob"), "another session is opened");
    if (mode == "repeat") {
        repeat(ann, bob);
        return 0;
    }
    if (mode == "large") {
        acquire_large_sets(ann);
        return 0;
    }
    lock_and_wait(database, ann, bob);
    lock_a_set(ann, bob);
    write_with_a_lock(database, ann);
}
