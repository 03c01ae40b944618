// Databases with our memtables, compared with databases with the memtables of RocksDB.
#include "storage/rocksdb/memtable.hpp"

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <rocksdb/db.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/write_batch.h>

#include "support/temporary_directory.hpp"

namespace rocklock::testing {
namespace {

using Database = std::unique_ptr<rocksdb::DB>;
using Iterator = std::unique_ptr<rocksdb::Iterator>;

Database open(const std::string& path, bool own_memtables) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.allow_concurrent_memtable_write = false;
    options.memtable_insert_with_hint_prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(1));
    if (own_memtables) options.memtable_factory = make_memtable_factory();
    rocksdb::DB* database = nullptr;
    const auto status = rocksdb::DB::Open(options, path, &database);
    BOOST_REQUIRE_MESSAGE(status.ok(), status.ToString());
    return Database(database);
}

std::string position_of(const rocksdb::Iterator& iterator) {
    BOOST_REQUIRE(iterator.status().ok());
    return iterator.Valid() ? iterator.key().ToString() + "=" + iterator.value().ToString() : "end";
}

// Returns one of few keys, so that many keys have several versions.
std::string random_key(std::mt19937& random) {
    std::string key(1, static_cast<char>('a' + random() % 3));
    if (random() % 8 != 0) key += std::to_string(random() % 300);
    return key;
}

struct Fixture {
    TemporaryDirectory directory;
    std::mt19937 random{1};
    Database own = open(directory / "own", true);
    Database other = open(directory / "other", false);

    void write(int count) {
        for (int i = 0; i < count; ++i) {
            rocksdb::WriteBatch batch;
            const std::string key = random_key(random);
            if (random() % 5 == 0) {
                BOOST_REQUIRE(batch.Delete(key).ok());
            } else {
                BOOST_REQUIRE(batch.Put(key, std::to_string(i)).ok());
            }
            BOOST_REQUIRE(own->Write({}, &batch).ok());
            BOOST_REQUIRE(other->Write({}, &batch).ok());
        }
    }

    void compare(const rocksdb::ReadOptions& ours, const rocksdb::ReadOptions& theirs) {
        const Iterator a(own->NewIterator(ours));
        const Iterator b(other->NewIterator(theirs));
        a->SeekToFirst();
        b->SeekToFirst();
        while (a->Valid() || b->Valid()) {
            BOOST_REQUIRE_EQUAL(position_of(*a), position_of(*b));
            a->Next();
            b->Next();
        }
        a->SeekToLast();
        b->SeekToLast();
        while (a->Valid() || b->Valid()) {
            BOOST_REQUIRE_EQUAL(position_of(*a), position_of(*b));
            a->Prev();
            b->Prev();
        }
        for (int i = 0; i < 500; ++i) {
            const std::string key = random_key(random);
            a->Seek(key);
            b->Seek(key);
            BOOST_REQUIRE_EQUAL(position_of(*a), position_of(*b));
            a->SeekForPrev(key);
            b->SeekForPrev(key);
            BOOST_REQUIRE_EQUAL(position_of(*a), position_of(*b));
            std::string value;
            std::string expected;
            const bool found = own->Get(ours, key, &value).ok();
            BOOST_REQUIRE_EQUAL(found, other->Get(theirs, key, &expected).ok());
            BOOST_REQUIRE_EQUAL(value, expected);
        }
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(a_memtable, *boost::unit_test::label("rocksdb"))

BOOST_FIXTURE_TEST_CASE(returns_the_same_as_a_memtable_of_rocksdb, Fixture) {
    write(5'000);
    compare({}, {});
    rocksdb::ReadOptions ours;
    rocksdb::ReadOptions theirs;
    ours.snapshot = own->GetSnapshot();
    theirs.snapshot = other->GetSnapshot();
    write(5'000);
    compare({}, {});
    compare(ours, theirs);
    own->ReleaseSnapshot(ours.snapshot);
    other->ReleaseSnapshot(theirs.snapshot);
}

BOOST_FIXTURE_TEST_CASE(a_flush_and_a_replay_of_the_log_keep_the_contents, Fixture) {
    write(3'000);
    BOOST_REQUIRE(own->Flush({}).ok());
    BOOST_REQUIRE(other->Flush({}).ok());
    compare({}, {});
    write(3'000);
    own.reset();
    own = open(directory / "own", true);
    compare({}, {});
}

// The files do not depend on the kind of memtable.
BOOST_FIXTURE_TEST_CASE(a_database_can_be_opened_with_either_kind_of_memtable, Fixture) {
    write(3'000);
    own.reset();
    other.reset();
    own = open(directory / "other", true);
    other = open(directory / "own", false);
    compare({}, {});
}

BOOST_FIXTURE_TEST_CASE(many_iterators_exist_at_the_same_time, Fixture) {
    write(1'000);
    std::vector<Iterator> iterators;
    for (int i = 0; i < 50; ++i) {
        iterators.emplace_back(own->NewIterator({}));
        iterators.back()->SeekToFirst();
    }
    const std::string first = position_of(*iterators.front());
    for (const Iterator& iterator : iterators) BOOST_TEST(position_of(*iterator) == first);
    iterators.clear();
    compare({}, {});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
