#include "storage/store_records.hpp"

#include <utility>

#include "base/bytes.hpp"
#include "base/random.hpp"

namespace rocklock {

Write format_record(std::uint64_t version) {
    std::string value;
    append_u64(value, version);
    append_u32(value, store_format);
    return {Family::meta, std::string(format_key), std::move(value)};
}

Result<std::uint32_t> read_format(const std::optional<std::string>& record,
                                  const std::string& store) {
    if (!record) return std::uint32_t{0};
    Reader reader(*record);
    reader.u64();
    const auto number = reader.u32();
    if (!number || *number == 0) {
        return Error(ErrorCode::corrupt, store + " has no valid format number");
    }
    if (*number > store_format) {
        return Error(ErrorCode::newer_format, store + " has format " + std::to_string(*number) +
                                                  "; this version knows up to " +
                                                  std::to_string(store_format));
    }
    return *number;
}

std::vector<Write> first_records(Clock& clock) {
    std::string store_value;
    std::string created_value;
    std::string epoch_value;
    for (std::string* value : {&store_value, &created_value, &epoch_value}) append_u64(*value, 1);
    for (const std::uint8_t byte : random_bytes<16>()) append_u8(store_value, byte);
    const auto created = clock.now().wall.time_since_epoch().count();
    append_u64(created_value, static_cast<std::uint64_t>(created));
    append_u64(epoch_value, 0);
    return {format_record(1),
            {Family::meta, "store", std::move(store_value)},
            {Family::meta, "created", std::move(created_value)},
            {Family::meta, "epoch", std::move(epoch_value)}};
}

Error opened_before_fork(pid_t opened_by) {
    Error error(ErrorCode::store_in_use, "the store was opened before a fork, by process " +
                                             std::to_string(opened_by) +
                                             "; only that process may use it");
    error.pid = opened_by;
    return error;
}

}  // namespace rocklock
