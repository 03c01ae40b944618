// What belongs to a table besides its keys and indexes: the time its items live, its tags, and the
// limits of all. The names are those of DynamoDB's operations and parameters.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rocklock {

// UpdateTimeToLive. An item whose attribute is a number of seconds since 1970 that lies in the past
// has expired, and is removed by a sweep; until then it is there as any other.
struct UpdateTimeToLive {
    std::string table;
    std::string attribute;
    bool enabled = false;
};

// DescribeTimeToLive. It is enabled or disabled at once, and never ENABLING or DISABLING.
struct TimeToLive {
    bool enabled = false;
    // Empty where it is disabled.
    std::string attribute;
};

// One step of a sweep over the tables whose items may expire, and over the drafts.
struct SweepExpired {
    // So many items are looked at; 1 at least.
    std::size_t max_items = 1'000;
    // Items are spared for so long past their expiry.
    std::chrono::milliseconds spared{};
};

struct SweepReport {
    std::size_t examined = 0;
    std::size_t removed = 0;
    // When the next step is due: at once while a round goes on, else when the next round begins.
    std::chrono::milliseconds next{};
};

// As TagResource and ListTagsOfResource have them: key and value.
using Tags = std::map<std::string, std::string>;

// The resource is the ARN of a table.
struct TagResource {
    std::string resource;
    Tags tags;
};

struct UntagResource {
    std::string resource;
    std::vector<std::string> keys;
};

struct ListTagsOfResource {
    std::string resource;
    // That of the page before.
    std::optional<std::string> next_token;
};

struct TagPage {
    // In order of their keys.
    Tags tags;
    // Where more remain.
    std::optional<std::string> next_token;
};

// DescribeLimits: what the service gives an account. Nothing is held to it but throughput that
// tables ask for.
struct ServiceLimits {
    std::int64_t account_read_units = 80'000;
    std::int64_t account_write_units = 80'000;
    std::int64_t table_read_units = 40'000;
    std::int64_t table_write_units = 40'000;
};

}  // namespace rocklock
