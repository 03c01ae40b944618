// Time to live and tags of a table, and the limits of the account. The types and members correspond
// to DynamoDB's operations and parameters.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rocklock {

// DynamoDB's UpdateTimeToLive. If time to live is enabled and the value of `attribute` in an item
// is a number, this number is the time at which the item expires, in seconds since
// 1970-01-01T00:00:00Z. A sweep (SweepExpired) deletes expired items; until then, they can be read
// and written like other items. As in DynamoDB, an item that expired more than five years ago is
// not deleted.
struct UpdateTimeToLive {
    std::string table;
    std::string attribute;
    bool enabled = false;
};

// The result of DynamoDB's DescribeTimeToLive. A change takes effect immediately, so time to live
// is never in DynamoDB's status ENABLING or DISABLING.
struct TimeToLive {
    bool enabled = false;
    // Empty if time to live is disabled.
    std::string attribute;
};

// The request for one step of a sweep. A sweep deletes the expired items of all tables, and the
// drafts that are too old.
struct SweepExpired {
    // The maximum number of items that the step examines; 0 means 1.
    std::size_t max_items = 1'000;
    // An expired item is deleted only if more than this time has passed since its expiry.
    std::chrono::milliseconds spared{};
};

struct SweepReport {
    // The number of items that the step has examined, and the number of those that it has deleted.
    std::size_t examined = 0;
    std::size_t removed = 0;
    // The time until the next step is due. Zero if the sweep is not yet complete; otherwise the
    // time until the next sweep begins.
    std::chrono::milliseconds next{};
};

// The tags of a table: a map from their keys to their values.
using Tags = std::map<std::string, std::string>;

// In this request and in the two requests below, `resource` is the ARN of a table.
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

// The result of DynamoDB's DescribeLimits: the default limits of an account. Rocklock only checks
// that the provisioned throughput in a request does not exceed these limits.
struct ServiceLimits {
    std::int64_t account_read_units = 80'000;
    std::int64_t account_write_units = 80'000;
    std::int64_t table_read_units = 40'000;
    std::int64_t table_write_units = 40'000;
};

}  // namespace rocklock
