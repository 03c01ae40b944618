#include "daemon/cli/serve/user_limits.hpp"

#include <sys/statvfs.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <limits>

#include "daemon/support/memory_size.hpp"

namespace rocklock {
namespace {

// One user may use 1 / user_divisor of the daemon's share.
constexpr std::uint64_t user_divisor = 4;
// The buffers of a user's connections may use 1 / buffer_divisor of that.
constexpr std::uint64_t buffer_divisor = 2;
// The bytes that are assumed for each object when the limits of counts are computed. A user with
// small objects reaches the limit of the count first; a user with large objects reaches the limit
// of the bytes first.
constexpr std::uint64_t bytes_a_session = 4'096;
constexpr std::uint64_t bytes_a_grant = 512;
constexpr std::uint64_t bytes_a_waiter = 1'024;

constexpr std::uint64_t bytes_a_draft = 65'536;

// Returns nullopt for `auto`.
Result<std::optional<std::uint64_t>> limit_of(const Settings& settings, const char* name) {
    using Limit = std::optional<std::uint64_t>;
    if (settings.get(name, "auto").value == "auto") return Limit();
    const auto given = settings.number(name, "auto", {0, std::numeric_limits<std::int64_t>::max()});
    if (given) return Limit(static_cast<std::uint64_t>(*given));
    Error error = given.error();
    error.message += ", or `auto`";
    return error;
}

// Returns the size of the file system of the directory, which need not exist yet; nullopt if it
// cannot be determined.
std::optional<std::uint64_t> file_system_bytes(std::filesystem::path directory) {
    struct statvfs found {};
    while (::statvfs(directory.c_str(), &found) != 0) {
        if (errno != ENOENT || directory.parent_path() == directory) return std::nullopt;
        directory = directory.has_parent_path() ? directory.parent_path() : ".";
    }
    return std::uint64_t{found.f_blocks} * found.f_frsize;
}

// Returns the part of the memory that one user may use.
Result<std::uint64_t> memory_of_user(const Settings& settings) {
    const auto share = settings.percent("memory-share", "50%");
    if (!share) return share.error();
    if (*share == 0) {
        return Error(ErrorCode::invalid_argument,
                     "memory-share is 0%: write 1% to 100%; to switch off one limit, set it to 0, "
                     "as in max-user-sessions = 0");
    }
    return memory_size() / 100 * *share / user_divisor;
}

}  // namespace

Result<UserLimits> read_user_limits(const Settings& settings, const std::string& store) {
    const auto part = memory_of_user(settings);
    if (!part) return part.error();
    const std::uint64_t bytes = *part;
    std::uint64_t table_bytes = bytes;
    if (!store.empty()) table_bytes = file_system_bytes(store).value_or(0) / user_divisor;
    struct Row {
        const char* name;
        std::uint64_t automatic;
        std::uint64_t UserLimits::*limit;
    };
    UserLimits limits;
    for (const Row& row : {Row{"max-user-sessions", bytes / bytes_a_session, &UserLimits::sessions},
                           Row{"max-user-grants", bytes / bytes_a_grant, &UserLimits::grants},
                           Row{"max-user-waiters", bytes / bytes_a_waiter, &UserLimits::waiters},
                           Row{"max-user-lock-bytes", bytes, &UserLimits::lock_bytes},
                           Row{"max-user-drafts", bytes / bytes_a_draft, &UserLimits::drafts},
                           Row{"max-user-table-bytes", table_bytes, &UserLimits::table_bytes}}) {
        const auto given = limit_of(settings, row.name);
        if (!given) return given.error();
        limits.*row.limit = given->value_or(row.automatic);
    }
    return limits;
}

Result<std::optional<std::uint64_t>> read_max_user_connections(const Settings& settings) {
    return limit_of(settings, "max-user-connections");
}

Result<std::uint64_t> read_max_user_buffer_bytes(const Settings& settings) {
    const auto part = memory_of_user(settings);
    if (!part) return part.error();
    const auto given = limit_of(settings, "max-user-buffer-bytes");
    if (!given) return given.error();
    return given->value_or(*part / buffer_divisor);
}

}  // namespace rocklock
