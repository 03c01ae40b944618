// The value of the key `lead`: the node that is the manager of the store. It is JSON, so that
// people and other programs can read it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <rocklock/clock.hpp>
#include <rocklock/error.hpp>

namespace rocklock::etcd {

struct LeadRecord {
    std::string node;
    // The address at which the node accepts other nodes, or empty.
    std::string address;
    std::int64_t pid = 0;
    // Whether the node serves requests. Before, it loads the store.
    bool ready = false;
    WallTime since;

    friend bool operator==(const LeadRecord&, const LeadRecord&) = default;
};

std::string encode(const LeadRecord& record);
// Members that are absent or invalid have their default values.
LeadRecord decode_lead(std::string_view value);

// Returns the error for a store that another node has open: `store_in_use` when the store is
// opened, `not_the_manager` afterwards.
Error other_manager(ErrorCode code, const LeadRecord& record);

}  // namespace rocklock::etcd
