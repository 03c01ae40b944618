// OnDemandThroughput, WarmThroughput and SSESpecification: settings that are stored and described
// and that nothing else depends on, with the service's faults.
#pragma once

#include <optional>
#include <string_view>

#include <rocklock/error.hpp>
#include <rocklock/items/table_schema.hpp>

namespace rocklock::table {

// Whose settings are checked, for the texts of faults.
struct SettingsOwner {
    // Empty: the table's.
    std::string_view index;
    // Whether it is being created, else changed.
    bool is_new = false;
};

// The warm throughput that is described: at least what the throughput implies, and what was stored.
WarmThroughput warm_throughput(BillingMode billing, const ProvisionedThroughput& throughput,
                               const WarmThroughput& stored);

// Stores in `place` the limits that are given, and removes those that are -1.
std::optional<Error> set_on_demand(OnDemandThroughput& place, const OnDemandThroughput& given,
                                   BillingMode billing, const SettingsOwner& owner);

// Stores in `place` what is given, which must not be less than `current`, what is described now.
std::optional<Error> set_warm(WarmThroughput& place, const WarmThroughput& given,
                              const WarmThroughput& current, const SettingsOwner& owner);

// Stores in `place` what is given, which must be a change.
std::optional<Error> change_encryption(ServerSideEncryption& place,
                                       const ServerSideEncryption& given);

}  // namespace rocklock::table
