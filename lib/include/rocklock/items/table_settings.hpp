// The settings of a table other than its keys and indexes (time to live, tags), and the account's
// limits. The names are those of DynamoDB's operations and parameters.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rocklock {

// UpdateTimeToLive. An item has expired if its value of the attribute is a number, and this number
// of seconds since 1970 is in the past. A sweep deletes expired items; until then, they can be read
// and written like other items. As in DynamoDB, an item that expired more than five years ago is
// not deleted.
struct UpdateTimeToLive {
    std::string table;
    std::string attribute;
    bool enabled = false;
};

// DescribeTimeToLive. A change takes effect immediately, so the status is never ENABLING or
// DISABLING.
struct TimeToLive {
    bool enabled = false;
    // Empty if time to live is disabled.
    std::string attribute;
};

// One step of a sweep. A sweep deletes the expired items of all tables and the drafts that are too
// old.
struct SweepExpired {
    // The maximum number of items that the step examines; 0 means 1.
    std::size_t max_items = 1'000;
    // An item is deleted only if more than this time has passed since it expired.
    std::chrono::milliseconds spared{};
};

struct SweepReport {
    std::size_t examined = 0;
    std::size_t removed = 0;
    // The time until the next step is due: zero while a round is in progress, otherwise the time
    // until the next round begins.
    std::chrono::milliseconds next{};
};

// The values of tags by their keys.
using Tags = std::map<std::string, std::string>;

// `resource` is the ARN of a table, also in the two requests below.
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
    // The `next_token` of the previous page; none for the first page.
    std::optional<std::string> next_token;
};

struct TagPage {
    // Ordered by key.
    Tags tags;
    // The token for the next page; none on the last page.
    std::optional<std::string> next_token;
};

// DescribeLimits: the default limits of an account in DynamoDB. Rocklock only checks that the
// provisioned throughput in a request does not exceed them.
struct ServiceLimits {
    std::int64_t account_read_units = 80'000;
    std::int64_t account_write_units = 80'000;
    std::int64_t table_read_units = 40'000;
    std::int64_t table_write_units = 40'000;
};

}  // namespace rocklock
