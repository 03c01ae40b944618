// Errors that only the store on disk can have: its directory, its owner, its bytes.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include <boost/test/unit_test.hpp>

#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "base/bytes.hpp"
#include "storage/files/sync_marks.hpp"
#include "support/abilities.hpp"
#include "support/in_child.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing {
BOOST_AUTO_TEST_SUITE(rocksdb_store, *boost::unit_test::label("rocksdb"))

namespace {

namespace fs = std::filesystem;

Batch put(std::string key, const std::string& text) {
    Batch batch;
    batch.writes.push_back({Family::locks, std::move(key), "12345678" + text});
    return batch;
}

// Returns the record of a store's format.
Batch format_of(std::uint64_t version, std::uint32_t number) {
    std::string value;
    append_u64(value, version);
    append_u32(value, number);
    Batch batch;
    batch.writes.push_back({Family::meta, "format", std::move(value)});
    return batch;
}

std::string contents(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void write_file(const fs::path& file, const std::string& text) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

std::set<std::string> names(const fs::path& directory) {
    std::set<std::string> result;
    for (const auto& entry : fs::directory_iterator(directory)) {
        result.insert(entry.path().filename().string());
    }
    return result;
}

// Returns the only file in db/ with this ending that is not empty.
fs::path database_file(const fs::path& store, const std::string& ending) {
    for (const auto& entry : fs::directory_iterator(store / "db")) {
        if (entry.path().string().ends_with(ending) && entry.file_size() > 0) return entry.path();
    }
    BOOST_FAIL("no file " << ending);
    return {};
}

struct Fixture {
    TemporaryDirectory directory;
    SimulatedClock clock;
    const std::string path = directory / "store";

    Result<std::unique_ptr<Storage>> open(bool create = true) {
        RocksdbOptions options;
        options.create_if_missing = create;
        return open_rocksdb_storage(path, clock, options);
    }
    ErrorCode refusal() {
        auto opened = open();
        BOOST_REQUIRE(!opened);
        BOOST_TEST_MESSAGE(opened.error().message);
        return opened.error().code;
    }
    std::string read(const Storage& storage, std::string_view key) {
        return storage.get(Family::locks, key).value().value_or("12345678none").substr(8);
    }
    // Leaves a store with ten commits in its log, as if its process had been killed.
    void leave_by_crash(Durability durability = Durability::durable) {
        auto storage = open().value();
        for (int i = 0; i < 10; ++i) {
            storage->commit(put("k" + std::to_string(i), std::string(100, 'x')), durability)
                .value();
        }
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_store_on_disk, Fixture)

BOOST_AUTO_TEST_CASE(keeps_written_data_after_a_close_and_a_crash) {
    {
        auto storage = open().value();
        storage->commit(put("a", "1")).value();
        storage->close().value();
    }
    {
        auto storage = open().value();
        BOOST_TEST(read(*storage, "a") == "1");
        storage->commit(put("a", "2"), Durability::written).value();
    }
    BOOST_TEST(read(*open().value(), "a") == "2");
}

BOOST_AUTO_TEST_CASE(keeps_written_data_if_its_process_is_killed) {
    const int status = in_child([&] {
        auto storage = open().value();
        storage->commit(put("a", "1"), Durability::written).value();
        return 0;
    });
    BOOST_REQUIRE(status == 0);
    BOOST_TEST(read(*open().value(), "a") == "1");
}

BOOST_AUTO_TEST_CASE(leaves_no_log_to_replay_when_closed) {
    auto storage = open().value();
    for (int i = 0; i < 100; ++i) {
        storage->commit(put(std::to_string(i), "x"), Durability::written).value();
    }
    storage->close().value();
    storage.reset();
    std::uintmax_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(path + "/db")) {
        if (entry.path().extension() == ".commits") bytes += entry.file_size();
    }
    BOOST_TEST(bytes == 0U);
}

BOOST_AUTO_TEST_CASE(caches_only_items_that_were_written_or_read) {
    {
        auto storage = open().value();
        storage->commit(put("a", "1")).value();
        const auto written = storage->get_cached(Family::locks, "a", 9);
        BOOST_TEST(written.is_known);
        BOOST_TEST(written.value.value() == "123456781");
        BOOST_TEST(!storage->get_cached(Family::locks, "a", 8).is_known);
        const auto absent = storage->get_cached(Family::locks, "b", 100);
        BOOST_TEST(absent.is_known);
        BOOST_TEST(!absent.value);
        storage->close().value();
    }
    auto storage = open().value();
    BOOST_TEST(!storage->get_cached(Family::locks, "a", 100).is_known);
    BOOST_TEST(read(*storage, "a") == "1");
    BOOST_TEST(storage->get_cached(Family::locks, "a", 100).value.value() == "123456781");
}

BOOST_AUTO_TEST_CASE(has_a_name_and_a_format_from_the_first) {
    std::string name;
    {
        auto storage = open().value();
        BOOST_TEST(storage->get(Family::meta, "format").value()->size() == 12U);
        name = *storage->get(Family::meta, "store").value();
        BOOST_TEST(name.size() == 24U);
    }
    BOOST_TEST(*open().value()->get(Family::meta, "store").value() == name);
}

BOOST_AUTO_TEST_CASE(is_for_its_owner_only) {
    open().value();
    BOOST_TEST((fs::status(path).permissions() == fs::perms::owner_all));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_store_in_use, Fixture)

BOOST_AUTO_TEST_CASE(is_refused_to_another_process_with_the_pid_of_its_owner) {
    auto storage = open().value();
    const pid_t owner = getpid();
    const int status = in_child([&] {
        const auto second = open();
        if (second) return 1;
        if (second.error().code != ErrorCode::store_in_use) return 2;
        return second.error().pid == owner ? 0 : 3;
    });
    BOOST_TEST(status == 0);
    storage->commit(put("a", "1")).value();
}

BOOST_AUTO_TEST_CASE(is_refused_also_in_the_same_process) {
    auto storage = open().value();
    const auto second = open();
    BOOST_REQUIRE(!second);
    BOOST_TEST((second.error().code == ErrorCode::store_in_use));
    BOOST_TEST(*second.error().pid == getpid());
}

BOOST_AUTO_TEST_CASE(is_refused_although_the_pid_file_was_removed) {
    auto storage = open().value();
    fs::remove(path + "/rocklock.pid");
    const pid_t owner = getpid();
    const int status = in_child([&] {
        const auto second = open();
        if (second || second.error().code != ErrorCode::store_in_use) return 1;
        return second.error().pid == owner ? 0 : 2;
    });
    BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_CASE(is_free_after_its_owner_has_ended) {
    BOOST_REQUIRE(in_child([&] { return open() ? 0 : 1; }) == 0);
    BOOST_TEST(open().has_value());
}

// A forked child inherits the open files, but may not use the store.
BOOST_AUTO_TEST_CASE(is_refused_to_a_child_that_inherited_it) {
    auto storage = open().value();
    storage->commit(put("a", "1")).value();
    const auto snapshot = storage->snapshot();
    const pid_t owner = getpid();
    const int status = in_child([&] {
        const auto refused = [&](const Error& error) {
            return error.code == ErrorCode::store_in_use && error.pid == owner;
        };
        const auto answer = storage->commit(put("a", "2"));
        if (answer || !refused(answer.error())) return 1;
        const auto number = storage->enqueue(put("a", "3"), Durability::deferred);
        if (!storage->done(number, Durability::written)) return 2;
        if (storage->get(Family::locks, "a")) return 3;
        const auto cursor = storage->snapshot()->scan(Family::locks, "", "");
        if (cursor->valid() || cursor->status()) return 4;
        if (!storage->failure() || storage->close()) return 5;
        storage.reset();
        return 0;
    });
    BOOST_TEST(status == 0);
    BOOST_TEST(read(*storage, "a") == "1");
    storage->commit(put("a", "4")).value();
}

// The threads of the store wait for condition variables, and do not exist in the child.
BOOST_AUTO_TEST_CASE(with_a_reserve_can_be_destroyed_by_a_child_that_inherited_it) {
    RocksdbOptions options;
    options.reserve_bytes = 1U << 20;
    auto storage = open_rocksdb_storage(path, clock, options).value();
    storage->commit(put("a", "1")).value();
    const int status = in_child([&] {
        storage.reset();
        return 0;
    });
    BOOST_TEST(status == 0);
    storage->commit(put("a", "2")).value();
}

BOOST_AUTO_TEST_CASE(is_not_kept_locked_by_a_child_that_outlives_its_owner) {
    int born[2];
    int leave[2];
    BOOST_REQUIRE((pipe(born) == 0 && pipe(leave) == 0));
    const int status = in_child([&] {
        auto storage = open().value();
        char byte = 0;
        if (fork() == 0) {
            // Lives until the test closes its end of the pipe.
            close(leave[1]);
            if (::write(born[1], &byte, 1) != 1) _exit(1);
            _exit(::read(leave[0], &byte, 1) == 0 ? 0 : 1);
        }
        return ::read(born[0], &byte, 1) == 1 ? 0 : 1;
    });
    BOOST_TEST(status == 0);
    BOOST_TEST(open().has_value());
    for (const int end : {born[0], born[1], leave[0], leave[1]}) close(end);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(an_open_that_fails, Fixture)

BOOST_AUTO_TEST_CASE(reports_that_a_file_is_not_a_store) {
    write_file(path, "text");
    BOOST_TEST((refusal() == ErrorCode::not_a_store));
    BOOST_TEST(contents(path) == "text");
}

BOOST_AUTO_TEST_CASE(reports_that_a_directory_of_other_files_is_not_a_store) {
    fs::create_directory(path);
    write_file(path + "/thesis.txt", "text");
    BOOST_TEST((refusal() == ErrorCode::not_a_store));
    BOOST_TEST((names(path) == std::set<std::string>{"thesis.txt"}));
    fs::create_directory(path + "/db");
    write_file(path + "/db/thesis.txt", "text");
    BOOST_TEST((refusal() == ErrorCode::not_a_store));
    BOOST_TEST((names(path) == std::set<std::string>{"db", "thesis.txt"}));
}

BOOST_AUTO_TEST_CASE(reports_that_there_is_no_store_if_it_may_not_create_one) {
    const auto opened = open(false);
    BOOST_TEST((opened.error().code == ErrorCode::not_a_store));
    BOOST_TEST(!fs::exists(path));
    fs::create_directory(path);
    BOOST_TEST((open(false).error().code == ErrorCode::not_a_store));
    BOOST_TEST(fs::is_empty(path));
}

BOOST_AUTO_TEST_CASE(creates_no_directory_if_the_parent_is_missing) {
    const auto opened = open_rocksdb_storage(directory / "no/store", clock);
    BOOST_TEST((opened.error().code == ErrorCode::io_error));
    BOOST_TEST(!fs::exists(directory / "no"));
}

BOOST_AUTO_TEST_CASE(uses_an_empty_directory_and_one_whose_creation_was_interrupted) {
    fs::create_directories(path + "/db");
    fs::create_directory(path + "/lost+found");
    write_file(path + "/rocklock.pid", "1\n");
    write_file(path + "/db/IDENTITY", "half");
    open().value()->commit(put("a", "1")).value();
    BOOST_TEST(read(*open().value(), "a") == "1");
}

BOOST_AUTO_TEST_CASE(reports_that_a_store_is_from_a_newer_version) {
    {
        auto storage = open().value();
        storage->commit(format_of(2, 4)).value();
    }
    BOOST_TEST((refusal() == ErrorCode::newer_format));
}

BOOST_AUTO_TEST_CASE(upgrades_a_store_of_an_older_version) {
    const auto stored_format = [](const Storage& storage) {
        const std::string value = *storage.get(Family::meta, "format").value();
        Reader reader(value);
        const std::uint64_t version = *reader.u64();
        return std::pair(version, *reader.u32());
    };
    {
        auto storage = open().value();
        storage->commit(format_of(7, 1)).value();
        storage->close().value();
    }
    {
        RocksdbOptions looking;
        looking.purpose = Purpose::read_only;
        const auto storage = open_rocksdb_storage(path, clock, looking).value();
        BOOST_TEST((stored_format(*storage) == std::pair<std::uint64_t, std::uint32_t>(7, 1)));
    }
    // Opening for writing updates the format, because an older version could not read later
    // records.
    BOOST_TEST((stored_format(*open().value()) == std::pair<std::uint64_t, std::uint32_t>(8, 3)));
    BOOST_TEST((stored_format(*open().value()) == std::pair<std::uint64_t, std::uint32_t>(8, 3)));
}

// Root can write to any directory, so the child switches to an unprivileged user first.
BOOST_AUTO_TEST_CASE(reports_that_a_directory_is_not_writable,
                     *boost::unit_test::precondition(may_be_unprivileged)) {
    open().value();
    const std::string fresh = directory / "readonly";
    fs::create_directory(fresh);
    chmod(fresh.c_str(), 0555);
    chmod(directory.path().c_str(), 0755);
    chmod(path.c_str(), 0755);
    const int status = in_child([&] {
        const bool by_root = geteuid() == 0;
        if (!become_unprivileged()) return 99;
        const auto in_fresh = open_rocksdb_storage(fresh, clock);
        if (in_fresh || in_fresh.error().code != ErrorCode::read_only) return 1;
        // If the test does not run as root, its user owns the store and can write there.
        if (!by_root) return 0;
        const auto in_existing = open();
        if (in_existing || in_existing.error().code != ErrorCode::read_only) return 2;
        return 0;
    });
    BOOST_TEST(status == 0);
    BOOST_TEST(fs::is_empty(fresh));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(damage, Fixture)

BOOST_AUTO_TEST_CASE(in_the_middle_of_the_log_is_corruption) {
    leave_by_crash();
    const auto log = database_file(path, ".commits");
    std::string bytes = contents(log);
    const std::size_t middle = measure_log(bytes).written / 2;
    bytes[middle] = static_cast<char>(bytes[middle] ^ 0x10);
    write_file(log, bytes);
    BOOST_TEST((refusal() == ErrorCode::corrupt));
}

BOOST_AUTO_TEST_CASE(at_the_end_of_the_log_is_a_write_cut_short) {
    leave_by_crash(Durability::written);
    const auto log = database_file(path, ".commits");
    fs::resize_file(log, measure_log(contents(log)).written - 5);
    auto storage = open().value();
    BOOST_TEST(read(*storage, "k8") == std::string(100, 'x'));
    BOOST_TEST(read(*storage, "k9") == "none");
}

// After a power failure, bytes that were not synced may be garbage. The commits before them are
// kept.
BOOST_AUTO_TEST_CASE(in_unsynced_data_ends_the_log_after_a_power_cut) {
    leave_by_crash(Durability::written);
    const auto log = database_file(path, ".commits");
    std::string bytes = contents(log);
    const std::size_t middle = measure_log(bytes).written / 2;
    bytes[middle] = static_cast<char>(bytes[middle] ^ 0x10);
    write_file(log, bytes);
    clock.reboot("boot-2");
    auto storage = open().value();
    bool gone = false;
    for (int i = 0; i < 10; ++i) {
        const bool here = read(*storage, "k" + std::to_string(i)) != "none";
        BOOST_TEST(!(here && gone));
        gone = gone || !here;
    }
    BOOST_TEST(gone);
    BOOST_TEST(read(*storage, "k0") != "none");
    BOOST_TEST(storage->discarded_log_bytes() > 100U);
}

BOOST_AUTO_TEST_CASE(in_synced_data_is_corruption_also_after_a_power_cut) {
    leave_by_crash();
    const auto log = database_file(path, ".commits");
    std::string bytes = contents(log);
    const auto middle = bytes.find("k5");
    bytes[middle] = static_cast<char>(bytes[middle] ^ 0x10);
    write_file(log, bytes);
    clock.reboot("boot-2");
    BOOST_TEST((refusal() == ErrorCode::corrupt));
}

BOOST_AUTO_TEST_CASE(to_the_list_of_files_is_corruption) {
    leave_by_crash();
    const fs::path current = path + "/db/CURRENT";
    const std::string good = contents(current);
    for (const std::string bad : {"", "MANIFEST-999999\n", "rubbish", "rubbish\n"}) {
        write_file(current, bad);
        BOOST_TEST((refusal() == ErrorCode::corrupt));
    }
    fs::remove(current);
    BOOST_TEST((refusal() == ErrorCode::corrupt));
    write_file(current, good);
    BOOST_TEST(read(*open().value(), "k9") != "none");
}

// After the damage is found, nothing can be written, so no lock is granted (requirement D5).
BOOST_AUTO_TEST_CASE(to_the_lock_state_is_found_when_it_is_read_and_fails_the_store) {
    leave_by_crash();
    open().value()->close().value();
    for (const auto& entry : fs::directory_iterator(path + "/db")) {
        if (entry.path().extension() != ".sst") continue;
        std::string bytes = contents(entry.path());
        for (std::size_t i = 0; i < 40; ++i) bytes[i] = static_cast<char>(bytes[i] ^ 0x55);
        write_file(entry.path(), bytes);
    }
    auto opened = open();
    if (!opened) {
        BOOST_TEST((opened.error().code == ErrorCode::corrupt));
        return;
    }
    const auto& storage = *opened;
    const auto answer = storage->get(Family::locks, "k3");
    BOOST_REQUIRE(!answer);
    BOOST_TEST((answer.error().code == ErrorCode::corrupt));
    BOOST_TEST((storage->commit(put("a", "1")).error().code == ErrorCode::corrupt));
    BOOST_TEST(!fs::exists(path + "/SYNCED"));
}

BOOST_AUTO_TEST_CASE(of_a_missing_table_file_is_corruption) {
    leave_by_crash();
    open().value()->close().value();
    for (const auto& entry : fs::directory_iterator(path + "/db")) {
        if (entry.path().extension() == ".sst") fs::remove(entry.path());
    }
    BOOST_TEST((refusal() == ErrorCode::corrupt));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_suspect_mark, Fixture)

BOOST_AUTO_TEST_CASE(is_there_until_the_store_is_marked_sound) {
    BOOST_TEST(!open().value()->suspect());
    fs::remove(path + "/SYNCED");
    {
        auto storage = open().value();
        BOOST_TEST(storage->suspect());
    }
    {
        auto storage = open().value();
        BOOST_TEST(storage->suspect());
        storage->mark_sound().value();
        BOOST_TEST(!storage->suspect());
    }
    BOOST_TEST(!open().value()->suspect());
}

// Uses a file system of two megabytes, mounted in the mount namespace of a new process.
BOOST_AUTO_TEST_CASE(is_recorded_after_a_full_disk_and_no_data_is_lost,
                     *boost::unit_test::precondition(may_mount)) {
    const std::string small = directory / "small";
    fs::create_directory(small);
    const int status = in_new_process([&] {
        if (unshare(CLONE_NEWNS) != 0 ||
            mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            mount("tmpfs", small.c_str(), "tmpfs", 0, "size=2m") != 0) {
            return 99;
        }
        const std::string store = small + "/store";
        int acknowledged = 0;
        {
            auto storage = open_rocksdb_storage(store, clock).value();
            for (; acknowledged < 1000; ++acknowledged) {
                const auto answer = storage->commit(
                    put("k" + std::to_string(acknowledged), std::string(10'000, 'x')));
                if (answer) continue;
                if (answer.error().code != ErrorCode::no_space) return 1;
                break;
            }
            if (acknowledged == 1000 || !storage->failure()) return 2;
            if (storage->commit(put("later", ""))) return 3;
            if (storage->close()) return 8;
        }
        // Enlarges the file system, as an administrator would do.
        if (mount(nullptr, small.c_str(), nullptr, MS_REMOUNT, "size=20m") != 0) return 4;
        auto storage = open_rocksdb_storage(store, clock).value();
        if (!storage->suspect()) return 5;
        if (!storage->mark_sound()) return 9;
        for (int i = 0; i < acknowledged; ++i) {
            if (read(*storage, "k" + std::to_string(i)) == "none") return 6;
        }
        return storage->commit(put("later", "")) ? 0 : 7;
    });
    BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
