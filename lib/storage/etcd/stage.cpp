#include "storage/etcd/stage.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>

#include "base/assert.hpp"
#include "base/bytes.hpp"

namespace rocklock::etcd {
namespace {

std::size_t size_of(const Operation& operation) {
    if (const auto* const put = std::get_if<Put>(&operation)) {
        return put->key.size() + put->value.size();
    }
    return std::get<DeleteRange>(operation).key.size();
}

}  // namespace

bool fits(std::span<const Operation> operations) {
    if (operations.size() > max_writes) return false;
    std::size_t bytes = 0;
    for (const Operation& operation : operations) bytes += size_of(operation);
    return bytes <= max_bytes;
}

std::size_t count_fitting(std::span<const Operation> operations) {
    std::size_t bytes = 0;
    std::size_t count = 0;
    while (count < std::min(operations.size(), max_writes - 1)) {
        bytes += size_of(operations[count]);
        if (bytes > max_bytes && count > 0) break;
        ++count;
    }
    return count;
}

std::vector<std::string> encode_parts(std::span<const Operation> operations) {
    std::string all;
    for (const Operation& operation : operations) {
        const auto* const put = std::get_if<Put>(&operation);
        append_u8(all, put != nullptr ? 1 : 0);
        append_string(all, put != nullptr ? put->key : std::get<DeleteRange>(operation).key);
        if (put != nullptr) append_string(all, put->value);
    }
    std::vector<std::string> parts;
    for (std::size_t at = 0; at < all.size(); at += max_bytes) {
        parts.push_back(all.substr(at, max_bytes));
    }
    ROCKLOCK_ASSERT(!parts.empty());
    return parts;
}

std::optional<std::vector<Operation>> decode_parts(std::string_view parts) {
    std::vector<Operation> operations;
    Reader reader(parts);
    while (!reader.done()) {
        const auto is_put = reader.u8();
        const auto key = reader.string();
        if (!key || *is_put > 1) return std::nullopt;
        if (*is_put == 0) {
            operations.emplace_back(DeleteRange{std::string(*key), {}});
            continue;
        }
        const auto value = reader.string();
        if (!value) return std::nullopt;
        operations.emplace_back(Put{std::string(*key), std::string(*value)});
    }
    return operations;
}

}  // namespace rocklock::etcd
