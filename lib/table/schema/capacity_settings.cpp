#include "table/schema/capacity_settings.hpp"

#include <algorithm>
#include <string>

#include "table/schema/validation.hpp"

namespace rocklock::table {
namespace {

// The warm throughput of a new on-demand table or index in DynamoDB.
constexpr std::int64_t warm_read_units = 12'000;
constexpr std::int64_t warm_write_units = 4'000;
constexpr std::int64_t no_limit = -1;

// Returns "table", or "index: name" or "index : name": DynamoDB's error texts differ in this.
std::string shown(const SettingsOwner& owner, std::string_view colon) {
    if (owner.index.empty()) return "table";
    return std::string("index").append(colon).append(owner.index);
}

std::optional<Error> set_limit(std::optional<std::int64_t>& target,
                               const std::optional<std::int64_t>& given, std::string_view name,
                               const SettingsOwner& owner) {
    if (!given) return std::nullopt;
    if (*given == no_limit && !owner.is_new) {
        target.reset();
        return std::nullopt;
    }
    if (*given >= 1) {
        target = given;
        return std::nullopt;
    }
    return invalid_parameter("Requested " + std::string(name) + " for OnDemandThroughput for " +
                             shown(owner, " : ") + " is outside of valid range");
}

std::optional<Error> set_units(std::optional<std::int64_t>& target,
                               const std::optional<std::int64_t>& given, std::int64_t current,
                               std::string_view name, const SettingsOwner& owner) {
    if (!given) return std::nullopt;
    if (*given >= current) {
        target = given;
        return std::nullopt;
    }
    const std::string text = "Requested " + std::string(name) + " for WarmThroughput for " +
                             shown(owner, " ") + " is lower than ";
    if (owner.is_new) return invalid_parameter(text + "the initial " + std::to_string(current));
    return invalid_parameter(text +
                             "current WarmThroughput, decreasing WarmThroughput is not supported");
}

}  // namespace

WarmThroughput warm_throughput(BillingMode billing, const ProvisionedThroughput& throughput,
                               const WarmThroughput& stored) {
    const bool on_demand = billing == BillingMode::pay_per_request;
    const std::int64_t read = on_demand ? warm_read_units : throughput.read_units;
    const std::int64_t write = on_demand ? warm_write_units : throughput.write_units;
    return {std::max(read, stored.read_units.value_or(0)),
            std::max(write, stored.write_units.value_or(0))};
}

std::optional<Error> set_on_demand(OnDemandThroughput& target, const OnDemandThroughput& given,
                                   BillingMode billing, const SettingsOwner& owner) {
    if (billing == BillingMode::provisioned && (given.max_read_units || given.max_write_units)) {
        const std::string name =
            given.max_read_units ? "MaxReadRequestUnits" : "MaxWriteRequestUnits";
        const std::string whose = owner.index.empty() ? "" : " for " + shown(owner, ": ");
        return invalid_parameter(
            name + " for OnDemandThroughput" + whose +
            (owner.is_new ? " cannot be specified when table BillingMode is PROVISIONED."
                          : " cannot be specified when the table BillingMode is "
                            "PROVISIONED"));
    }
    if (auto error =
            set_limit(target.max_read_units, given.max_read_units, "MaxReadRequestUnits", owner)) {
        return error;
    }
    return set_limit(target.max_write_units, given.max_write_units, "MaxWriteRequestUnits", owner);
}

std::optional<Error> set_warm(WarmThroughput& target, const WarmThroughput& given,
                              const WarmThroughput& current, const SettingsOwner& owner) {
    if (auto error = set_units(target.read_units, given.read_units, current.read_units.value_or(0),
                               "ReadUnitsPerSecond", owner)) {
        return error;
    }
    return set_units(target.write_units, given.write_units, current.write_units.value_or(0),
                     "WriteUnitsPerSecond", owner);
}

std::optional<Error> change_encryption(ServerSideEncryption& target,
                                       const ServerSideEncryption& given) {
    if (target == given) {
        return invalid_parameter(given.enabled
                                     ? "Table is already encrypted with given KMSMasterKeyId. Use "
                                       "KMSMasterKeyId parameter if you want to change Master Key"
                                     : "Table is already encrypted by default");
    }
    target = given;
    return std::nullopt;
}

}  // namespace rocklock::table
