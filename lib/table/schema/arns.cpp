#include "table/schema/arns.hpp"

#include "table/schema/validation.hpp"

namespace rocklock::table {
namespace {

constexpr std::string_view scheme = "arn:";
constexpr std::string_view service = "arn:aws:dynamodb:";
constexpr std::string_view resource = ":table/";
constexpr std::string_view key_service = "arn:aws:kms:";
constexpr std::string_view account_key = "alias/aws/dynamodb";

}  // namespace

Arns::Arns(std::string_view region, std::string_view account) : prefix_(service) {
    prefix_.append(region).append(":").append(account).append(resource);
    key_prefix_.append(key_service).append(region).append(":").append(account).append(":");
}

std::string Arns::of_table(std::string_view table) const { return prefix_ + std::string(table); }

std::string Arns::of_index(std::string_view table, std::string_view index) const {
    return of_table(table) + "/index/" + std::string(index);
}

std::string Arns::of_key(std::string_view key) const {
    if (key.starts_with(scheme)) return std::string(key);
    if (key.empty()) return key_prefix_ + std::string(account_key);
    return key_prefix_ + (key.starts_with("alias/") ? "" : "key/") + std::string(key);
}

std::optional<std::string_view> Arns::name_of(std::string_view table) const {
    if (!table.starts_with(scheme)) return table;
    if (!table.starts_with(prefix_)) return std::nullopt;
    return table.substr(prefix_.size());
}

bool is_table_arn(std::string_view text) {
    if (!text.starts_with(service)) return false;
    const std::string_view rest = text.substr(service.size());
    const auto colon = rest.find(':');
    const auto name = rest.find(resource, colon == std::string_view::npos ? 0 : colon + 1);
    if (colon == std::string_view::npos || name == std::string_view::npos) return false;
    const auto account = rest.substr(colon + 1, name - colon - 1);
    return account.find_first_not_of("0123456789") == std::string_view::npos &&
           !check_name(rest.substr(name + resource.size()), "");
}

}  // namespace rocklock::table
