#include "daemon/cli/user_limits.hpp"

#include <cstdint>
#include <limits>

#include "daemon/support/memory_size.hpp"

namespace rocklock {
namespace {

// One user may fill this part of the daemon's share.
constexpr std::uint64_t user_divisor = 4;
// So many bytes are allowed for each: more than a small one takes, so that the bytes are the limit
// of large ones and the count that of small ones.
constexpr std::uint64_t bytes_a_session = 4'096;
constexpr std::uint64_t bytes_a_grant = 512;
constexpr std::uint64_t bytes_a_waiter = 1'024;

Result<std::uint64_t> limit_of(const Settings& settings, const char* name,
                               std::uint64_t automatic) {
    if (settings.get(name, "auto").value == "auto") return automatic;
    const auto given = settings.number(name, "auto", {0, std::numeric_limits<std::int64_t>::max()});
    if (!given) {
        Error error = given.error();
        error.message += ", or `auto`";
        return error;
    }
    return static_cast<std::uint64_t>(*given);
}

}  // namespace

Result<UserLimits> read_user_limits(const Settings& settings) {
    const auto share = settings.percent("memory-share", "50%");
    if (!share) return share.error();
    if (*share == 0) {
        return Error(ErrorCode::invalid_argument,
                     "memory-share is 0%: write 1% to 100%; a limit is switched off by itself, as "
                     "in max-user-sessions 0");
    }
    const std::uint64_t bytes = memory_size() / 100 * *share / user_divisor;
    UserLimits limits;
    const auto read = [&](const char* name, std::uint64_t automatic,
                          std::uint64_t& limit) -> Result<void> {
        const auto value = limit_of(settings, name, automatic);
        if (!value) return value.error();
        limit = *value;
        return {};
    };
    if (auto done = read("max-user-sessions", bytes / bytes_a_session, limits.sessions); !done) {
        return std::move(done).error();
    }
    if (auto done = read("max-user-grants", bytes / bytes_a_grant, limits.grants); !done) {
        return std::move(done).error();
    }
    if (auto done = read("max-user-waiters", bytes / bytes_a_waiter, limits.waiters); !done) {
        return std::move(done).error();
    }
    if (auto done = read("max-user-lock-bytes", bytes, limits.lock_bytes); !done) {
        return std::move(done).error();
    }
    return limits;
}

}  // namespace rocklock
