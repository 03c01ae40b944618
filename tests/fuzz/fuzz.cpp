// The target of libFuzzer: scripts/fuzz builds and runs it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/client_bytes.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): the fuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    rocklock::play_client({reinterpret_cast<const char*>(data), size});
    return 0;
}
