// The memory and the file descriptors that this process uses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rocklock {

// A value is absent if the system does not report it.
struct ProcessUse {
    std::optional<std::uint64_t> resident_bytes;
    std::optional<std::uint64_t> open_descriptors;
    std::optional<std::uint64_t> max_descriptors;
};

// Threads: thread-safe. If the kernel reports the number of descriptors (Linux 6.2), the cost does
// not depend on this number. Otherwise, the descriptors are counted one by one.
ProcessUse process_use();

// Appends the metrics of this process in the format of Prometheus. Their names are those that most
// programs use.
void append_process_use(std::string& text);

}  // namespace rocklock
