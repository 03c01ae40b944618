#include <rocklock/clock.hpp>

#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <sstream>

#include "base/assert.hpp"

namespace rocklock {
namespace {

std::chrono::nanoseconds read_clock(clockid_t id) {
    timespec time{};
    const int failed = clock_gettime(id, &time);
    ROCKLOCK_ASSERT(failed == 0);
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

std::optional<std::string> read_small_file(const char* path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "re"), std::fclose);
    if (!file) return std::nullopt;
    char buffer[1024];
    const std::size_t size = std::fread(buffer, 1, sizeof buffer, file.get());
    if (std::ferror(file.get()) != 0) return std::nullopt;
    return std::string(buffer, size);
}

std::optional<std::string> read_link(const char* path) {
    char buffer[128];
    const ssize_t size = readlink(path, buffer, sizeof buffer);
    if (size <= 0) return std::nullopt;
    return std::string(buffer, static_cast<std::size_t>(size));
}

// Returns whether the boot clock of this process is the machine's, which is not so in a time
// namespace with an offset. timens_offsets contains the offsets of the namespace of future
// children. They are the offsets of this process only if both links are equal.
bool boot_clock_is_the_machines() {
    const auto ours = read_link("/proc/self/ns/time");
    const auto offsets = read_small_file("/proc/self/timens_offsets");
    if (!ours || !offsets || ours != read_link("/proc/self/ns/time_for_children")) return false;
    std::istringstream lines(*offsets);
    std::string name;
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    while (lines >> name >> seconds >> nanoseconds) {
        if (name == "boottime") return seconds == 0 && nanoseconds == 0;
    }
    return false;
}

// Computes the wall clock as the boot clock plus an offset in whole milliseconds.
//
// The offset stays the same until the two clocks differ from it by more than 1 ms, because the wall
// clock was set or has drifted. So a time of one clock always corresponds to the same time of the
// other, although two readings in sequence vary a little. The offset is checked at most once per
// millisecond: a decision reads the time more than once, and reading both clocks takes twice as
// long.
class SystemClock final : public Clock {
public:
    Instant now() override {
        const auto boot = read_clock(CLOCK_BOOTTIME);
        return {BootTime(boot), WallTime(std::chrono::floor<milliseconds>(boot) + apart(boot))};
    }

    std::string boot_id() override {
        if (!boot_clock_is_the_machines()) return {};
        auto id = read_small_file("/proc/sys/kernel/random/boot_id").value_or("");
        while (!id.empty() && id.back() == '\n') id.pop_back();
        return id;
    }

private:
    using milliseconds = std::chrono::milliseconds;

    milliseconds apart(std::chrono::nanoseconds boot) {
        const auto last_read = std::chrono::nanoseconds(read_at_.load(std::memory_order_acquire));
        const auto kept = milliseconds(apart_.load(std::memory_order_relaxed));
        if (boot - last_read < milliseconds{1}) return kept;
        const auto found = differs(read_clock(CLOCK_REALTIME) - boot, kept) ? measure(kept) : kept;
        read_at_.store(boot.count(), std::memory_order_release);
        return found;
    }

    static bool differs(std::chrono::nanoseconds apart, milliseconds kept) {
        return std::chrono::abs(apart - kept) > milliseconds{1};
    }

    // Measures the offset. Reads the wall clock between two readings of the boot clock, and repeats
    // this if the thread was preempted in between: a long interval looks like a difference.
    milliseconds measure(milliseconds kept) {
        constexpr std::chrono::microseconds close{100};
        constexpr int max_tries = 10;
        std::chrono::nanoseconds apart{};
        for (int tries = 0; tries < max_tries; ++tries) {
            const auto before = read_clock(CLOCK_BOOTTIME);
            apart = read_clock(CLOCK_REALTIME) - before;
            if (read_clock(CLOCK_BOOTTIME) - before < close) break;
        }
        if (!differs(apart, kept)) return kept;
        const auto found = std::chrono::round<milliseconds>(apart);
        auto known = kept.count();
        // If several threads measure a change at the same time, all use the first result.
        if (apart_.compare_exchange_strong(known, found.count())) return found;
        return milliseconds(known);
    }

    std::atomic<milliseconds::rep> apart_{0};
    // The boot time at which the offset was last checked.
    std::atomic<std::chrono::nanoseconds::rep> read_at_{0};
};

}  // namespace

Clock& system_clock() {
    static SystemClock clock;
    return clock;
}

}  // namespace rocklock
