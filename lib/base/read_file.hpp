// Reads small files.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace rocklock {

// Returns the content of a file, but at most its first `max_size` bytes. If the file cannot be
// opened or read, returns nullopt and sets errno; this includes a file of /proc whose process ends
// in the meantime. Does not wait for the writer of a named pipe.
std::optional<std::string> read_file(const std::string& path, std::size_t max_size);

}  // namespace rocklock
