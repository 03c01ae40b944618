// Compares the copy of a node with etcd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

#include "storage/etcd/client/client.hpp"
#include "storage/etcd/client/layout.hpp"
#include "storage/etcd/copy/copy.hpp"
#include "storage/etcd/copy/read_values.hpp"

namespace rocklock::etcd {

struct CopyDifference {
    enum class Kind : std::uint8_t {
        // The copy does not contain a value that etcd contains.
        missing,
        // etcd does not contain a value that the copy contains.
        surplus,
        // The values are different.
        changed,
        // etcd contains a key below the prefix that Rocklock does not use, so another program has
        // written it.
        foreign,
    };

    Kind kind = Kind::missing;
    // Not set for Kind::foreign.
    Family family{};
    // The key of the value or, for Kind::foreign, the key in etcd.
    std::string key{};
};

struct CopyCheck {
    // The revision of etcd whose values were compared.
    Revision revision = 0;
    // The number of values in etcd.
    std::uint64_t values = 0;
    std::uint64_t differences = 0;
    // The first differences, at most `max_examples`.
    static constexpr std::size_t max_examples = 20;
    std::vector<CopyDifference> examples;
};

// Compares all values of the copy with those of etcd at a revision with the same last commit, and
// searches for keys of other programs below the prefix. The copy can be changed meanwhile. If etcd
// compacts that revision before all values were read, the check begins again at a newer revision,
// at most three times.
//
// Errors: as Client; precondition_failed if each revision was compacted, because etcd has deleted
//         its history faster than it can be read; those of Snapshot; closing if a stop was
//         requested
Result<CopyCheck> check_copy(Client& client, const Layout& layout, const Copy& copy,
                             const ReadSettings& settings = {});

}  // namespace rocklock::etcd
