// The keys of a store in etcd, and the record of its last commit.
//
// All keys begin with the prefix P of the store, for example "/rocklock/":
//
//     P lead            the node that is the manager (lead_record.hpp); has a lease of etcd
//     P node/ NAME      a node of the cluster (node_record.hpp); has a lease of etcd
//     P commit          the last commit (CommitRecord)
//     P stage/ id part  a part of a batch that is too large for one transaction (stage.hpp)
//     P d/ family key   a value of the store; `family` is one byte
//
// Each change of the keys, except of `lead` and `node/`, is a transaction that compares two things:
// the create revision of `lead` and the value of `commit`. It then writes the next CommitRecord.
// The create revision is the epoch of the manager: a manager that was replaced cannot change
// anything. The number in `commit` increases by one, so the commits of all epochs form one
// sequence, and a transaction whose outcome is unknown can be sent again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocklock/storage/storage.hpp>

#include "storage/etcd/client/client.hpp"

namespace rocklock::etcd {

// The create revision of `lead`.
using Epoch = Revision;

struct CommitRecord {
    enum class Kind : std::uint8_t {
        plain,
        // A part of a large batch was stored. The batch is not committed yet.
        staging,
        // The last part of the batch was stored, so the batch is committed.
        staged,
        // Some writes of the batch were applied.
        applying,
    };

    std::uint64_t number = 0;
    // The epoch of the manager that made the commit.
    Epoch epoch = 0;
    Kind kind = Kind::plain;
    // For the other kinds: the id of the batch, the number of its parts, and the number of its
    // writes that were applied.
    std::uint64_t batch = 0;
    std::uint32_t parts = 0;
    std::uint32_t applied = 0;

    friend bool operator==(const CommitRecord&, const CommitRecord&) = default;
};

std::string encode(const CommitRecord& record);
// Returns nullopt if the value is not an encoded record.
std::optional<CommitRecord> decode_commit(std::string_view value);

// The keys below one prefix.
class Layout {
public:
    // `prefix` must end with a slash.
    explicit Layout(std::string prefix) : prefix_(std::move(prefix)) {}

    const std::string& prefix() const { return prefix_; }
    std::string lead() const { return prefix_ + "lead"; }
    std::string node(std::string_view name) const { return nodes() + std::string(name); }
    // Returns the prefix of all keys of nodes.
    std::string nodes() const { return prefix_ + "node/"; }
    std::string commit() const { return prefix_ + "commit"; }
    std::string part(std::uint64_t batch, std::uint32_t part) const;
    // Returns the prefix of all parts of a batch.
    std::string parts(std::uint64_t batch) const;
    // Returns the prefix of all values.
    std::string values() const { return prefix_ + "d/"; }
    std::string data(Family family, std::string_view key) const;
    // Returns the prefix of all keys of a family.
    std::string family(Family family) const { return data(family, {}); }
    // Returns the ranges of keys below the prefix that no version of this layout uses.
    std::vector<Range> unused() const;
    // Returns the family and the key of the store, or nullopt for the other keys of etcd.
    std::optional<std::pair<Family, std::string>> parse(std::string_view etcd_key) const;

private:
    std::string prefix_;
};

// Returns the smallest string that is greater than all strings that begin with `prefix`. `prefix`
// must contain a byte that is not 0xFF.
std::string end_of_prefix(std::string prefix);

}  // namespace rocklock::etcd
