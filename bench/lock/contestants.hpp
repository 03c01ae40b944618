// The lock implementations that are compared: Rocklock embedded in a program, RocksDB with the same
// writes, and a minimal lock table.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <rocklock/database.hpp>

#include "measure.hpp"
#include "support.hpp"

namespace rocklock::bench {

// Names of 24 bytes that no other thread uses. They begin with "orders/", or contain no '/' if
// `flat` is true.
class Names {
public:
    static constexpr std::size_t bytes = 24;
    Names(std::size_t thread, std::size_t count, bool flat = false);
    const std::string& next() { return names_[next_++ % names_.size()]; }

private:
    std::vector<std::string> names_;
    std::size_t next_ = 0;
};
std::string name_of(std::size_t number, bool flat);

// The sizes, in bytes, of the key and the values that an acquire and a release write.
struct PairSizes {
    std::size_t key = 0;
    std::size_t acquire = 0;
    std::size_t release = 0;
};
// Returns the sizes that the library writes. To measure them, inserts a storage between the library
// and its store that records each write.
PairSizes measure_pair_sizes();

enum class Kind { durable, written, memory };

// Rocklock in this process, with one session and one set of names per thread.
class Embedded {
public:
    Embedded(Kind kind, const std::string& folder, std::size_t threads);
    void pair(std::size_t thread);
    // Acquires a set of `count` resources as one grant, and releases it.
    void set(std::size_t thread, std::size_t count);
    Database& database() { return database_; }
    Session& session(std::size_t thread) { return sessions_[thread]; }

private:
    Database database_;
    std::vector<Session> sessions_;
    std::vector<Names> names_;
};

// RocksDB with default options and the same two writes for each pair of acquire and release. If
// `synced` is true, the first write is synced to disk, as a durable grant is.
class RawRocksdb {
public:
    RawRocksdb(bool synced, const std::string& folder, std::size_t threads, PairSizes sizes);
    ~RawRocksdb();
    RawRocksdb(const RawRocksdb&) = delete;
    RawRocksdb& operator=(const RawRocksdb&) = delete;
    void pair(std::size_t thread);
    // Performs only the first of the two writes.
    void put(std::size_t thread);

private:
    struct State;
    std::unique_ptr<State> state_;
};

// A sharded hash map from names to owners, without queues, leases, tokens, sessions or history.
class BareTable {
public:
    explicit BareTable(std::size_t threads);
    void pair(std::size_t thread);

private:
    struct Shard {
        std::mutex mutex;
        std::unordered_map<std::string, std::uint64_t> owners;
    };
    std::array<Shard, 64> shards_;
    std::vector<Names> names_;
};

}  // namespace rocklock::bench
