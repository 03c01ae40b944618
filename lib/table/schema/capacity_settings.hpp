// The settings OnDemandThroughput, WarmThroughput and SSESpecification of a table. They are stored
// and returned in descriptions but have no other effect. Errors have the texts of DynamoDB.
#pragma once

#include <optional>
#include <string_view>

#include <rocklock/error.hpp>
#include <rocklock/items/table_schema.hpp>

namespace rocklock::table {

// The table or index that the settings belong to, for error texts.
struct SettingsOwner {
    // The name of the index; empty for the table.
    std::string_view index;
    // True if the table or index is being created, false if it is being changed.
    bool is_new = false;
};

// Returns the warm throughput for descriptions: the maximum of the stored value and the value that
// `throughput` implies.
WarmThroughput warm_throughput(BillingMode billing, const ProvisionedThroughput& throughput,
                               const WarmThroughput& stored);

// Stores the given limits in `target`. If the table or index is not new, -1 removes a limit.
std::optional<Error> set_on_demand(OnDemandThroughput& target, const OnDemandThroughput& given,
                                   BillingMode billing, const SettingsOwner& owner);

// Stores the given values in `target`. They must not be less than `current`, the values in
// descriptions.
std::optional<Error> set_warm(WarmThroughput& target, const WarmThroughput& given,
                              const WarmThroughput& current, const SettingsOwner& owner);

// Stores `given` in `target`. Returns an error if `target` already has these settings.
std::optional<Error> change_encryption(ServerSideEncryption& target,
                                       const ServerSideEncryption& given);

}  // namespace rocklock::table
