// The buffer and a store to which it is drained, against a plain map: lookups, scans, and views
// that are older than drains. The store is an image in memory, in place of RocksDB.
#include "storage/record_buffer.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "base/bytes.hpp"
#include "base/mutex.hpp"
#include "storage/memory_image.hpp"
#include "storage/merged_cursor.hpp"
#include "support/repetitions.hpp"

namespace rocklock {

BOOST_AUTO_TEST_SUITE(a_record_buffer)

namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;
using Map = std::map<std::string, std::string>;
using Model = std::map<Family, Map>;

constexpr std::array families{Family::items, Family::locks};

// Returns a value with the version.
std::string value_of(std::uint64_t version, std::size_t more_bytes = 0) {
    std::string value;
    append_u64(value, version);
    return value + std::string(more_bytes, 'x');
}

void apply_all(RecordBuffer& buffer, const std::vector<Write>& writes) {
    std::vector<RecordBuffer::Change> changes;
    for (const Write& write : writes) {
        changes.push_back(
            {write.family, write.key, write.value ? std::string_view(*write.value) : ""});
    }
    buffer.apply(changes);
}

void apply_one(RecordBuffer& buffer, const std::string& key, std::optional<std::string> value) {
    std::vector<Write> writes;
    writes.push_back({Family::locks, key, std::move(value)});
    apply_all(buffer, writes);
}

// Returns the memory of the process that is not swapped out.
std::size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t pages = 0;
    std::size_t resident_pages = 0;
    file >> pages >> resident_pages;
    return resident_pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Counts the records of all parts.
int records_in(const RecordBuffer::View& view) {
    int count = 0;
    for (const auto& cursor : view.scan(Family::locks, "", "", ScanDirection::ascending)) {
        for (; cursor->valid(); cursor->next()) ++count;
    }
    return count;
}

// A view of the buffer, the snapshot of the store at the same moment, and the expected state.
struct State {
    State(const RecordBuffer& buffer, MemoryImage& store, Model model)
        : view(buffer.view()), snapshot(store.snapshot()), expected(std::move(model)) {}

    std::optional<std::string> get(Family family, std::string_view key) const {
        auto found = view.get(family, key);
        return found.known ? found.value : snapshot->get(family, key).value();
    }
    Rows scan(Family family, std::string_view first, std::string_view last) const {
        return rest_of(*merge_cursors(view.scan(family, first, last, ScanDirection::ascending),
                                      snapshot->scan(family, first, last),
                                      ScanDirection::ascending));
    }
    Rows scan_back(Family family, std::string_view first, std::string_view last) const {
        return rest_of(*merge_cursors(view.scan(family, first, last, ScanDirection::descending),
                                      snapshot->scan_back(family, first, last),
                                      ScanDirection::descending));
    }

    static Rows rest_of(Snapshot::Cursor& cursor) {
        Rows rows;
        for (; cursor.valid(); cursor.next()) rows.emplace_back(cursor.key(), cursor.value());
        BOOST_TEST(cursor.status().has_value());
        return rows;
    }

    RecordBuffer::View view;
    std::unique_ptr<Snapshot> snapshot;
    Model expected;
};

Rows rows_in(const Map& map, const std::string& first, const std::string& last) {
    Rows rows;
    for (const auto& [key, value] : map) {
        if (key >= first && (last.empty() || key < last)) rows.emplace_back(key, value);
    }
    return rows;
}

// Copies the draining part to the store in steps.
class Drain {
public:
    explicit Drain(const RecordBuffer& buffer) : part_(buffer.draining()) { start(); }

    // Copies one record. Returns false if all records were copied.
    bool copy_one(MemoryImage& store) {
        while (!cursor_->valid()) {
            if (++family_ == families.size()) return false;
            start();
        }
        Batch batch;
        std::optional<std::string> value;
        if (!cursor_->value().empty()) value = cursor_->value();
        batch.writes.push_back({families[family_], std::string(cursor_->key()), value});
        store.apply(batch);
        cursor_->next();
        return true;
    }

private:
    void start() { cursor_ = part_->scan(families[family_], "", ""); }

    std::unique_ptr<Snapshot> part_;
    std::size_t family_ = 0;
    std::unique_ptr<Snapshot::Cursor> cursor_;
};

// A buffer that is compared with a model after random operations.
class Comparison {
public:
    explicit Comparison(unsigned seed) : random_(seed) {}

    void run(int steps) {
        for (int step = 0; step < steps; ++step) {
            apply_some();
            drain_some();
            if (random_() % 25 == 0) {
                states_.push_back(std::make_unique<State>(buffer_, store_, model_));
            }
            if (!states_.empty() && random_() % 30 == 0) {
                const auto at = static_cast<std::ptrdiff_t>(random_() % states_.size());
                check_state(*states_[static_cast<std::size_t>(at)]);
                states_.erase(states_.begin() + at);
            }
            check_newest();
            if (step % 40 == 0) check_states();
        }
        check_states();
    }

private:
    std::string any_key() {
        constexpr std::string_view bytes{"\0\1a\xFF", 4};
        std::string key;
        for (auto size = random_() % 4; size > 0; --size) {
            key.push_back(bytes[random_() % bytes.size()]);
        }
        return key;
    }

    void apply_some() {
        std::vector<Write> writes;
        for (auto count = random_() % 4 + 1; count > 0; --count) {
            const auto family = families[random_() % families.size()];
            const auto key = any_key();
            if (random_() % 3 == 0) {
                writes.push_back({family, key, std::nullopt});
                model_[family].erase(key);
            } else {
                const auto value = value_of(++version_, random_() % 20);
                writes.push_back({family, key, value});
                model_[family][key] = value;
            }
        }
        apply_all(buffer_, writes);
    }

    void drain_some() {
        if (!drain_) {
            BOOST_TEST(buffer_.draining() == nullptr);
            if (random_() % 10 != 0) return;
            BOOST_TEST(buffer_.begin_drain());
            BOOST_TEST(buffer_.bytes() == 0u);
            BOOST_TEST(!buffer_.begin_drain());
            drain_.emplace(buffer_);
            return;
        }
        BOOST_TEST(!buffer_.begin_drain());
        for (auto count = random_() % 8; count > 0; --count) {
            if (drain_->copy_one(store_)) continue;
            buffer_.end_drain();
            drain_.reset();
            return;
        }
    }

    void check_newest() {
        const auto family = families[random_() % families.size()];
        const auto key = any_key();
        auto found = buffer_.get(family, key);
        const auto version = buffer_.version(family, key);
        BOOST_TEST(found.known == version.has_value());
        if (version) {
            BOOST_TEST(version->has_value() == found.value.has_value());
            if (found.value) BOOST_TEST(version->value() == version_of(*found.value));
        }
        const auto value = found.known ? found.value : store_.get(family, key);
        const auto& map = model_[family];
        const auto expected = map.find(key);
        BOOST_TEST(value.has_value() == (expected != map.end()));
        if (value && expected != map.end()) BOOST_TEST((*value == expected->second));
    }

    void check_state(const State& state) {
        for (const auto family : families) {
            const auto found = state.expected.find(family);
            const Map map = found == state.expected.end() ? Map() : found->second;
            for (const bool complete : {true, false}) {
                const auto first = complete ? std::string() : any_key();
                const auto last = complete ? std::string() : any_key();
                auto rows = rows_in(map, first, last);
                BOOST_TEST((state.scan(family, first, last) == rows));
                BOOST_TEST(
                    (state.scan_back(family, first, last) == Rows{rows.rbegin(), rows.rend()}));
            }
            const auto key = any_key();
            const auto expected = map.find(key);
            BOOST_TEST((state.get(family, key) ==
                        (expected == map.end() ? std::nullopt : std::optional(expected->second))));
        }
    }

    void check_states() {
        for (const auto& state : states_) check_state(*state);
        check_state(State(buffer_, store_, model_));
    }

    std::mt19937_64 random_;
    Model model_;
    MemoryImage store_;
    RecordBuffer buffer_;
    std::optional<Drain> drain_;
    std::vector<std::unique_ptr<State>> states_;
    std::uint64_t version_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(contains_with_its_store_what_a_map_contains) {
    for (int seed = 0; seed < testing::repetitions(15, 3); ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) { Comparison(static_cast<unsigned>(seed)).run(1'000); }
    }
}

BOOST_AUTO_TEST_CASE(distinguishes_unknown_and_deleted_keys) {
    RecordBuffer buffer;
    BOOST_TEST(!buffer.get(Family::locks, "a").known);
    BOOST_TEST(!buffer.version(Family::locks, "a").has_value());
    apply_one(buffer, "a", value_of(7));
    BOOST_TEST((buffer.get(Family::locks, "a").value == value_of(7)));
    BOOST_TEST(buffer.version(Family::locks, "a").value().value() == 7u);
    BOOST_TEST(!buffer.get(Family::items, "a").known);
    apply_one(buffer, "a", std::nullopt);
    BOOST_TEST(buffer.get(Family::locks, "a").known);
    BOOST_TEST(!buffer.get(Family::locks, "a").value.has_value());
    BOOST_TEST(buffer.version(Family::locks, "a").has_value());
    BOOST_TEST(!buffer.version(Family::locks, "a").value().has_value());
}

BOOST_AUTO_TEST_CASE(contains_the_last_write_of_a_key_in_a_batch) {
    RecordBuffer buffer;
    std::vector<Write> writes;
    writes.push_back({Family::locks, "a", value_of(1)});
    writes.push_back({Family::locks, "a", std::nullopt});
    writes.push_back({Family::locks, "b", std::nullopt});
    writes.push_back({Family::locks, "b", value_of(2)});
    apply_all(buffer, writes);
    BOOST_TEST(!buffer.version(Family::locks, "a").value().has_value());
    BOOST_TEST(buffer.version(Family::locks, "b").value().value() == 2u);
}

BOOST_AUTO_TEST_CASE(searches_the_active_part_before_the_draining_part) {
    RecordBuffer buffer;
    BOOST_TEST(!buffer.begin_drain());
    apply_one(buffer, "a", value_of(1));
    apply_one(buffer, "b", value_of(1));
    BOOST_TEST(buffer.begin_drain());
    BOOST_TEST(buffer.version(Family::locks, "a").value().value() == 1u);
    apply_one(buffer, "a", value_of(2));
    apply_one(buffer, "b", std::nullopt);
    BOOST_TEST(buffer.version(Family::locks, "a").value().value() == 2u);
    BOOST_TEST(!buffer.version(Family::locks, "b").value().has_value());
    const auto draining = buffer.draining();
    BOOST_TEST((draining->get(Family::locks, "b").value() == value_of(1)));
    buffer.end_drain();
    BOOST_TEST(buffer.draining() == nullptr);
    BOOST_TEST(buffer.version(Family::locks, "a").value().value() == 2u);
    // The snapshot keeps its part in memory.
    BOOST_TEST((draining->get(Family::locks, "b").value() == value_of(1)));
    BOOST_TEST(draining->scan(Family::locks, "", "")->valid());
    BOOST_TEST(buffer.begin_drain());
    buffer.end_drain();
    BOOST_TEST(!buffer.get(Family::locks, "a").known);
}

BOOST_AUTO_TEST_CASE(counts_the_bytes_of_its_active_part) {
    RecordBuffer buffer;
    BOOST_TEST(buffer.bytes() == 0u);
    apply_one(buffer, "key", value_of(1, 1'000));
    const std::size_t one = buffer.bytes();
    BOOST_TEST(one > 1'000u);
    BOOST_TEST(one < 1'000u + 200u);
    apply_one(buffer, "key", value_of(2, 500));
    const std::size_t two = buffer.bytes();
    BOOST_TEST(two > one + 500u);
    apply_one(buffer, "other", std::nullopt);
    BOOST_TEST(buffer.bytes() > two);
    BOOST_TEST(buffer.begin_drain());
    BOOST_TEST(buffer.bytes() == 0u);
    apply_one(buffer, "key", value_of(3));
    const std::size_t active = buffer.bytes();
    BOOST_TEST(active > 0u);
    buffer.end_drain();
    BOOST_TEST(buffer.bytes() == active);
}

BOOST_AUTO_TEST_CASE(counts_replaced_records_separately) {
    RecordBuffer buffer;
    BOOST_TEST(buffer.current_bytes() == 0u);
    apply_one(buffer, "key", value_of(1, 1'000));
    apply_one(buffer, "other", value_of(2, 1'000));
    const std::size_t two = buffer.current_bytes();
    BOOST_TEST(two > 2'000u);
    BOOST_TEST(two <= buffer.bytes());
    // The neighbours of the replaced records are records of other keys.
    for (std::uint64_t version = 3; version < 10; ++version) {
        apply_one(buffer, version % 2 == 0 ? "key" : "other", value_of(version, 1'000));
        BOOST_TEST(buffer.current_bytes() == two);
    }
    BOOST_TEST(buffer.bytes() > 9'000u);
    apply_one(buffer, "key", std::nullopt);
    BOOST_TEST(buffer.current_bytes() < two - 900u);
    BOOST_TEST(buffer.begin_drain());
    BOOST_TEST(buffer.current_bytes() == 0u);
}

// A process that holds few locks must not keep the memory of all records that it has written.
// malloc() returns freed memory only in some cases: not if it has freed blocks of this size before,
// and if memory above them is in use.
BOOST_AUTO_TEST_CASE(returns_the_memory_of_drained_records_to_the_system) {
    RecordBuffer buffer;
    std::vector<std::unique_ptr<std::string>> in_use;
    for (int round = 0; round < 3; ++round) {
        for (std::uint64_t version = 1; version <= 8'000; ++version) {
            apply_one(buffer, std::to_string(version), value_of(version, 1'000));
            if (version % 100 == 0) in_use.push_back(std::make_unique<std::string>(1'000, 'x'));
        }
        const std::size_t full = resident_bytes();
        BOOST_TEST(buffer.begin_drain());
        buffer.end_drain();
        BOOST_TEST(resident_bytes() + 7'000'000u < full);
    }
}

BOOST_AUTO_TEST_CASE(has_views_that_do_not_change) {
    auto buffer = std::make_unique<RecordBuffer>();
    apply_one(*buffer, "a", value_of(1));
    BOOST_TEST(buffer->begin_drain());
    const auto without_active = buffer->view();
    apply_one(*buffer, "b", value_of(2));
    const auto with_both = buffer->view();
    apply_one(*buffer, "a", std::nullopt);
    apply_one(*buffer, "b", value_of(3));
    buffer->end_drain();
    BOOST_TEST(buffer->begin_drain());
    buffer->end_drain();
    const auto empty = buffer->view();
    buffer.reset();

    BOOST_TEST((without_active.get(Family::locks, "a").value == value_of(1)));
    BOOST_TEST(!without_active.get(Family::locks, "b").known);
    BOOST_TEST(records_in(without_active) == 1);
    BOOST_TEST((with_both.get(Family::locks, "a").value == value_of(1)));
    BOOST_TEST((with_both.get(Family::locks, "b").value == value_of(2)));
    BOOST_TEST(records_in(with_both) == 2);
    BOOST_TEST(!empty.get(Family::locks, "a").known);
    BOOST_TEST(records_in(empty) == 0);
}

BOOST_AUTO_TEST_CASE(adds_no_cursor_over_a_family_without_records) {
    RecordBuffer buffer;
    MemoryImage store;
    const auto snapshot = store.snapshot();
    apply_one(buffer, "a", value_of(1));
    const auto view = buffer.view();
    auto cursor = snapshot->scan(Family::items, "", "");
    const auto* const before = cursor.get();
    const auto merged = merge_cursors(view.scan(Family::items, "", "", ScanDirection::ascending),
                                      std::move(cursor), ScanDirection::ascending);
    BOOST_TEST(merged.get() == before);
}

// Every batch writes the same version to all keys, so each state contains only one version.
BOOST_AUTO_TEST_CASE(shows_complete_batches_to_other_threads) {
    const std::vector<std::string> keys{"a", "b", "c", "d"};
    constexpr std::uint64_t versions = 3'000;
    RecordBuffer buffer;
    MemoryImage store;
    Mutex owner;
    std::atomic<bool> written{false};
    std::atomic<int> mixed{0};
    std::atomic<int> backwards{0};

    std::vector<std::thread> threads;
    threads.emplace_back([&] {
        for (std::uint64_t version = 1; version <= versions; ++version) {
            std::vector<Write> writes;
            for (const auto& key : keys) writes.push_back({Family::locks, key, value_of(version)});
            MutexLock lock(owner);
            apply_all(buffer, writes);
        }
        written = true;
    });
    threads.emplace_back([&] {
        while (!written) {
            {
                MutexLock lock(owner);
                if (!buffer.begin_drain()) continue;
            }
            {
                const auto part = buffer.draining();
                for (auto cursor = part->scan(Family::locks, "", ""); cursor->valid();
                     cursor->next()) {
                    Batch batch;
                    batch.writes.push_back(
                        {Family::locks, std::string(cursor->key()), std::string(cursor->value())});
                    store.apply(batch);
                }
            }
            MutexLock lock(owner);
            buffer.end_drain();
        }
    });
    threads.emplace_back([&] {
        while (!written) {
            std::unique_ptr<State> state;
            {
                MutexLock lock(owner);
                state = std::make_unique<State>(buffer, store, Model());
            }
            std::uint64_t seen = 0;
            for (const auto& key : keys) {
                const auto value = state->get(Family::locks, key);
                const std::uint64_t version = value ? version_of(*value) : 0;
                if (key == keys.front()) seen = version;
                if (version != seen) ++mixed;
            }
        }
    });
    threads.emplace_back([&] {
        std::uint64_t last = 0;
        while (!written) {
            const auto known = buffer.version(Family::locks, keys.front());
            const auto version = known ? *known : store.version(Family::locks, keys.front());
            if (version.value_or(0) < last) ++backwards;
            last = version.value_or(0);
        }
    });
    for (auto& thread : threads) thread.join();
    BOOST_TEST(mixed == 0);
    BOOST_TEST(backwards == 0);
}

// A thread copies a large value most of the time, and so has the mutex of the part locked at a
// fork.
BOOST_AUTO_TEST_CASE(has_views_that_can_be_destroyed_in_a_forked_child) {
    RecordBuffer buffer;
    apply_one(buffer, "a", value_of(1, 4u << 20));
    std::unique_ptr<RecordBuffer::View> view(new RecordBuffer::View(buffer.view()));
    std::atomic<bool> stop{false};
    std::atomic<bool> started{false};
    std::thread reader([&] {
        while (!stop) {
            std::ignore = buffer.bytes();
            started = true;
        }
    });
    while (!started) std::this_thread::yield();
    for (int repeat = 0; repeat < 5; ++repeat) {
        const pid_t child = ::fork();
        if (child == 0) {
            // Kills the child if it waits for the mutex.
            ::alarm(20);
            view.reset();
            ::_exit(0);
        }
        int status = -1;
        ::waitpid(child, &status, 0);
        BOOST_TEST(status == 0);
    }
    stop = true;
    reader.join();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
